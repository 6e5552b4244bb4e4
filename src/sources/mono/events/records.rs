//! Event records: pauses, exceptions and long waits for locks.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::collections::Pause;
use super::figures::Figures;
use super::names::Names;
use super::rows::{Flush, UNKNOWN, site};
use super::sites::{Waited, waiting};
use crate::contract::Peer;
use crate::events::flags::POINT;
use crate::heap_size;
use crate::model::{EventKindId, HeapSize, Stamp, cut};
use crate::sources::mono::limits::{
    CONTENTION_RECORD, LIVE_THREADS, RECORD_STACK, RECORDS_A_SECOND, THREAD_NAME, WAITING_RECORDS,
};
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::Act;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// Seconds that are open: threads' events of one second come one thread after the other.
const SECONDS: usize = 4;

/// At most [`RECORDS_A_SECOND`] records, by the seconds of their events.
#[derive(Debug, Default)]
struct Rate {
    /// Second and its records, by the second modulo [`SECONDS`].
    seconds: [(u64, u32); SECONDS],
}

impl Rate {
    fn allows(&mut self, time: u64) -> bool {
        let second = time / SECOND;
        let at = usize::try_from(second % SECONDS as u64).unwrap_or_default();
        let Some(of) = self.seconds.get_mut(at) else { return false };
        if of.0 != second {
            *of = (second, 0);
        }
        of.1 = of.1.saturating_add(1);
        of.1 <= RECORDS_A_SECOND
    }
}

#[derive(Debug)]
enum What {
    Gc { pause: Pause, after: Option<u64> },
    Exception { kind: Option<u64> },
    Contention { duration: u64, object: u64, kind: Option<u64>, failed: bool },
}

impl What {
    const fn kind(&self) -> EventKindId {
        match self {
            Self::Gc { .. } => m::GC,
            Self::Exception { .. } => m::EXCEPTION,
            Self::Contention { .. } => m::CONTENTION,
        }
    }
}

/// A record that waits until no older one can come.
#[derive(Debug)]
struct Record {
    time: u64,
    thread: u64,
    what: What,
    frames: Box<[u64]>,
}

heap_size!(Record { frames });

/// When a thread got which name; empty: it ended.
type Naming = (u64, Box<str>);

/// Names of threads by time: the id of a thread that has ended is given to the next one.
#[derive(Debug, Default)]
struct Namings(HashMap<u64, Vec<Naming>, RandomState>);

impl Namings {
    fn add(&mut self, time: u64, thread: u64, name: &[u8]) {
        if self.0.len() < LIVE_THREADS {
            let name = cut(&String::from_utf8_lossy(name), THREAD_NAME).into();
            let of = self.0.entry(thread).or_default();
            let at = of.partition_point(|(before, _)| *before <= time);
            of.insert(at, (time, name));
        }
    }

    /// The name of a thread at a time; of more threads than fit, the newest.
    fn get<'a>(&'a self, thread: u64, time: u64, names: &'a Names) -> Option<&'a str> {
        let Some(of) = self.0.get(&thread) else {
            return names.thread(thread).filter(|_| self.0.len() >= LIVE_THREADS);
        };
        let last = of.partition_point(|(since, _)| *since <= time).checked_sub(1)?;
        of.get(last).map(|(_, name)| &**name).filter(|name| !name.is_empty())
    }

    /// Only what is true from this time on is needed.
    fn forget(&mut self, until: u64) {
        self.0.retain(|_, of| {
            let last = of.partition_point(|(since, _)| *since <= until).saturating_sub(1);
            of.drain(..last);
            of.len() > 1 || of.iter().any(|(since, name)| *since > until || !name.is_empty())
        });
    }
}

impl HeapSize for Namings {
    fn heap_size(&self) -> usize {
        let names = self.0.values().flatten().map(|(_, name)| size_of::<Naming>() + name.len());
        self.0.heap_size() + names.sum::<usize>()
    }
}

/// The records of one process.
#[derive(Debug, Default)]
pub(super) struct Records {
    namings: Namings,
    exceptions: Rate,
    contentions: Rate,
    waiting: Vec<Record>,
}

heap_size!(Records { namings, each waiting });

impl Records {
    fn add(&mut self, record: Record, figures: &mut Figures) {
        if self.waiting.len() < WAITING_RECORDS {
            self.waiting.push(record);
        } else {
            figures.add(m::MISSED, 1);
        }
    }

    /// A thread got a name, or has ended.
    pub(super) fn thread(&mut self, time: u64, act: Act, thread: u64, name: &[u8]) {
        match act {
            Act::Load => {}
            Act::Name => self.namings.add(time, thread, name),
            Act::Unload => self.namings.add(time, thread, b""),
        }
    }

    /// A pause of the program: as many wait as pauses do.
    pub(super) fn pause(&mut self, pause: &Pause, after: Option<u64>) {
        let what = What::Gc { pause: *pause, after };
        let (time, thread) = (pause.ended, pause.thread);
        self.waiting.push(Record { time, thread, what, frames: Box::default() });
    }

