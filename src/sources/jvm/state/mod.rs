//! What is kept of a process between two readings of its region: the directory with what its constants say, and the
//! pauses that had ended.

mod facts;
mod figures;

use std::borrow::Cow;

pub(crate) use facts::{Collector, Facts, Who, of_command_line};
pub(crate) use figures::{Collections, Figures, POOLS};

use super::limits;
use super::wire::{Counter, Directory, Prologue, Refusal, Values};
use crate::heap_size;
use facts::shown;

/// The reader of one process's region. A process that executes another program gets a new one.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// What the host knows of the process.
    pub(crate) who: Who,
    /// The directory of the region and what its constants say.
    known: Option<Box<Known>>,
    /// Bytes that were in use at the last reading.
    used: usize,
}

/// A directory, and what the constants of its region say.
#[derive(Debug)]
pub(crate) struct Known {
    directory: Directory,
    facts: Facts,
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
}

heap_size!(Reader { who, known });
heap_size!(Known { facts });

impl Reader {
    /// Before the first reading.
    pub(crate) fn new(who: Who) -> Self {
        Self { who, ..Self::default() }
    }

    /// What the host tells of the program that the process executes, which it could not tell before.
    pub(crate) fn named(&mut self, who: &Who) {
        let known = &mut self.who;
        known.command.clone_from(&who.command);
        known.comm.clone_from(&who.comm);
        known.service.clone_from(&who.service);
        // Its names are made of these too.
        self.known = None;
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

    /// What the last reading that succeeded told of the process.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.known.as_deref().map(|known| &known.facts)
    }

    /// Reads a copy of the region, or of as much of it as [`want`](Self::want) says.
    ///
    /// # Errors
    /// It cannot be read, or not yet. What was known stays for a later reading.
    pub(crate) fn read<'a>(&'a mut self, region: &'a [u8]) -> Result<Reading<'a>, Refusal> {
        let prologue = Prologue::parse(region)?;
        self.used = prologue.used;
        let before = self.known.take();
        let holds = before.as_ref().is_some_and(|known| known.directory.holds(&prologue));
        let known = match before {
            Some(known) if holds => known,
            before => {
                let before = before.as_deref().map(|known| &known.directory);
                let directory = Directory::parse(region, prologue, before);
                let facts = Facts::new(Values { region, directory: &directory }, &self.who);
                Box::new(Known { directory, facts })
            }
        };
        let Known { directory, facts } = &**self.known.insert(known);
        let values = Values { region, directory };
        Ok(Reading {
            fresh: !holds,
            facts,
            figures: Figures::new(values, facts),
            last_cause: values.text(Counter::LastCause).map(shown),
            overflow: prologue.overflow,
            used: prologue.used,
            entries: directory.entries,
        })
    }
}

/// What had ended at the last reading of one JVM: of each collector, and of all safepoints. Only sums and the last
/// pause of each collector are in the region: what is told is a lower bound, exact with one pause between readings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Longest(Option<[Option<Ended>; 4]>);

/// Number of pauses that have ended, their sum, length of the last one if it is known.
type Ended = (u64, u64, Option<u64>);

fn ended(one: &Collections) -> Option<Ended> {
    let running = one.last.is_some_and(|(begin, end)| begin > end);
    Some((one.count.saturating_sub(running.into()), one.time?, one.pause()))
}

/// What is known of the longest pause between two readings.
fn between(before: Option<Ended>, now: Option<Ended>) -> Option<u64> {
    let ((count, sum, _), (new_count, new_sum, last)) = (before?, now?);
    // Below zero: the counters are another JVM's.
    let (more, time) = (new_count.checked_sub(count)?, new_sum.checked_sub(sum)?);
    match more {
        0 => None,
        1 => last.or(Some(time)),
        _ => last.max(Some(time / more)),
    }
}

impl Longest {
    /// Nanoseconds of the longest pause since the last reading. `None`: none is known.
    pub(crate) fn since(&mut self, figures: &Figures) -> Option<u64> {
        let [young, full, other] = figures.collections.map(|one| one.as_ref().and_then(ended));
        // Without collectors the pauses are all safepoints.
        let none = figures.collections.iter().all(Option::is_none);
        let all = figures.pauses.count.zip(figures.pauses.total).filter(|_| none);
        let now = [young, full, other, all.map(|(count, total)| (count, total, None))];
        let before = self.0.replace(now).unwrap_or_default();
        before.into_iter().zip(now).filter_map(|(old, new)| between(old, new)).max()
    }
}
