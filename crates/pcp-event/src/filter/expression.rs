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
    pub(super) const fn of(self, order: Option<Ordering>) -> bool {
        self.orders().of(order)
    }

    /// The orders of the sides for which it is true.
    pub(super) const fn orders(self) -> Orders {
        Orders(match self {
            Self::Less => 0b001,
            Self::Equal => 0b010,
            Self::Greater => 0b100,
            Self::LessOrEqual => 0b011,
            Self::NotEqual => 0b101,
            Self::GreaterOrEqual => 0b110,
        })
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

/// A set of orders: a bit for less, equal and greater. It is asked without a jump.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orders(u8);

impl Orders {
    #[inline(always)]
    pub(super) const fn has(self, order: Ordering) -> bool {
        self.0 >> (order as i8 + 1) & 1 != 0
    }

    /// `None` (not-a-number) is unequal to everything.
    pub(super) const fn of(self, order: Option<Ordering>) -> bool {
        match order {
            Some(order) => self.has(order),
            None => self.0 == Comparison::NotEqual.orders().0,
        }
    }
}
