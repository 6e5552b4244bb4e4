//! Limits the open connections, and those whose peer has not identified itself yet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::turns::Turns;
use crate::store::{SelfStats, Stat};

/// The limits and the open connections of all listeners.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    connections: usize,
    pending: usize,
    /// Turns of heavy connections.
    turns: Turns,
    next: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    open: usize,
    /// Connections whose peer has not identified itself, oldest first.
    pending: BTreeMap<u64, CancellationToken>,
    /// Per address, the numbers in use for names of peers that give none.
    ordinals: HashMap<IpAddr, Numbers>,
}

/// Numbers from 0 on. Finding the lowest free one needs no scan.
#[derive(Debug, Default)]
struct Numbers {
    /// All numbers below this have been given out.
    next: usize,
    /// Given numbers that are free again.
    free: BinaryHeap<Reverse<usize>>,
}

impl Numbers {
    fn take(&mut self) -> usize {
        if let Some(Reverse(lowest)) = self.free.pop() {
            return lowest;
        }
        self.next += 1;
        self.next - 1
    }

    /// Frees a number; returns whether any is still in use.
    fn give_back(&mut self, number: usize) -> bool {
        self.free.push(Reverse(number));
        self.free.len() < self.next
    }
}

/// The slot of an open connection, freed when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    limit: &'a ConnectionLimit,
    stats: &'a SelfStats,
    id: u64,
    address: IpAddr,
    ordinal: usize,
    /// Cancelled to close this connection in favour of a newer one.
    pub(super) displaced: CancellationToken,
}

impl ConnectionLimit {
    /// `workers`: number of threads that read and decode.
    pub(super) fn new(connections: usize, pending: usize, workers: usize) -> Arc<Self> {
        Arc::new(Self {
            connections,
            pending,
            turns: Turns::new(workers),
            next: AtomicU64::new(1),
            inner: Mutex::default(),
        })
    }

    /// Most connections at once.
    pub(super) const fn connections(&self) -> usize {
        self.connections
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a connection that was accepted just now: tasks of connections begin in any order.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The slot of a new connection; `None` when `limits.connections` are open. When
    /// `limits.pending` connections have an unidentified peer, the oldest of these is closed: an
    /// agent identifies itself at once, so its connection is never the oldest for long.
    pub(super) fn enter<'a>(
        &'a self,
        id: u64,
        address: IpAddr,
        stats: &'a SelfStats,
    ) -> Option<Slot<'a>> {
        stats.add(Stat::ConnectionTotal, 1);
        let mut inner = self.lock();
        if inner.open >= self.connections {
            stats.add(Stat::ConnectionRefused, 1);
            return None;
        }
        inner.open += 1;
        let displaced = CancellationToken::new();
        inner.pending.insert(id, displaced.clone());
        if inner.pending.len() > self.pending
            && let Some((_, oldest)) = inner.pending.pop_first()
        {
            stats.add(Stat::ConnectionRefused, 1);
            oldest.cancel();
        }
        let ordinal = inner.ordinals.entry(address).or_default().take();
        stats.set(Stat::ConnectionCurrent, inner.open as u64);
        Some(Slot { limit: self, stats, id, address, ordinal, displaced })
    }
}

