//! What is kept of a process to read its region again and again.

use std::borrow::Cow;

use crate::sources::jvm::limits;
use crate::sources::jvm::state::{Facts, Figures, shown};
use crate::sources::jvm::wire::{Counter, Directory, Prologue, Refusal, Values};

/// What a name is made of beside the region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    /// Name of the main thread: the program where a JVM runs within another one.
    pub(crate) comm: String,
    /// OTEL_SERVICE_NAME of the process's environment, if that can be read.
    pub(crate) service: Option<String>,
}

/// The reader of one process's region. A process that executes another program gets a new one.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    hints: Hints,
    /// The directory of the region and what its constants say.
    known: Option<Box<(Directory, Facts)>>,
    /// Bytes that were in use at the last reading.
    used: usize,
}

/// One reading. The numbers are those of one copy, not of one moment: a collection's count is
/// raised at its begin, its time at its end.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    /// Whether the facts may be others than those of the reading before.
    pub(crate) fresh: bool,
    /// What does not change.
    pub(crate) facts: &'a Facts,
    /// What changes.
    pub(crate) figures: Figures,
    /// Cause of the last collection, `No GC` before the first one.
    pub(crate) last_cause: Option<Cow<'a, str>>,
    /// Bytes of counters that found no room in the region.
    pub(crate) overflow: u64,
    /// Bytes in use.
    pub(crate) used: usize,
    /// Entries that were understood.
    pub(crate) entries: u32,
    /// Entries that were not: damaged, of an unknown type, or of a name that was there before.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare it"))]
    pub(crate) skipped: u32,
    /// Entries that are announced and were not met: the JVM was just adding them, and they are
    /// there at the next reading; or the directory is damaged.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare it"))]
    pub(crate) missing: u32,
}

impl Reader {
    /// Before the first reading.
    pub(crate) fn new(hints: Hints) -> Self {
        Self { hints, ..Self::default() }
    }

    /// Bytes to read from the begin of the region, or all of it if it is smaller: those in use, in
    /// whole pages.
    pub(crate) fn want(&self) -> usize {
        self.used.clamp(1, limits::REGION).next_multiple_of(limits::PAGE)
    }

    /// The copy ends before the region does, and [`want`](Self::want) is more than was read: the region has
    /// grown meanwhile, or has never been read.
    pub(crate) fn needs_more(&mut self, region: &[u8]) -> bool {
        let Err(Refusal::Used { used, .. }) = Prologue::parse(region) else { return false };
        self.used = usize::try_from(used).unwrap_or_default().max(self.used);
        self.want() > region.len()
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        let known = self.known.as_deref();
        let known = known.map_or(0, |(_, facts)| size_of::<(Directory, Facts)>() + facts.memory());
        known + self.hints.comm.capacity() + self.hints.service.as_ref().map_or(0, String::capacity)
    }

    /// What the last reading that succeeded told of the process.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.known.as_deref().map(|(_, facts)| facts)
    }

    /// Reads a copy of the region, or of as much of it as [`want`](Self::want) says.
    ///
    /// # Errors
    /// It cannot be read, or not yet. What was known stays for a later reading.
    pub(crate) fn read<'a>(&'a mut self, region: &'a [u8]) -> Result<Reading<'a>, Refusal> {
        let prologue = Prologue::parse(region)?;
        self.used = prologue.used;
        let holds = self.known.as_deref().is_some_and(|(directory, _)| directory.holds(&prologue));
        if !holds {
            let directory = match self.known.take() {
                Some(known) => known.0.renewed(region, prologue),
                None => Directory::parse(region, prologue),
            };
            let facts = Facts::new(Values { region, directory: &directory }, &self.hints);
            self.known = Some(Box::new((directory, facts)));
        }
        // It was set just above.
        let Some((directory, facts)) = self.known.as_deref() else { return Err(Refusal::Empty) };
        let values = Values { region, directory };
        Ok(Reading {
            fresh: !holds,
            facts,
            figures: Figures::new(values, facts),
            last_cause: values.text(Counter::LastCause).map(shown),
            overflow: prologue.overflow,
            used: prologue.used,
            entries: directory.entries,
            skipped: directory.skipped,
            missing: directory.missing,
        })
    }
}
