//! A filter's expression as a program: a list of questions, each with a jump for yes and for no.

use super::expression::{Comparison, Expr, Operand, Orders};
use crate::glob::Glob;

/// A side of a comparison, with its compiled glob.
#[derive(Clone, Debug)]
pub(super) enum Side {
    Integer(i128),
    Float(f64),
    Glob(Glob),
    /// The parameter in a slot.
    Slot(u16),
    Timestamp,
    Flags,
    Instance,
}

/// A question about a record. The common ones are small.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// Whether a parameter, if it is a number, has one of these orders to one that fits 64 bits.
    Number(u16, Orders, i64),
    /// Whether a parameter, if it is a text, matches or not.
    Text(u16, bool, Box<Glob>),
    /// Any other comparison.
    Compare(Box<(Side, Comparison, Side)>),
    True(Box<Side>),
}

/// The position of the next step, or one of the two results [`KEEP`] and [`PASS`].
pub(super) type Next = u16;
pub(super) const KEEP: Next = u16::MAX;
pub(super) const PASS: Next = u16::MAX - 1;

/// A question and the jumps of its two answers.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) question: Question,
    pub(super) yes: Next,
    pub(super) no: Next,
}

/// Steps; every jump goes to a lower position.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) start: Next,
}

impl Program {
    pub(super) fn new(expr: &Expr) -> Self {
        let mut program = Self { steps: Vec::new(), start: PASS };
        program.start = program.emit(expr, KEEP, PASS);
        program
    }

    /// Appends the steps of an expression that jumps to `yes` or `no`; returns its first step.
    fn emit(&mut self, expr: &Expr, yes: Next, no: Next) -> Next {
        match expr {
            Expr::Any(any) => any.iter().rev().fold(no, |next, e| self.emit(e, yes, next)),
            Expr::All(all) => all.iter().rev().fold(yes, |next, e| self.emit(e, next, no)),
            Expr::Not(inner) => self.emit(inner, no, yes),
            Expr::Compare(left, how, right) => self.push(question(left, *how, right), yes, no),
            Expr::True(operand) => self.push(Question::True(Box::new(side(operand))), yes, no),
        }
    }

    fn push(&mut self, question: Question, yes: Next, no: Next) -> Next {
        // At most TERMS_MAX, so the position fits.
        let position = Next::try_from(self.steps.len()).unwrap_or(PASS);
        self.steps.push(Step { question, yes, no });
        position
    }

    pub(super) fn memory(&self) -> usize {
        let glob = |side: &Side| {
            size_of::<Side>() + if let Side::Glob(glob) = side { glob.memory() } else { 0 }
        };
        let sides = |step: &Step| match &step.question {
            Question::Compare(of) => glob(&of.0) + glob(&of.2),
            Question::True(side) => glob(side),
            Question::Text(_, _, glob) => size_of::<Glob>() + glob.memory(),
            Question::Number(..) => 0,
        };
        self.steps.iter().map(|step| size_of::<Step>() + sides(step)).sum()
    }
}

fn question(left: &Operand, how: Comparison, right: &Operand) -> Question {
    let any = || Question::Compare(Box::new((side(left), how, side(right))));
    match (left, right) {
        (Operand::Slot(slot), Operand::Integer(n)) => {
            i64::try_from(*n).map_or_else(|_| any(), |n| Question::Number(*slot, how.orders(), n))
        }
        (Operand::Slot(slot), Operand::Text(pieces)) => match how {
            Comparison::Equal => Question::Text(*slot, true, Box::new(glob(pieces))),
            Comparison::NotEqual => Question::Text(*slot, false, Box::new(glob(pieces))),
            _ => any(),
        },
        (Operand::Integer(_) | Operand::Text(_), Operand::Slot(_)) => {
            question(right, how.turned(), left)
        }
        _ => any(),
    }
}

fn side(operand: &Operand) -> Side {
    match operand {
        Operand::Integer(n) => Side::Integer(*n),
        Operand::Float(n) => Side::Float(*n),
        Operand::Text(pieces) => Side::Glob(glob(pieces)),
        Operand::Slot(slot) => Side::Slot(*slot),
        Operand::Timestamp => Side::Timestamp,
        Operand::Flags => Side::Flags,
        Operand::Instance => Side::Instance,
    }
}

fn glob(pieces: &[String]) -> Glob {
    Glob::from_pieces(pieces.iter().map(String::as_str))
}