impl Slot<'_> {
    /// Turns of heavy connections.
    pub(super) const fn turns(&self) -> &Turns {
        &self.limit.turns
    }

    /// Number of the connection, unique while the PMDA runs.
    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    /// The peer has identified itself.
    pub(super) fn established(&self) {
        self.limit.lock().pending.remove(&self.id);
    }

    /// A name for a peer that gives none: `127.0.0.1#1`, with the lowest free number of its
    /// address, so that a peer that reconnects tends to get the same.
    pub(super) fn fallback_name(&self) -> String {
        format!("{}#{}", self.address, self.ordinal + 1)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut inner = self.limit.lock();
        inner.open -= 1;
        inner.pending.remove(&self.id);
        if inner
            .ordinals
            .get_mut(&self.address)
            .is_some_and(|numbers| !numbers.give_back(self.ordinal))
        {
            inner.ordinals.remove(&self.address);
        }
        self.stats.set(Stat::ConnectionCurrent, inner.open as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_names() {
        let (limit, stats) = (ConnectionLimit::new(3, 2, 1), SelfStats::default());
        let home = IpAddr::from([127, 0, 0, 1]);
        let a = limit.enter(limit.number(), home, &stats).expect("room");
        let b = limit.enter(limit.number(), home, &stats).expect("room");
        assert_eq!(
            (a.fallback_name(), b.fallback_name()),
            ("127.0.0.1#1".into(), "127.0.0.1#2".into())
        );
        let c = limit.enter(limit.number(), home, &stats).expect("room");
        assert!(a.displaced.is_cancelled() && !b.displaced.is_cancelled());
        assert!(limit.enter(limit.number(), home, &stats).is_none());
        drop(a);
        b.established();
        c.established();
        let d = limit.enter(limit.number(), home, &stats).expect("room");
        assert_eq!(d.fallback_name(), "127.0.0.1#1");
        drop((b, c, d));
        assert_eq!(
            (stats.get(Stat::ConnectionCurrent), stats.get(Stat::ConnectionRefused)),
            (0, 2)
        );
        assert!(limit.lock().ordinals.is_empty() && limit.lock().pending.is_empty());
    }

    #[test]
    fn the_oldest_gives_way_whatever_the_order_in_which_they_enter() {
        let (limit, stats) = (ConnectionLimit::new(9, 2, 1), SelfStats::default());
        let home = IpAddr::from([127, 0, 0, 1]);
        let (first, second, third) = (limit.number(), limit.number(), limit.number());
        let new = limit.enter(third, home, &stats).expect("room");
        let old = limit.enter(first, home, &stats).expect("room");
        let other = limit.enter(second, home, &stats).expect("room");
        assert!(old.displaced.is_cancelled() && !new.displaced.is_cancelled());
        let newest = limit.enter(limit.number(), home, &stats).expect("room");
        assert!(other.displaced.is_cancelled() && !new.displaced.is_cancelled());
        drop((new, newest));
    }

    #[test]
    fn numbers_are_the_lowest_that_are_free() {
        let (limit, stats) = (ConnectionLimit::new(100_000, 100_000, 1), SelfStats::default());
        let home = IpAddr::from([127, 0, 0, 1]);
        let mut open: Vec<Option<Slot<'_>>> =
            (0..50_000).map(|_| limit.enter(limit.number(), home, &stats)).collect();
        let name = |slot: &Option<Slot<'_>>| slot.as_ref().map(Slot::fallback_name);
        assert_eq!(name(&open[49_999]).as_deref(), Some("127.0.0.1#50000"));
        for gone in [40_000, 7, 30_000] {
            open[gone] = None;
        }
        for expected in ["127.0.0.1#8", "127.0.0.1#30001", "127.0.0.1#40001", "127.0.0.1#50001"] {
            let new = limit.enter(limit.number(), home, &stats);
            assert_eq!(name(&new).as_deref(), Some(expected));
            open.push(new);
        }
        drop(open);
        assert!(limit.lock().ordinals.is_empty());
    }

    /// A connection as a list of all has it.
    struct Known<'a> {
        slot: Slot<'a>,
        home: usize,
        ordinal: usize,
        pending: bool,
        displaced: bool,
    }

    #[test]
    fn any_order_is_as_in_a_list_of_all() {
        const OPEN: usize = 40;
        const PENDING: usize = 12;
        let (limit, stats) = (ConnectionLimit::new(OPEN, PENDING, 1), SelfStats::default());
        let homes = [1, 2, 3].map(|last| IpAddr::from([127, 0, 0, last]));
        let mut all: Vec<Known<'_>> = Vec::new();
        let (mut chance, mut refused, mut reached) = (9_u64, 0, [0; 2]);
        let mut below = |n: usize| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(chance >> 33).expect("31 bits") % n
        };
        for step in 0..20_000 {
            // More come than go, and then more go than come.
            let comes = if step / 200 % 2 == 0 { 6 } else { 2 };
            match below(10) {
                n if n < comes => {
                    let home = below(homes.len());
                    let new = limit.enter(limit.number(), homes[home], &stats);
                    assert_eq!(new.is_none(), all.len() == OPEN);
                    let Some(slot) = new else {
                        (refused, reached[0]) = (refused + 1, reached[0] + 1);
                        continue;
                    };
                    let taken = |n: &usize| all.iter().any(|k| (k.home, k.ordinal) == (home, *n));
                    let ordinal = (1..).find(|n| !taken(n)).expect("few");
                    all.push(Known { slot, home, ordinal, pending: true, displaced: false });
                    if all.iter().filter(|k| k.pending).count() > PENDING {
                        let oldest = all.iter_mut().filter(|k| k.pending).min_by_key(|k| k.slot.id);
                        let oldest = oldest.expect("some are pending");
                        (oldest.pending, oldest.displaced) = (false, true);
                        (refused, reached[1]) = (refused + 1, reached[1] + 1);
                    }
                }
                n if n < 8 && !all.is_empty() => drop(all.swap_remove(below(all.len()))),
                _ if !all.is_empty() => {
                    let some = below(all.len());
                    all[some].slot.established();
                    all[some].pending = false;
                }
                _ => {}
            }
            for known in &all {
                let name = format!("{}#{}", homes[known.home], known.ordinal);
                assert_eq!(known.slot.fallback_name(), name);
                assert_eq!(known.slot.displaced.is_cancelled(), known.displaced);
            }
            assert_eq!(
                (stats.get(Stat::ConnectionCurrent), stats.get(Stat::ConnectionRefused)),
                (all.len() as u64, refused)
            );
            assert_eq!(limit.lock().pending.len(), all.iter().filter(|k| k.pending).count());
        }
        assert!(reached.iter().all(|times| *times > 100), "{reached:?}");
    }
}
