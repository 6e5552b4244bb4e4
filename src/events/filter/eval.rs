//! Expressions and what they say of a record.

use super::super::check::{Records, Scalar};
use super::super::layout::{HighRes, Resolution};
use std::cmp::Ordering;

/// A filter's expression. Lists have at least one member.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    Compare(Operand, Comparison, Operand),
    True(Operand),
}

/// `==` and its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Integer(i128),
    Float(f64),
    /// The pieces between `*`.
    Text(Vec<String>),
    /// PMIDs, sorted: the first parameter that has one of them.
    Parameter(Vec<u32>),
    Timestamp,
    Flags,
    Instance,
}

/// A record (packed, high resolution) and its instance.
pub(super) struct Subject<'r> {
    pub(super) record: &'r [u8],
    pub(super) instance: &'r str,
}

enum Operands<'r> {
    Integer(i128),
    Float(f64),
    Text(&'r [u8]),
    Glob(&'r [String]),
}

impl Expr {
    pub(super) fn is_true(&self, subject: &Subject<'_>) -> bool {
        match self {
            Self::Any(any) => any.iter().any(|e| e.is_true(subject)),
            Self::All(all) => all.iter().all(|e| e.is_true(subject)),
            Self::Not(inner) => !inner.is_true(subject),
            Self::Compare(left, how, right) => match (left.of(subject), right.of(subject)) {
                (Some(left), Some(right)) => how.holds(&left, &right),
                _ => false,
            },
            Self::True(operand) => match operand.of(subject) {
                Some(Operands::Integer(n)) => n != 0,
                Some(Operands::Float(n)) => n != 0.0,
                Some(Operands::Text(text)) => !text.is_empty(),
                Some(Operands::Glob(_)) | None => false,
            },
        }
    }
}

impl Operand {
    fn of<'s>(&'s self, subject: &Subject<'s>) -> Option<Operands<'s>> {
        Some(match self {
            Self::Integer(n) => Operands::Integer(*n),
            Self::Float(n) => Operands::Float(*n),
            Self::Text(pieces) => Operands::Glob(pieces),
            Self::Instance => Operands::Text(subject.instance.as_bytes()),
            Self::Flags => {
                let flags = subject.record.get(HighRes::RECORD_HEADER - 8..)?.first_chunk()?;
                Operands::Integer(u32::from_ne_bytes(*flags).into())
            }
            Self::Timestamp => {
                let stamp = HighRes::get_stamp(subject.record)?;
                if stamp.nsec == 0 {
                    Operands::Integer(stamp.sec.into())
                } else {
                    #[expect(clippy::cast_precision_loss, reason = "a quarter of a microsecond today")]
                    let seconds = stamp.sec as f64 + f64::from(stamp.nsec) / 1e9;
                    Operands::Float(seconds)
                }
            }
            Self::Parameter(pmids) => {
                let found = Records::<HighRes>::parameters(subject.record).find(|p| pmids.binary_search(&p.pmid.0).is_ok())?;
                match found.value {
                    Scalar::I32(v) => Operands::Integer(v.into()),
                    Scalar::U32(v) => Operands::Integer(v.into()),
                    Scalar::I64(v) => Operands::Integer(v.into()),
                    Scalar::U64(v) => Operands::Integer(v.into()),
                    Scalar::F32(v) => Operands::Float(v.into()),
                    Scalar::F64(v) => Operands::Float(v),
                    Scalar::Text(v) | Scalar::Aggregate(v) => Operands::Text(v),
                }
            }
        })
    }
}

impl Comparison {
    fn holds(self, left: &Operands<'_>, right: &Operands<'_>) -> bool {
        use Operands::{Float, Glob, Integer, Text};
        let equal = match (left, right) {
            (Text(text), Glob(pieces)) | (Glob(pieces), Text(text)) => matches(text, pieces),
            (Text(a), Text(b)) => a == b,
            (Glob(a), Glob(b)) => a == b,
            (Integer(a), Integer(b)) => return self.of(Some(a.cmp(b))),
            #[expect(clippy::cast_precision_loss, reason = "one side is a float already")]
            (Integer(a), Float(b)) => return self.of((*a as f64).partial_cmp(b)),
            #[expect(clippy::cast_precision_loss, reason = "one side is a float already")]
            (Float(a), Integer(b)) => return self.of(a.partial_cmp(&(*b as f64))),
            (Float(a), Float(b)) => return self.of(a.partial_cmp(b)),
            // A short name can stand for texts and for numbers: one of the other kind is not what was meant.
            _ => return false,
        };
        match self {
            Self::Equal => equal,
            Self::NotEqual => !equal,
            _ => false,
        }
    }

    /// Not-a-number is unequal to everything.
    const fn of(self, order: Option<Ordering>) -> bool {
        let Some(order) = order else { return matches!(self, Self::NotEqual) };
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// `text` is the pieces in their order with anything between them; linear in both.
fn matches(text: &[u8], pieces: &[String]) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return text.is_empty() };
    let Some((last, middle)) = rest.split_last() else { return text == first.as_bytes() };
    let Some(mut text) = text.strip_prefix(first.as_bytes()).and_then(|t| t.strip_suffix(last.as_bytes())) else { return false };
    for piece in middle {
        let Some(at) = memchr::memmem::find(text, piece.as_bytes()) else { return false };
        text = text.get(at + piece.len()..).unwrap_or_default();
    }
    true
}
