//! A budget of memory for all that peers cause: who wants to hold more asks before, or at the
//! latest when a bounded piece of work is done, and what is refused has an end: a text is dropped,
//! a newcomer is turned away, a connection ends.
//!
//! ```text
//!  0                                              7/8 of the room                 limit
//!  |── set aside for events ──|───── whoever ─────|── those that hold little ──|
//! ```
//! Who holds a lot cannot take the last eighth of the room, so that newcomers and those that hold
//! little find some.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Charges are in steps of this many bytes, so that they seldom change.
const STEP: usize = 4 << 10;
/// Who holds no more than this may also use the last eighth, or half of what each would have if all
/// had the same: ten times an agent with 200 counters.
const LITTLE: usize = 512 << 10;
/// All that connections hold that have not said what they are: this part of the room.
const UNDECIDED_PART: usize = 16;
/// Each of those may hold this much, however much others have: many times what an agent needs to
/// say what it is.
const UNDECIDED_LITTLE: usize = 32 << 10;

/// What memory is held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Values of metrics, and what is known of peers.
    Registry,
    /// Values of metrics that are texts.
    Texts,
    /// What connections hold to understand their peers: descriptions of counters, call trees, calls
    /// that wait for names.
    Definitions,
    /// Words of all connections.
    Dictionaries,
    /// Bytes that were read and not yet understood, or not yet sent.
    Input,
    /// All of connections that have not said what they are.
    Undecided,
    /// What the process has beyond all that is known, when that is more than it should be.
    Other,
}

impl Purpose {
    /// How many there are.
    const COUNT: usize = Self::Other as usize + 1;
}

/// The budget. Shared by all threads; counting takes no lock.
#[derive(Debug)]
pub struct Memory {
    limit: AtomicUsize,
    peer: AtomicUsize,
    /// What event records may take: they have a budget of their own within the limit.
    aside: AtomicUsize,
    used: AtomicUsize,
    /// Connections.
    holders: AtomicUsize,
    by_purpose: [AtomicUsize; Purpose::COUNT],
    refused: AtomicU64,
}

impl Default for Memory {
    /// Without a limit.
    fn default() -> Self {
        Self {
            limit: AtomicUsize::new(usize::MAX),
            peer: AtomicUsize::new(usize::MAX),
            aside: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            holders: AtomicUsize::new(0),
            by_purpose: [const { AtomicUsize::new(0) }; Purpose::COUNT],
            refused: AtomicU64::new(0),
        }
    }
}

impl Memory {
    /// `limit` bytes in all, of which `aside` are not given out here; `peer` bytes for one peer.
    pub fn set_limits(&self, limit: usize, aside: usize, peer: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        self.aside.store(aside, Ordering::Relaxed);
        self.peer.store(peer, Ordering::Relaxed);
    }

    /// Bytes in all.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes of one peer, all purposes together.
    #[must_use]
    pub fn peer_limit(&self) -> usize {
        self.peer.load(Ordering::Relaxed)
    }

    /// Bytes that are given out here: without event records.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes of a purpose.
    #[must_use]
    pub fn held(&self, purpose: Purpose) -> usize {
        self.cell(purpose).load(Ordering::Relaxed)
    }

    /// What was refused so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Bytes that can be given out here.
    fn room(&self) -> usize {
        self.limit().saturating_sub(self.aside.load(Ordering::Relaxed))
    }

    /// Bytes by which too much is used for those that hold a lot: what is kept of peers that are
    /// gone should go.
    #[must_use]
    pub fn over(&self) -> usize {
        let room = self.room();
        self.used().saturating_sub(room - room / 8)
    }

