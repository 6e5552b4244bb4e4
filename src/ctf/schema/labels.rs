//! Names of values: enumerations of CTF 1.8, mappings of CTF 2.

use crate::ctf::error::{Fault, bounded};
use crate::ctf::limits;
use std::collections::HashMap;
use std::sync::Arc;

/// From and to, both included. Wide enough for every signed and unsigned integer of 64 bits.
pub type Range = (i128, i128);

/// One name and the values that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// As the metadata has it.
    pub name: Arc<str>,
    /// In the order of the metadata; may overlap those of others.
    pub ranges: Vec<Range>,
}

/// The names of an enumeration, in the order of the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<Label>);

impl Labels {
    /// Puts ranges of one name together, where the name was first.
    pub(crate) fn new(ranges: impl IntoIterator<Item = (Arc<str>, Range)>) -> Result<Self, Fault> {
        let mut labels: Vec<Label> = Vec::new();
        let mut known: HashMap<Arc<str>, usize> = HashMap::new();
        let mut count = 0;
        for (name, range) in ranges {
            count += 1;
            bounded("ranges of an enumeration", count, limits::RANGES)?;
            let at = *known.entry(name.clone()).or_insert(labels.len());
            match labels.get_mut(at) {
                Some(label) => label.ranges.push(range),
                None => labels.push(Label { name, ranges: vec![range] }),
            }
        }
        Ok(Self(labels))
    }

    /// All, in order.
    #[must_use]
    pub fn all(&self) -> &[Label] {
        &self.0
    }

    /// Names of a value, in order; more than one where ranges overlap.
    pub fn of(&self, value: i128) -> impl Iterator<Item = &Arc<str>> {
        let has = move |label: &&Label| label.ranges.iter().any(|(low, high)| (*low..=*high).contains(&value));
        self.0.iter().filter(has).map(|label| &label.name)
    }

    /// The label of a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Label> {
        self.0.iter().find(|label| &*label.name == name)
    }
}
