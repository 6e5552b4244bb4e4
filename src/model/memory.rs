//! The memory budget of all that peers cause. A user charges memory before it allocates, or at the
//! latest after a bounded piece of work. A refused charge has a bounded effect: a text is dropped,
//! a new peer is turned away, a connection ends.
//!
//! ```text
//!  0                                              7/8 of the room                 limit
//!  |── set aside for events ──|───── anybody ─────|── small and new users ─────|
//! ```
//! A large user cannot take the last eighth of the room, which stays for new and small users.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Charges are rounded up to multiples of this many bytes, so that they seldom change.
const STEP: usize = 4 << 10;
/// Bytes up to which a user may also use the last eighth (or up to half of an equal share of all
/// users, if that is more): ten times an agent with 200 counters.
const LITTLE: usize = 512 << 10;
/// Connections with an unidentified peer may use this part of the room together (1/16).
const UNDECIDED_PART: usize = 16;
/// Bytes that each such connection may always use, however much others have: many times what an
/// agent needs to identify itself.
const UNDECIDED_LITTLE: usize = 32 << 10;

/// The purpose of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Peers and the values of their metrics.
    Registry,
    /// Text values of metrics.
    Texts,
    /// Decoder state of connections: descriptions of counters, call trees, calls that wait for
    /// names.
    Definitions,
    /// Dictionaries shared by connections.
    Dictionaries,
    /// Bytes read but not yet decoded, or not yet sent.
    Input,
    /// All memory of connections whose peer has not identified itself.
    Undecided,
    /// Bytes of calls that may get a tree of methods, and trees that wait for their calls.
    Trees,
    /// Resident memory beyond all charges, as far as it is more than expected.
    Other,
}

impl Purpose {
    /// Number of purposes.
    const COUNT: usize = Self::Other as usize + 1;
}

/// The memory budget. Shared by all threads; counting takes no lock.
#[derive(Debug)]
pub struct Memory {
    limit: AtomicUsize,
    peer: AtomicUsize,
    /// Bytes reserved for event records, which have a separate budget within the limit.
    aside: AtomicUsize,
    used: AtomicUsize,
    /// Open connections.
    holders: AtomicUsize,
    by_purpose: [AtomicUsize; Purpose::COUNT],
    refused: AtomicU64,
}

impl Default for Memory {
    /// A budget without a limit.
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
    /// Sets the limits in bytes: `limit` for all, of which `aside` is reserved for event records,
    /// and `peer` for one peer.
    pub fn set_limits(&self, limit: usize, aside: usize, peer: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        self.aside.store(aside, Ordering::Relaxed);
        self.peer.store(peer, Ordering::Relaxed);
    }

    /// Most bytes in all.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Most bytes of one peer, for all purposes together.
    #[must_use]
    pub fn peer_limit(&self) -> usize {
        self.peer.load(Ordering::Relaxed)
    }

    /// Charged bytes, without event records.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Charged bytes of a purpose.
    #[must_use]
    pub fn held(&self, purpose: Purpose) -> usize {
        self.cell(purpose).load(Ordering::Relaxed)
    }

    /// Number of refused charges so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Bytes that can be charged: without those of event records.
    fn room(&self) -> usize {
        self.limit().saturating_sub(self.aside.load(Ordering::Relaxed))
    }

    /// Bytes charged in the last eighth of the room: memory of disconnected peers should be freed.
    #[must_use]
    pub fn over(&self) -> usize {
        let room = self.room();
        self.used().saturating_sub(room - room / 8)
    }

    /// There is no room for a new connection.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.used().saturating_add(STEP) > self.room()
    }

    fn cell(&self, purpose: Purpose) -> &AtomicUsize {
        static NOWHERE: AtomicUsize = AtomicUsize::new(0);
        self.by_purpose.get(purpose as usize).unwrap_or(&NOWHERE)
    }

    /// Charges `more` bytes if there is room. `holds`: bytes that the user then has for all
    /// purposes.
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

    /// Charges bytes that are already allocated.
    pub fn force(&self, purpose: Purpose, more: usize) {
        self.used.fetch_add(more, Ordering::Relaxed);
        self.cell(purpose).fetch_add(more, Ordering::Relaxed);
    }

    /// Sets the resident memory beyond all charges.
    pub fn set_other(&self, bytes: usize) {
        let before = self.cell(Purpose::Other).swap(bytes, Ordering::Relaxed);
        self.used.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Adds a connection.
    pub fn enter(&self) {
        self.holders.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a connection.
    pub fn leave(&self) {
        self.holders.fetch_sub(1, Ordering::Relaxed);
    }

    /// Releases charged bytes.
    pub fn give_back(&self, purpose: Purpose, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.cell(purpose).fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The charge of one user for one purpose; released when dropped.
#[derive(Debug)]
pub struct Charge {
    memory: Arc<Memory>,
    purpose: Purpose,
    bytes: usize,
}

impl Charge {
    /// A charge of 0 bytes.
    #[must_use]
    pub const fn new(memory: Arc<Memory>, purpose: Purpose) -> Self {
        Self { memory, purpose, bytes: 0 }
    }

    /// The budget.
    #[must_use]
    pub const fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Charged bytes, a multiple of 4 KiB.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the charge to `bytes`; `holds` is the user's total for all purposes. Less is always
    /// possible. `false`: there is no room, and the charge is unchanged.
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

    /// Changes the charge to bytes that are already allocated, even if there is no room.
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
