//! A static metric with its full name. The PMDA registers it; `pmns`, `help` and docs/metrics.md
//! are generated from it.

use std::borrow::Cow;

use crate::model::{InDom, Semantics, SourceId, Units, ValueSource, ValueType};

/// A static metric.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Full name: `apm.agent.up`.
    pub name: String,
    /// `None` for `apm.self` and `apm.agent`.
    pub source: Option<SourceId>,
    /// PMID cluster.
    pub cluster: u16,
    /// PMID item.
    pub item: u16,
    /// Value type.
    pub ty: ValueType,
    /// Semantics.
    pub sem: Semantics,
    /// Units.
    pub units: Units,
    /// Instance domain.
    pub indom: InDom,
    /// Where the value comes from.
    pub value: ValueSource,
    /// One line of help.
    pub oneline: Cow<'static, str>,
    /// The full help text.
    pub help: Cow<'static, str>,
}
