//! Where the counters are. Offsets of known entries never move, so a directory is parsed once, and
//! again when the prologue says that entries came.

use crate::read::Cursor;
use crate::sources::jvm::limits;

use super::counters::{COUNTERS, Counter};
use super::entry::{Place, Walk};
use super::prologue::Prologue;

/// The places of all [`Counter`]s of a region.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    /// Of the reading that the directory is of.
    pub(crate) prologue: Prologue,
    places: [Place; COUNTERS],
    /// Entries that hold, also of counters that are not looked up.
    pub(crate) entries: u32,
    /// Entries that do not hold, or have the name of one before.
    pub(crate) skipped: u32,
    /// Entries that are announced and were not met.
    pub(crate) missing: u32,
    retries: u8,
}

impl Directory {
    /// Parses the directory of a region that has this prologue. At most [`limits::ENTRIES`] entries
    /// are walked; nothing is allocated.
    pub(crate) fn parse(region: &[u8], prologue: Prologue) -> Self {
        let places = [Place::default(); COUNTERS];
        let retries = limits::RETRIES;
        let mut directory = Self { prologue, places, entries: 0, skipped: 0, missing: 0, retries };
        let mut walk = Walk::new(region, prologue);
        for entry in walk.by_ref() {
            let Some(entry) = entry else {
                directory.skipped += 1;
                continue;
            };
            let counter = Counter::named(entry.name);
            match counter.and_then(|counter| directory.places.get_mut(counter as usize)) {
                // The first of a name counts.
                Some(place) if place.at != 0 => directory.skipped += 1,
                Some(place) => (*place, directory.entries) = (entry.place, directory.entries + 1),
                None => directory.entries += 1,
            }
        }
        directory.missing = walk.left();
        directory
    }

    /// Whether the directory is still that of a region with this prologue.
    pub(crate) fn holds(&self, prologue: &Prologue) -> bool {
        self.prologue == *prologue && (self.missing == 0 || self.retries == 0)
    }

    /// The directory that follows one that no longer holds.
    pub(crate) fn renewed(&self, region: &[u8], prologue: Prologue) -> Self {
        let same = self.prologue == prologue;
        let retries = if same { self.retries.saturating_sub(1) } else { limits::RETRIES };
        Self { retries, ..Self::parse(region, prologue) }
    }
}

/// The values of one reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    /// The region as it is now.
    pub(crate) region: &'a [u8],
    /// Its directory.
    pub(crate) directory: &'a Directory,
}

impl<'a> Values<'a> {
    fn place(self, counter: Counter) -> Option<Place> {
        self.directory.places.get(counter as usize).copied().filter(|place| place.at != 0)
    }

    /// A number. `None`: there is no such counter, or it is a text.
    pub(crate) fn long(self, counter: Counter) -> Option<i64> {
        let place = self.place(counter).filter(|place| place.length == 0)?;
        let bytes = self.region.get(usize::try_from(place.at).ok()?..)?;
        Cursor::new(bytes, self.directory.prologue.order).i64()
    }

    /// A number that is never below zero. `None` also if it is.
    pub(crate) fn count(self, counter: Counter) -> Option<u64> {
        self.long(counter).and_then(|value| u64::try_from(value).ok())
    }

    /// A text up to its NUL or the end of its vector, at most [`limits::TEXT`] bytes, in any
    /// encoding. `None`: there is no such counter, or it is a number.
    pub(crate) fn text(self, counter: Counter) -> Option<&'a [u8]> {
        let place = self.place(counter).filter(|place| place.length != 0)?;
        let length = usize::try_from(place.length).ok()?.min(limits::TEXT);
        let bytes = self.region.get(usize::try_from(place.at).ok()?..)?.get(..length)?;
        bytes.get(..memchr::memchr(0, bytes).unwrap_or(length))
    }
}
