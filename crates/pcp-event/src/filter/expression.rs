//! A filter's expression, as parsed.

use std::cmp::Ordering;

/// An expression. Lists have at least one member.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    Compare(Operand, Comparison, Operand),
    True(Operand),
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Integer(i128),
    Float(f64),
    /// The pieces between `*`.
    Text(Vec<String>),
    /// The value of the first parameter of the record that belongs to this slot.
    Slot(u16),
    Timestamp,
    Flags,
    Instance,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The operator for swapped sides.
    pub(super) const fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    /// The result for sides in this order; `None` (not-a-number) is unequal to everything.
    #[inline]
    pub(super) const fn of(self, order: Option<Ordering>) -> bool {
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

    /// The result for sides without an order: texts.
    pub(super) const fn of_equal(self, equal: bool) -> bool {
        match self {
            Self::Equal => equal,
            Self::NotEqual => !equal,
            _ => false,
        }
    }
}
