//! What filters mean, by the grammar of `pcp_event::filter` alone: a tree that is walked.

use std::cmp::Ordering;
use std::fmt;

use pmdaapm::events::{HighRes, Record, Records, Scalar, ValueType};

/// Full names and types of parameters; the position is the PMID.
pub type Parameters = [(&'static str, ValueType)];

/// Names as users write them. The last one stands for a number and a text.
const NAMES: [&str; 8] =
    ["duration", "call.duration", "method", "$ctx.vtid", "ratio", "in.size", "out.size", "size"];
const SIGNS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
/// Characters of texts. `None` is a star for any characters.
const TEXT: [Option<char>; 8] =
    [None, Some('a'), Some('b'), Some('"'), Some('\\'), Some('*'), Some('é'), Some('\u{fffd}')];

/// A side of a comparison.
#[derive(Debug)]
pub enum Operand {
    /// A name that users write.
    Name(&'static str),
    /// A whole number.
    Integer(i64),
    /// Another one.
    Float(f64),
    /// A text; `None` is a star.
    Text(Vec<Option<char>>),
}

/// A filter.
#[derive(Debug)]
pub enum Expression {
    /// One of them, or both.
    Any(Box<Self>, Box<Self>),
    /// Both.
    All(Box<Self>, Box<Self>),
    /// The opposite.
    Not(Box<Self>),
    /// A name on the left.
    Compare(&'static str, &'static str, Operand),
    /// A name on the right.
    Turned(Operand, &'static str, &'static str),
    /// A name alone.
    True(&'static str),
}

fn byte(data: &mut &[u8]) -> u8 {
    let Some((first, rest)) = data.split_first() else { return 0 };
    *data = rest;
    *first
}

fn bits(data: &mut &[u8]) -> u64 {
    (0..byte(data) & 7).fold(0, |bits, _| bits << 8 | u64::from(byte(data)))
}

impl Operand {
    fn of(data: &mut &[u8]) -> Self {
        match byte(data) % 5 {
            0 => Self::Name(NAMES[usize::from(byte(data) & 7)]),
            1 => Self::Integer(i64::from(byte(data).cast_signed())),
            2 => Self::Integer(bits(data).cast_signed()),
            3 => {
                let number = f64::from_bits(bits(data) << 8);
                Self::Float(if number.is_finite() { number } else { 0.5 })
            }
            _ => {
                let length = byte(data) & 7;
                Self::Text((0..length).map(|_| TEXT[usize::from(byte(data) & 7)]).collect())
            }
        }
    }
}

impl Expression {
    /// Of the first bytes of an input.
    pub fn of(data: &mut &[u8], depth: u8) -> Self {
        let how = byte(data);
        let mut inner = || Box::new(Self::of(data, depth - 1));
        match how % 8 {
            0 if depth > 0 => Self::Any(inner(), inner()),
            1 if depth > 0 => Self::All(inner(), inner()),
            2 if depth > 0 => Self::Not(inner()),
            3 => Self::True(NAMES[usize::from(how >> 5)]),
            4 => Self::Turned(
                Operand::of(data),
                SIGNS[usize::from(byte(data) % 6)],
                NAMES[usize::from(how >> 5)],
            ),
            _ => Self::Compare(
                NAMES[usize::from(how >> 5)],
                SIGNS[usize::from(byte(data) % 6)],
                Operand::of(data),
            ),
        }
    }

    /// Whether a comparison has sides of two kinds, or texts in an order.
    pub fn may_be_refused(&self, parameters: &Parameters) -> bool {
        match self {
            Self::Any(a, b) | Self::All(a, b) => {
                a.may_be_refused(parameters) || b.may_be_refused(parameters)
            }
            Self::Not(inner) => inner.may_be_refused(parameters),
            Self::True(_) => false,
            Self::Compare(name, sign, other) | Self::Turned(other, sign, name) => {
                let kinds = |name: &str| {
                    let texts: Vec<_> = pmids(name, parameters)
                        .map(|id| parameters[id].1 == ValueType::Text)
                        .collect();
                    (texts.contains(&true), texts.contains(&false))
                };
                let ((text, number), (other_text, other_number)) = (
                    kinds(name),
                    match other {
                        Operand::Name(name) => kinds(name),
                        Operand::Text(_) => (true, false),
                        _ => (false, true),
                    },
                );
                let numbers = number && other_number;
                !numbers && (!(text && other_text) || !matches!(*sign, "==" | "!="))
            }
        }
    }

    /// The answer for a packed record.
    pub fn holds(&self, packed: &[u8], parameters: &Parameters) -> bool {
        let record = Records::<HighRes>::packed(packed).next();
        record.is_some_and(|record| self.is_true(&record.expect("a record"), parameters))
    }

    fn is_true(&self, record: &Record<'_>, parameters: &Parameters) -> bool {
        match self {
            Self::Any(a, b) => a.is_true(record, parameters) || b.is_true(record, parameters),
            Self::All(a, b) => a.is_true(record, parameters) && b.is_true(record, parameters),
            Self::Not(inner) => !inner.is_true(record, parameters),
            Self::True(name) => match value(name, record, parameters) {
                None => false,
                Some(Scalar::Text(text)) => !text.is_empty(),
                Some(number) => number_of(number) != Some(Number::Integer(0)) && !is_zero(number),
            },
            Self::Compare(name, sign, other) => {
                let Some(value) = value(name, record, parameters) else { return false };
                compare(value, sign, other, record, parameters)
            }
            Self::Turned(other, sign, name) => {
                let Some(value) = value(name, record, parameters) else { return false };
                let turned = match *sign {
                    "<" => ">",
                    "<=" => ">=",
                    ">" => "<",
                    ">=" => "<=",
                    same => same,
                };
                compare(value, turned, other, record, parameters)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Number {
    Integer(i128),
    Float(f64),
}

fn number_of(scalar: Scalar<'_>) -> Option<Number> {
    Some(match scalar {
        Scalar::I32(n) => Number::Integer(n.into()),
        Scalar::U32(n) => Number::Integer(n.into()),
        Scalar::I64(n) => Number::Integer(n.into()),
        Scalar::U64(n) => Number::Integer(n.into()),
        Scalar::F32(n) => Number::Float(n.into()),
        Scalar::F64(n) => Number::Float(n),
        _ => return None,
    })
}

fn is_zero(scalar: Scalar<'_>) -> bool {
    matches!(number_of(scalar), Some(Number::Float(n)) if n == 0.0)
}

fn order(a: Number, b: Number) -> Option<Ordering> {
    let float = |number| match number {
        Number::Integer(n) => n as f64,
        Number::Float(n) => n,
    };
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => Some(a.cmp(&b)),
        _ => float(a).partial_cmp(&float(b)),
    }
}

fn compare(
    value: Scalar<'_>,
    sign: &str,
    other: &Operand,
    record: &Record<'_>,
    parameters: &Parameters,
) -> bool {
    let equal = match other {
        Operand::Text(pattern) => match value {
            Scalar::Text(text) => matches(text, pattern),
            _ => return false,
        },
        _ => {
            let other = match other {
                Operand::Name(name) => match self::value(name, record, parameters) {
                    Some(other) => other,
                    None => return false,
                },
                Operand::Integer(n) => Scalar::I64(*n),
                Operand::Float(n) => Scalar::F64(*n),
                Operand::Text(_) => unreachable!("above"),
            };
            if let (Scalar::Text(a), Scalar::Text(b)) = (value, other) {
                a == b
            } else {
                let (Some(a), Some(b)) = (number_of(value), number_of(other)) else { return false };
                let order = order(a, b);
                return match sign {
                    "==" => order == Some(Ordering::Equal),
                    "!=" => order != Some(Ordering::Equal),
                    "<" => order == Some(Ordering::Less),
                    "<=" => order.is_some_and(Ordering::is_le),
                    ">" => order == Some(Ordering::Greater),
                    _ => order.is_some_and(Ordering::is_ge),
                };
            }
        }
    };
    match sign {
        "==" => equal,
        "!=" => !equal,
        _ => false,
    }
}

/// Each star stands for any bytes. Each part of the pattern is tried at all ends that the parts before it have, so the
/// time is that of text times pattern.
fn matches(text: &[u8], pattern: &[Option<char>]) -> bool {
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for part in pattern {
        let mut next = vec![false; ends.len()];
        match part {
            None => {
                let first = ends.iter().position(|&end| end).unwrap_or(ends.len());
                next[first..].fill(true);
            }
            Some(c) => {
                let mut bytes = [0; 4];
                let c = c.encode_utf8(&mut bytes).as_bytes();
                for (at, _) in ends.iter().enumerate().filter(|(_, end)| **end) {
                    if text[at..].starts_with(c) {
                        next[at + c.len()] = true;
                    }
                }
            }
        }
        ends = next;
    }
    ends[text.len()]
}

fn pmids(name: &str, parameters: &Parameters) -> impl Iterator<Item = usize> {
    let end = format!(".{}", name.trim_start_matches('$'));
    let known = parameters.iter().enumerate();
    known.filter(move |(_, (full, _))| full.ends_with(&end)).map(|(id, _)| id)
}

/// The first parameter of a record that a name stands for.
fn value<'r>(name: &str, record: &Record<'r>, parameters: &Parameters) -> Option<Scalar<'r>> {
    let found = |pmid: u32| pmids(name, parameters).any(|id| id == pmid as usize);
    record.params.iter().find(|param| found(param.pmid.0)).map(|param| param.value)
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Float(n) => write!(f, "{n:?}"),
            Self::Text(text) => {
                f.write_str("\"")?;
                for c in text {
                    match c {
                        None => f.write_str("*")?,
                        Some(c @ ('*' | '"' | '\\')) => write!(f, "\\{c}")?,
                        Some(c) => write!(f, "{c}")?,
                    }
                }
                f.write_str("\"")
            }
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any(a, b) => write!(f, "({a} || {b})"),
            Self::All(a, b) => write!(f, "{a} && {b}"),
            Self::Not(inner) => write!(f, "!({inner})"),
            Self::Compare(name, sign, other) => write!(f, "{name} {sign} {other}"),
            Self::Turned(other, sign, name) => write!(f, "{other}{sign}{name}"),
            Self::True(name) => f.write_str(name),
        }
    }
}
