//! Memory for the texts of a new counter or instrument.

use super::reading::Reading;
use super::spec::{Description, Facet};
use crate::sources::dotnet::limits;

/// Texts in UTF-8.
#[derive(Debug, Default)]
pub(super) struct Text {
    name: String,
    unit: String,
    about: String,
}

impl Text {
    /// Calls `with` with the facts of an EventCounter.
    pub(super) fn with<R>(
        &mut self,
        group: &str,
        reading: &Reading<'_>,
        facet: Facet,
        with: impl FnOnce(&Description<'_>) -> R,
    ) -> R {
        let Self { name, unit, about } = self;
        for (text, raw) in [
            (&mut *name, reading.name),
            (&mut *unit, reading.units),
            (&mut *about, reading.display),
        ] {
            text.clear();
            raw.push_to(text, limits::NAME);
        }
        with(&Description { facet, unit, group, name, text: about })
    }

    /// Allocated bytes.
    pub(super) const fn memory(&self) -> usize {
        self.name.capacity() + self.unit.capacity() + self.about.capacity()
    }
}