    /// An exception was thrown. `kind`: its type, if it is known.
    pub(super) fn exception(
        &mut self,
        (thread, time): (u64, u64),
        frames: &[u64],
        kind: Option<u64>,
        figures: &mut Figures,
    ) {
        if !self.exceptions.allows(time) {
            return figures.add(m::MISSED, 1);
        }
        let what = What::Exception { kind };
        self.add(Record { time, thread, what, frames: frames.into() }, figures);
    }

    /// A wait for a lock has ended. `kind`: the type of the lock, if it is known.
    pub(super) fn contention(
        &mut self,
        (thread, time): (u64, u64),
        waited: Waited,
        kind: Option<u64>,
        failed: bool,
        figures: &mut Figures,
    ) {
        let Waited { duration, object, frames } = waited;
        if duration < CONTENTION_RECORD {
            return;
        }
        if !self.contentions.allows(time) {
            return figures.add(m::MISSED, 1);
        }
        let what = What::Contention { duration, object, kind, failed };
        self.add(Record { time, thread, what, frames }, figures);
    }

    /// Hands over the records up to a time, in the order of their times.
    pub(super) fn settle(
        &mut self,
        until: Option<u64>,
        flush: Flush<'_>,
        stamp: &dyn Fn(u64) -> Stamp,
        peer: &mut Peer,
    ) {
        self.waiting.sort_by_key(|record| record.time);
        let due = match until {
            Some(until) => self.waiting.partition_point(|record| record.time <= until),
            None => self.waiting.len(),
        };
        for record in self.waiting.drain(..due) {
            let thread = self.namings.get(record.thread, record.time, flush.names);
            emit(&record, thread, flush, stamp(record.time), peer);
        }
        self.namings.forget(until.unwrap_or(u64::MAX));
        if self.waiting.is_empty() {
            self.waiting = Vec::new();
        }
    }

    /// No record waits.
    pub(super) const fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn emit(record: &Record, name: Option<&str>, flush: Flush<'_>, stamp: Stamp, peer: &mut Peer) {
    let Record { thread, what, frames, .. } = record;
    let names = flush.names;
    let kind_of = |kind: &Option<u64>| kind.and_then(|kind| flush.kind(kind)).unwrap_or_default();
    peer.record(what.kind(), stamp, POINT, |to| {
        match what {
            What::Gc { pause, after } => {
                to.number(m::P_PAUSE, pause.length);
                to.number(m::P_SUSPENSION, pause.suspension);
                to.text(m::P_KIND, pause.kind());
                to.known(m::P_GENERATION, pause.generation());
                to.known(m::P_AFTER, *after);
            }
            What::Exception { kind } => {
                let place = frames.last().map(|id| names.method(*id).unwrap_or(UNKNOWN));
                to.text(m::P_SITE, &place.map(site).unwrap_or_default());
                to.text(m::P_TYPE, kind_of(kind));
            }
            What::Contention { duration, object, kind, failed } => {
                to.number(m::P_DURATION, *duration);
                let place = waiting(frames.iter().rev().copied(), names);
                to.text(m::P_SITE, &place.map(site).unwrap_or_default());
                to.text(m::P_LOCK, &format!("lock@{object:x}"));
                to.text(m::P_TYPE, kind_of(kind));
                to.text(m::P_RESULT, if *failed { "failed" } else { "done" });
            }
        }
        to.number(m::P_THREAD, *thread);
        to.text(m::P_THREAD_NAME, name.unwrap_or_default());
        to.text(m::P_STACK, &stack(frames, names));
    });
}

/// Names of the frames, the outermost first, parted by semicolons. The outermost are left out of a
/// stack that is too long.
fn stack(frames: &[u64], names: &Names) -> String {
    let mut length = 0;
    let fits = |id: &&u64| {
        length += names.method(**id).unwrap_or(UNKNOWN).len() + 1;
        length <= RECORD_STACK
    };
    let count = frames.iter().rev().take_while(fits).count();
    let innermost = frames.get(frames.len() - count..).unwrap_or_default();
    let name = |id: &u64| names.method(*id).unwrap_or(UNKNOWN);
    innermost.iter().map(name).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_records_in_any_order_of_threads() {
        let mut rate = Rate::default();
        let most = u64::from(RECORDS_A_SECOND);
        // Two threads' buffers of one second, one after the other.
        let half = |n: u64| 7 * SECOND + n * (SECOND / most) * 2;
        let allowed = (0..most / 2).chain(0..most / 2).filter(|n| rate.allows(half(*n))).count();
        assert_eq!(allowed as u64, most);
        assert!(!rate.allows(7 * SECOND));
        assert!(rate.allows(8 * SECOND) && rate.allows(6 * SECOND));
        assert!(!rate.allows(7 * SECOND + 1));
    }
}
