//! Names of spans: few values, as the conventions ask for, because backends make lists of them.

use std::borrow::Cow;

use super::Item;

impl Item<'_> {
    /// The name of the span or instant; never empty.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.record.origin.full)
    }
}
