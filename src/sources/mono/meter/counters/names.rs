//! The names of counters in requests and lists.

use std::sync::Arc;

use super::Counters;
use crate::sources::mono::proto::requests::Sampled;
use mono_counters::numbers::{Numbers, Space};

/// The names by which an Add can refer to a counter.
pub(super) fn names_of(
    space: Space,
    numbers: Numbers,
    name: &Arc<str>,
) -> impl Iterator<Item = Arc<str>> {
    let bare = space.custom(numbers.category, name).map(|(_, bare)| bare.into());
    [Some(Arc::clone(name)), bare].into_iter().flatten()
}

/// Category and name in a form that can be compared: categories have several spellings.
pub(crate) fn listed(category: &str, name: &str) -> String {
    format!("{}/{name}", mono_counters::numbers::bare_category(category).to_ascii_lowercase())
}

impl Sampled for Counters {
    fn has_name(&self, name: &str) -> bool {
        let space = self.space.unwrap_or(Space::E3);
        let counters = || self.facts.all();
        self.names
            .get_or_init(|| counters().flat_map(|c| names_of(space, c.numbers, &c.name)).collect())
            .contains(name)
    }

    fn identifies(&self, index: u16) -> Option<bool> {
        self.get(index).filter(|(_, s)| !s.removed).map(|(c, _)| c.identity.is_some())
    }

    fn indexes_used(&self) -> usize {
        self.used
    }
}
