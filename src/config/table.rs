//! Reads a TOML table key by key, for tables with a key for each source, which serde's derive
//! cannot know. As in derived code, an error about a key has its line and column.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

/// A table while it is read, initially with the defaults.
pub(super) trait Table {
    /// All keys, in the order in which an error lists them.
    fn keys(&self) -> Vec<&'static str>;

    /// Reads the value of `key`, which is one of [`Table::keys`].
    ///
    /// # Errors
    /// The key does not accept the value.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a table over these defaults.
pub(super) struct Over<T>(pub(super) T);

impl<'de, T: Table> DeserializeSeed<'de> for Over<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<T, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de, T: Table> Visitor<'de> for Over<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<T, A::Error> {
        let keys = self.0.keys();
        while let Some(key) = map.next_key_seed(Key(&keys))? {
            self.0.read(key, &mut map)?;
        }
        Ok(self.0)
    }
}

/// One of these keys.
struct Key<'k>(&'k [&'static str]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<&'static str, D::Error> {
        d.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<&'static str, E> {
        self.0.iter().find(|key| **key == text).copied().ok_or_else(|| {
            let keys: Vec<_> = self.0.iter().map(|key| format!("`{key}`")).collect();
            E::custom(format!("unknown field `{text}`, expected one of {}", keys.join(", ")))
        })
    }
}
