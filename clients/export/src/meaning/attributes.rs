//! Parameters as attributes of the conventions.

use std::borrow::Cow;

use crate::model::Value;

use super::{Identity, Item};

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A whole number. One that has no room in 64 bits with a sign is a text.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
}

/// Attributes; each name comes once.
#[derive(Debug, Default)]
pub struct Attributes<'a>(Vec<(Cow<'a, str>, Attribute<'a>)>);

impl<'a> Attributes<'a> {
    /// All of an item.
    #[must_use]
    pub fn of(item: &Item<'a>, identity: Option<&'a Identity>) -> Self {
        let mut found = Self(Vec::with_capacity(item.record.parameters.len() + 2));
        found.fill(item, identity);
        found
    }

    /// In the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attribute<'a>)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// The value of one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Attribute<'a>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Sets one; a later one of the same name takes its place.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: Attribute<'a>) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// Sets a text.
    pub fn set_text(&mut self, name: impl Into<Cow<'a, str>>, text: impl Into<Cow<'a, str>>) {
        self.set(name, Attribute::Text(text.into()));
    }
}

impl<'a> Attribute<'a> {
    /// The value of a parameter; `None`: infinite or no number, for which OTLP has no form that every
    /// receiver takes.
    #[must_use]
    pub fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Int(n) => Self::Int(*n),
            Value::Uint(n) => {
                i64::try_from(*n).map_or_else(|_| Self::Text(n.to_string().into()), Self::Int)
            }
            Value::Float(n) if n.is_finite() => Self::Float(*n),
            Value::Float(_) => return None,
            Value::Text(text) => Self::Text(Cow::Borrowed(text)),
        })
    }
}
