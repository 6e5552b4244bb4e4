//! Exceptions and waits for locks of one process, by method.
//!
//! The stream has no classes of exceptions, only objects: a throw event is a throw or a rethrow, and
//! where it came from is its innermost frame. A thread waits for one lock at a time: its next end
//! belongs to it.

use super::collections::US;
use super::figures::Figures;
use super::names::Names;
use super::rows::{Fixed, Flush, Pending, is_lock, site};
use crate::contract::{Histogram, Peer};
use crate::heap_size;
use crate::meter::bucket_of;
use crate::runtimes::{Layout, Open};
use crate::sources::mono::limits::FRAMES_OF_WAIT;
use crate::sources::mono::metrics as m;
use crate::sources::mono::mlpd::clause;

const SITES: Layout<1> = Layout { items: [m::SITE_EXCEPTIONS], label: "site" };
const TYPES: Layout<1> = Layout { items: [m::EXCEPTION_TYPE], label: "type" };
/// Rows of the table of clauses, and the numbers of their kinds.
const CLAUSES: [&str; 4] = ["catch", "filter", "finally", "fault"];
const BY_CLAUSE: Layout<1> = Layout { items: [m::CLAUSE], label: "clause" };
const KINDS: [u8; 4] = [clause::CATCH, clause::FILTER, clause::FINALLY, clause::FAULT];

/// Exceptions and their clauses.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    /// By method.
    sites: Pending<u64, 1>,
    /// By type of the object.
    types: Pending<u64, 1>,
    clauses: Fixed<4, 1>,
    /// Thrown since the stream began.
    pub(super) thrown: u64,
}

heap_size!(Exceptions { sites, types });

impl Exceptions {
    /// All rows that are known exist.
    pub(super) fn start(&mut self) {
        self.clauses.start();
    }

    /// An exception was thrown. `kind`: the type of the object, if types are known at all.
    pub(super) fn thrown(&mut self, frames: &[u64], kind: Option<Option<u64>>) {
        self.thrown = self.thrown.saturating_add(1);
        if let Some(innermost) = frames.last() {
            self.sites.add(Some(*innermost), [1]);
        }
        if let Some(kind) = kind {
            self.types.add(kind, [1]);
        }
    }

    /// A clause runs.
    pub(super) fn clause(&mut self, kind: u8) {
        if let Some(row) = KINDS.iter().position(|known| *known == kind) {
            self.clauses.add(row, [1]);
        }
    }

    /// A flush has been read, or a part of it.
    pub(super) fn settle(&mut self, flush: Flush<'_>, peer: &mut Peer) {
        self.sites.settle(&SITES, flush, |id| flush.names.method(*id).map(site), peer);
        self.types.settle(&TYPES, flush, |id| flush.kind(*id).map(str::to_owned), peer);
        self.clauses.settle(&BY_CLAUSE, CLAUSES, flush.owner, peer);
    }

    /// Nothing waits for a name.
    pub(super) fn is_settled(&self) -> bool {
        self.sites.is_empty() && self.types.is_empty()
    }
}

const LAYOUT: Layout<2> = Layout { items: [m::LOCK_TIME, m::LOCK_COUNT], label: "site" };

const LENGTHS: Histogram =
    Histogram { edges: &m::CONTENTION_EDGES, item: m::CONTENTIONS, names: m::contention_buckets };

/// The innermost frames of a wait, the innermost first; 0: none. The first are the lock's own.
type Innermost = [u64; FRAMES_OF_WAIT];

/// A wait that has begun.
#[derive(Debug)]
struct Wait {
    began: u64,
    object: u64,
    frames: Box<[u64]>,
}

/// A wait that has ended.
#[derive(Debug)]
pub(super) struct Waited {
    pub(super) duration: u64,
    pub(super) object: u64,
    pub(super) frames: Box<[u64]>,
}

/// Waits for locks of one process.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// By thread.
    open: Open<u64, Wait>,
    /// Waits that have ended since the last flush, by the ranges of their lengths.
    lengths: [u64; m::CONTENTION_EDGES.len()],
    /// By the innermost frames.
    sites: Pending<Innermost, 2>,
}

heap_size!(Locks { open, sites });

impl Locks {
    /// A wait begins.
    pub(super) fn begin(
        &mut self,
        (thread, time): (u64, u64),
        object: u64,
        frames: &[u64],
        figures: &mut Figures,
    ) {
        figures.add(m::CONTENTION_COUNT, 1);
        self.open.begin(thread, Wait { began: time, object, frames: frames.into() });
    }

    /// The wait of the thread ends.
    pub(super) fn end(
        &mut self,
        (thread, time): (u64, u64),
        failed: bool,
        figures: &mut Figures,
    ) -> Option<Waited> {
        figures.add(m::CONTENTION_FAILED, failed.into());
        let Wait { began, object, frames } = self.open.end(&thread)?;
        let duration = time.checked_sub(began)?;
        figures.add(m::CONTENTION_TIME, duration);
        if let Some(waits) = self.lengths.get_mut(bucket_of(&m::CONTENTION_EDGES, duration / US)) {
            *waits += 1;
        }
        if !frames.is_empty() {
            let mut innermost = [0; FRAMES_OF_WAIT];
            innermost.iter_mut().zip(frames.iter().rev()).for_each(|(to, id)| *to = *id);
            self.sites.add(Some(innermost), [duration, 1]);
        }
        Some(Waited { duration, object, frames })
    }

    /// Events are lost: what is open may have ended.
    pub(super) fn forget(&mut self) {
        self.open = Open::default();
    }

    /// A flush has been read, or a part of it.
    pub(super) fn settle(&mut self, flush: Flush<'_>, peer: &mut Peer) {
        let waits = std::mem::take(&mut self.lengths);
        for (edge, waits) in m::CONTENTION_EDGES.into_iter().zip(waits).filter(|(_, n)| *n > 0) {
            peer.count_ranges(&LENGTHS, edge, waits);
        }
        let name = |frames: &Innermost| waiting(frames.iter().copied(), flush.names).map(site);
        self.sites.settle(&LAYOUT, flush, name, peer);
    }

    /// Nothing waits for a name.
    pub(super) fn is_settled(&self) -> bool {
        self.sites.is_empty()
    }
}

/// The method that waits: the innermost one that is not of the lock itself. `frames`: innermost
/// first. `None`: a name is missing.
pub(super) fn waiting(frames: impl Iterator<Item = u64>, names: &Names) -> Option<&str> {
    let mut outermost = None;
    for id in frames.take_while(|id| *id != 0) {
        let name = names.method(id)?;
        if !is_lock(name) {
            return Some(name);
        }
        outermost = Some(name);
    }
    outermost
}
