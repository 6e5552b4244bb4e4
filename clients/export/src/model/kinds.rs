//! What the time of a record is: `clients/kinds.json`, which `pcp apm events` reads too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// What the time of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Anchor {
    /// Something began then.
    Start,
    /// Something ended then.
    End,
    /// Something happened then that has no length.
    At,
}

/// A kind of event: what its time is, and which parameter is its length.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Kind {
    /// What the time of its records is.
    pub time: Anchor,
    /// Parameters in ns; the first that a record has is its length.
    #[serde(default)]
    pub length: Vec<Box<str>>,
    /// Those of records whose parameter `type` is this one.
    #[serde(default)]
    pub types: BTreeMap<Box<str>, Vec<Box<str>>>,
}

static TABLE: LazyLock<BTreeMap<Box<str>, Kind>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../kinds.json")).unwrap_or_default());

impl Kind {
    /// The kind `SOURCE.KIND`. One that is not known happens at an instant.
    #[must_use]
    pub fn of(name: &str) -> Self {
        TABLE.get(name).cloned().unwrap_or(Self {
            time: Anchor::At,
            length: Vec::new(),
            types: BTreeMap::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        assert_eq!(Kind::of("zorka.span").time, Anchor::Start);
        assert_eq!(&*Kind::of("dotnet.gc").length, ["pause".into(), "duration".into()]);
        assert_eq!(Kind::of("of.nobody").time, Anchor::At);
    }
}
