//! An event record and where it comes from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Kind, Value};

/// Names of labels and their values.
pub type Labels = BTreeMap<Box<str>, Box<str>>;

/// An instance of PCP: a process, pod, agent or session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instance {
    /// `shop/orders/orders-5f6c-cc3`, `shop.exe:4711`.
    pub name: Box<str>,
    /// PCP's labels of the instance, all of which are texts here.
    pub labels: Labels,
    /// The host of pmcd, or of the archive.
    pub host: Arc<str>,
}

/// Where a record comes from: one for all records of a kind and instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `zorka`.
    pub source: Box<str>,
    /// `span`.
    pub kind: Box<str>,
    /// `zorka.span`.
    pub full: Box<str>,
    /// What its times are.
    pub of: Kind,
    /// Whose records these are.
    pub instance: Arc<Instance>,
}

impl Origin {
    /// The origin of records of a kind and instance.
    #[must_use]
    pub fn new(source: &str, kind: &str, instance: Arc<Instance>) -> Self {
        let full = format!("{source}.{kind}");
        Self {
            of: Kind::of(&full),
            source: source.into(),
            kind: kind.into(),
            full: full.into(),
            instance,
        }
    }
}

/// `PM_EVENT_FLAG_*` of PCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// An instant.
    pub const POINT: Self = Self(1);
    /// Something begins.
    pub const START: Self = Self(1 << 1);
    /// Something ends.
    pub const END: Self = Self(1 << 2);
    /// The record has an identifier.
    pub const ID: Self = Self(1 << 3);
    /// The record has the identifier of its parent.
    pub const PARENT: Self = Self(1 << 4);
    /// Not a record: how many were missed.
    pub const MISSED: Self = Self(1 << 31);
    /// The words of `pcp apm events`.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("point", Self::POINT),
        ("start", Self::START),
        ("end", Self::END),
        ("id", Self::ID),
        ("parent", Self::PARENT),
    ];

    /// Whether all of these are set.
    #[must_use]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// An event record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// ns since 1970.
    pub time: i64,
    /// Where it comes from.
    pub origin: Arc<Origin>,
    /// What it is a part of.
    pub flags: Flags,
    /// Records before this one that were missed. Without parameters it says nothing else.
    pub missed: u64,
    /// Its length in ns where START and END were two records.
    pub paired: Option<u64>,
    /// In the order of the record.
    pub parameters: Vec<(Arc<str>, Value)>,
}

impl Record {
    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.parameters.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    /// A parameter as a text; `""` if the record has none.
    #[must_use]
    pub fn text(&self, name: &str) -> Cow<'_, str> {
        self.get(name).map_or(Cow::Borrowed(""), Value::text)
    }

    /// The first of these parameters that is not empty.
    #[must_use]
    pub fn first(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        names.iter().map(|name| self.text(name)).find(|text| !text.is_empty())
    }

    /// Its length in ns, if its kind has one.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        let of = &self.origin.of;
        let special = if of.types.is_empty() { None } else { of.types.get(&*self.text("type")) };
        special
            .unwrap_or(&of.length)
            .iter()
            .find_map(|name| self.get(name).and_then(Value::unsigned))
    }

    /// Whether a parameter says yes.
    #[must_use]
    pub fn says(&self, name: &str) -> bool {
        self.get(name).is_some_and(Value::is_set)
    }
}
