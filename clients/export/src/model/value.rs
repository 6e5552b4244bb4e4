//! The value of a parameter.

use std::borrow::Cow;

/// A parameter's value, of the types that PCP has.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// PM_TYPE_32, PM_TYPE_64.
    Int(i64),
    /// PM_TYPE_U32, PM_TYPE_U64.
    Uint(u64),
    /// PM_TYPE_FLOAT, PM_TYPE_DOUBLE.
    Float(f64),
    /// PM_TYPE_STRING; other types as hexadecimal digits.
    Text(Box<str>),
}

impl Value {
    /// The number, if it is a whole one that is not negative.
    #[must_use]
    pub fn unsigned(&self) -> Option<u64> {
        match self {
            Self::Int(n) => u64::try_from(*n).ok(),
            Self::Uint(n) => Some(*n),
            Self::Float(_) | Self::Text(_) => None,
        }
    }

    /// The value as a text; numbers in decimal.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Int(n) => Cow::Owned(n.to_string()),
            Self::Uint(n) => Cow::Owned(n.to_string()),
            Self::Float(n) => Cow::Owned(n.to_string()),
        }
    }

    /// Whether it says yes: a number that is not 0, a text that is not empty.
    #[must_use]
    pub fn is_set(&self) -> bool {
        match self {
            Self::Int(n) => *n != 0,
            Self::Uint(n) => *n != 0,
            Self::Float(n) => *n != 0.0,
            Self::Text(text) => !text.is_empty(),
        }
    }
}
