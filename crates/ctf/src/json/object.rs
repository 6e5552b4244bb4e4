//! JSON values with their paths, for error messages.

use serde_json::Value;

use crate::error::{DeclarationError, malformed};

/// A value and its path in the fragment: `payload-field-class/member-classes/0`.
#[derive(Clone, Debug)]
pub(super) struct At<'v> {
    pub(super) value: &'v Value,
    path: String,
}

impl<'v> At<'v> {
    pub(super) const fn root(value: &'v Value) -> Self {
        Self { value, path: String::new() }
    }

    fn inner(&self, value: &'v Value, key: &str) -> Self {
        let path =
            if self.path.is_empty() { key.to_owned() } else { format!("{}/{key}", self.path) };
        Self { value, path }
    }

    /// An error at this value.
    pub(super) fn wrong<T>(&self, what: &str) -> Result<T, DeclarationError> {
        malformed!("{}: {what}", if self.path.is_empty() { "fragment" } else { &self.path })
    }

    /// Adds the path to an error.
    pub(super) fn check<T>(
        &self,
        result: Result<T, DeclarationError>,
    ) -> Result<T, DeclarationError> {
        result.map_err(|fault| match fault {
            DeclarationError::Malformed(what) => {
                DeclarationError::Malformed(format!("{}: {what}", self.path))
            }
            other => other,
        })
    }

    /// An optional property.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.inner(value, key))
    }

    /// A required property.
    pub(super) fn need(&self, key: &str) -> Result<Self, DeclarationError> {
        match self.get(key) {
            Some(value) => Ok(value),
            None => self.wrong(&format!("no {key}")),
        }
    }

    pub(super) fn text(&self) -> Result<&'v str, DeclarationError> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => self.wrong("no string"),
        }
    }

    /// An integer of any sign.
    pub(super) fn integer(&self) -> Result<i128, DeclarationError> {
        let Value::Number(n) = self.value else { return self.wrong("no number") };
        match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => Ok(n.into()),
            (_, Some(n)) => Ok(n.into()),
            _ => self.wrong("no whole number of 64 bits"),
        }
    }

    pub(super) fn unsigned(&self) -> Result<u64, DeclarationError> {
        match u64::try_from(self.integer()?) {
            Ok(n) => Ok(n),
            Err(_) => self.wrong("negative"),
        }
    }

    pub(super) fn signed(&self) -> Result<i64, DeclarationError> {
        match i64::try_from(self.integer()?) {
            Ok(n) => Ok(n),
            Err(_) => self.wrong("more than 63 bits"),
        }
    }

    pub(super) fn array(&self) -> Result<impl Iterator<Item = Self>, DeclarationError> {
        match self.value {
            Value::Array(items) => {
                Ok(items.iter().enumerate().map(|(n, item)| self.inner(item, &n.to_string())))
            }
            _ => self.wrong("no array"),
        }
    }

    pub(super) fn entries(
        &self,
    ) -> Result<impl Iterator<Item = (&'v String, Self)>, DeclarationError> {
        match self.value {
            Value::Object(map) => Ok(map.iter().map(|(key, value)| (key, self.inner(value, key)))),
            _ => self.wrong("no object"),
        }
    }

    /// An optional number.
    pub(super) fn unsigned_or(&self, key: &str, default: u64) -> Result<u64, DeclarationError> {
        self.get(key).map_or(Ok(default), |at| at.unsigned())
    }

    /// An optional text.
    pub(super) fn text_or_none(
        &self,
        key: &str,
    ) -> Result<Option<std::sync::Arc<str>>, DeclarationError> {
        self.get(key).map(|at| at.text().map(Into::into)).transpose()
    }
}
