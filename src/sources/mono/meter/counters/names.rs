//! The names of counters in requests and lists.

use std::sync::Arc;

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