    /// There is no room for a newcomer.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.used().saturating_add(STEP) > self.room()
    }

    fn cell(&self, purpose: Purpose) -> &AtomicUsize {
        static NOWHERE: AtomicUsize = AtomicUsize::new(0);
        self.by_purpose.get(purpose as usize).unwrap_or(&NOWHERE)
    }

    /// Takes `more` bytes if there is room for them. `holds`: what the one that asks will hold
    /// then, in all.
    pub fn take(&self, purpose: Purpose, more: usize, holds: usize) -> bool {
        let room = self.room();
        let even = room / self.holders.load(Ordering::Relaxed).max(1);
        let most = if holds <= LITTLE.max(even / 2) { room } else { room - room / 8 };
        if self.used.fetch_add(more, Ordering::Relaxed).saturating_add(more) > most {
            self.used.fetch_sub(more, Ordering::Relaxed);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let held = self.cell(purpose).fetch_add(more, Ordering::Relaxed).saturating_add(more);
        if purpose == Purpose::Undecided && holds > UNDECIDED_LITTLE && held > room / UNDECIDED_PART
        {
            self.give_back(purpose, more);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Takes bytes that are there already.
    pub fn force(&self, purpose: Purpose, more: usize) {
        self.used.fetch_add(more, Ordering::Relaxed);
        self.cell(purpose).fetch_add(more, Ordering::Relaxed);
    }

    /// What the process has beyond all that is charged here.
    pub fn set_other(&self, bytes: usize) {
        let before = self.cell(Purpose::Other).swap(bytes, Ordering::Relaxed);
        self.used.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }

    /// A connection begins.
    pub fn enter(&self) {
        self.holders.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection has ended.
    pub fn leave(&self) {
        self.holders.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives bytes back.
    pub fn give_back(&self, purpose: Purpose, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.cell(purpose).fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What one holder has of the budget for one purpose; dropping it gives it back.
#[derive(Debug)]
pub struct Charge {
    memory: Arc<Memory>,
    purpose: Purpose,
    bytes: usize,
}

impl Charge {
    /// Nothing yet.
    #[must_use]
    pub const fn new(memory: Arc<Memory>, purpose: Purpose) -> Self {
        Self { memory, purpose, bytes: 0 }
    }

    /// Bytes that are charged.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The holder has this much now, or wants to; `holds` is what it has for all purposes. Less is
    /// always possible. `false`: there is no room, and the charge stays what it was.
    #[must_use]
    pub fn resize(&mut self, bytes: usize, holds: usize) -> bool {
        let bytes = bytes.next_multiple_of(STEP);
        if bytes > self.bytes && !self.memory.take(self.purpose, bytes - self.bytes, holds) {
            return false;
        }
        self.shrink(bytes);
        self.bytes = bytes;
        true
    }

    /// The holder has this much already, whether there is room or not.
    pub fn set(&mut self, bytes: usize) {
        let bytes = bytes.next_multiple_of(STEP);
        if bytes > self.bytes {
            self.memory.force(self.purpose, bytes - self.bytes);
        }
        self.shrink(bytes);
        self.bytes = bytes;
    }

    fn shrink(&self, bytes: usize) {
        if bytes < self.bytes {
            self.memory.give_back(self.purpose, self.bytes - bytes);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.memory.give_back(self.purpose, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn memory(limit: usize) -> Arc<Memory> {
        let memory = Arc::new(Memory::default());
        memory.set_limits(limit, limit / 5, limit / 10);
        memory
    }

    #[test]
    fn the_room_is_what_is_not_set_aside_and_a_part_is_for_those_that_hold_little() {
        let memory = memory(100 * MIB);
        (0..100).for_each(|_| memory.enter());
        let mut large = Charge::new(Arc::clone(&memory), Purpose::Definitions);
        assert!(large.resize(70 * MIB, 70 * MIB) && !large.resize(70 * MIB + 1, 70 * MIB + 1));
        assert_eq!(
            (large.bytes(), memory.used(), memory.over(), memory.refused()),
            (70 * MIB, 70 * MIB, 0, 1)
        );
        let mut small: Vec<Charge> = Vec::new();
        while !memory.is_full() {
            small.push(Charge::new(Arc::clone(&memory), Purpose::Texts));
            let one = small.last_mut().expect("just pushed");
            let _ = one.resize(LITTLE, LITTLE);
        }
        assert_eq!((memory.held(Purpose::Texts), memory.over()), (10 * MIB, 10 * MIB));
        (1..100).for_each(|_| memory.leave());
        assert!(
            small[0].resize(LITTLE, 39 * MIB) && !small[0].resize(2 * LITTLE, 39 * MIB),
            "it is full for everyone"
        );
        assert!(large.resize(1, 1), "less is always possible");
        assert_eq!(memory.used(), 10 * MIB + STEP);
        large.set(200 * MIB);
        assert!(memory.is_full());
        drop((large, small));
        assert_eq!(
            (memory.used(), memory.held(Purpose::Texts), memory.held(Purpose::Definitions)),
            (0, 0, 0)
        );
    }

    #[test]
    fn what_is_undecided_has_a_small_part_but_everyone_a_little_of_it() {
        let memory = memory(100 * MIB);
        let mut all: Vec<Charge> =
            (0..100).map(|_| Charge::new(Arc::clone(&memory), Purpose::Undecided)).collect();
        let granted = all.iter_mut().filter_map(|c| c.resize(MIB, MIB).then_some(())).count();
        assert_eq!(granted, 80 / UNDECIDED_PART);
        assert!(
            all.iter_mut()
                .filter(|c| c.bytes() == 0)
                .all(|c| c.resize(UNDECIDED_LITTLE, UNDECIDED_LITTLE))
        );
    }
}
