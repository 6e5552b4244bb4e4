//! Percentiles over all peers of a service. Percentiles of peers cannot be added, so the durations
//! of all are in common histograms, one [`MergedLatency`] for each service of a source.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::services::Services;
use super::window::Window;
use crate::contract::Peer;
use crate::model::{Charge, HeapSize, Memory, Purpose, RowItem};

/// Least time between two reports of one service, however many peers report to it: they tick every
/// second, not all at once.
const PACE: Duration = Duration::from_millis(900);

/// The services of one source.
#[derive(Debug)]
pub struct MergedLatencies {
    memory: Arc<Memory>,
    services: Services<MergedLatency>,
}

/// The durations of all peers of one service in the last minute, in the unit of the peers'.
#[derive(Debug)]
pub struct MergedLatency(Mutex<Shared>);

#[derive(Debug)]
struct Shared {
    window: Window,
    charge: Charge,
    /// Time of the next report.
    next: Duration,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MergedLatencies {
    /// No services yet. Their histograms are charged to `memory`.
    #[must_use]
    pub fn new(memory: &Arc<Memory>) -> Self {
        Self { memory: Arc::clone(memory), services: Services::default() }
    }

    /// The service of this name; `None`: there are too many services.
    pub fn of(&self, name: &str) -> Option<Arc<MergedLatency>> {
        self.services.of(name, || {
            MergedLatency(Mutex::new(Shared {
                window: Window::default(),
                charge: Charge::new(Arc::clone(&self.memory), Purpose::Definitions),
                next: Duration::ZERO,
            }))
        })
    }
}

impl MergedLatency {
    /// Adds the durations of one peer.
    pub(super) fn add(&self, now: Duration, durations: &Histogram<u32>) {
        let mut shared = lock(&self.0);
        shared.window.add(now, durations);
        let memory = shared.window.heap_size();
        shared.charge.set(memory);
    }

    /// Sets the percentiles of the service's row if they may have changed since any peer did so, or
    /// removes them when no durations are left. `items`: p50, p95, p99 and the longest; `unit`:
    /// nanoseconds of the durations' unit. Each peer calls this about once a second; it is told under the
    /// lock of the service, so that the last report is the newest.
    pub fn report(
        &self,
        now: Duration,
        (slot, items): (u32, [RowItem; 4]),
        unit: u64,
        peer: &mut Peer,
    ) {
        let mut shared = lock(&self.0);
        if now < shared.next {
            return;
        }
        let Some(percentiles) = shared.window.changed(now) else { return };
        shared.next = now + PACE;
        let memory = shared.window.heap_size();
        shared.charge.set(memory);
        let values = percentiles.map(|p| [p.p50, p.p95, p.p99, p.max]);
        for (at, item) in items.into_iter().enumerate() {
            let value = values.as_ref().and_then(|values| values.get(at));
            peer.row_show(slot, item, value.map(|value| value.saturating_mul(unit)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::services::SERVICES;
    use super::*;
    use crate::catalogue::{InDomDef, SourceTable};
    use crate::contract::Recorded;
    use crate::meter::{Latency, Percentiles};
    use crate::model::TableId;

    type Peer = Latency<{ 1 << 40 }>;

    const TABLE: SourceTable =
        SourceTable::new("toy", 64, InDomDef { serial: 1, oneline: "", help: "" });
    const ITEMS: [RowItem; 4] = [item(5), item(6), item(7), item(8)];

    const fn item(n: u16) -> RowItem {
        RowItem::new(TableId::new(0), n)
    }

    /// The percentiles reported at a time in ms; `Some(None)`: that there are none.
    fn at_ms(service: &MergedLatency, ms: u64) -> Option<Option<Percentiles>> {
        let mut peer = Recorded::new(&TABLE);
        peer.row(ITEMS[0].table(), 0, Some("s"));
        peer.log_mut().updates = 0;
        service.report(Duration::from_millis(ms), (0, ITEMS), 1000, &mut peer);
        let updates = peer.log().updates;
        assert!([0, ITEMS.len()].contains(&updates));
        let values = ITEMS.map(|item| peer.cell(item, "s").map(|value| value / 1000));
        match values {
            _ if updates == 0 => None,
            [Some(p50), Some(p95), Some(p99), Some(max)] => {
                Some(Some(Percentiles { p50, p95, p99, max }))
            }
            [None, None, None, None] => Some(None),
            _ => panic!("{values:?}"),
        }
    }

    fn reported(service: &MergedLatency, at: u64) -> Option<Option<Percentiles>> {
        at_ms(service, 1000 * at)
    }

    #[test]
    fn percentiles_are_those_of_all_calls_and_not_of_peers() {
        let services = MergedLatencies::new(&Arc::default());
        let service = services.of("shop/orders").expect("room");
        // 20 peers with different data.
        let mut peers: Vec<Peer> = (0..20).map(|_| Peer::default()).collect();
        let mut all = Vec::new();
        for (n, peer) in (1..).zip(&mut peers) {
            for call in 1..=50 * n {
                let duration = call * call * (21 - n) % 90_000;
                all.push(duration);
                peer.record(duration);
            }
            peer.changed(Duration::from_secs(n), Some(&service));
        }
        all.sort_unstable();
        let exact = |q: usize| all[(all.len() * q).div_ceil(100) - 1];
        let p = reported(&service, 20).flatten().expect("calls");
        for (got, exact) in [(p.p50, exact(50)), (p.p95, exact(95)), (p.p99, exact(99))] {
            assert!(got >= exact && got <= exact + exact / 100 + 1, "{got} {exact}");
        }
        assert_eq!(reported(&service, 20), None, "not twice in a second");
        assert_eq!(reported(&service, 21), None, "nothing is new");
        // The slices of the first 9 s go first, the last at 20 + 60 s.
        assert!(reported(&service, 60).is_some_and(|left| left.is_some()));
        assert!(reported(&service, 79).is_some_and(|left| left.is_some()));
        assert_eq!(reported(&service, 81), Some(None));
    }

    #[test]
    fn a_report_that_came_too_early_is_made_up_for() {
        let services = MergedLatencies::new(&Arc::default());
        let service = services.of("s").expect("room");
        let mut peer = Peer::default();
        let mut call = |ms, duration| {
            peer.record(duration);
            peer.changed(Duration::from_millis(ms), Some(&service));
            at_ms(&service, ms).flatten().map(|p| p.max)
        };
        assert_eq!([call(1000, 5), call(1500, 9), call(2000, 1)], [Some(5), None, Some(9)]);
    }

    #[test]
    fn services_go_with_their_last_peer() {
        let memory = Arc::new(Memory::default());
        let services = MergedLatencies::new(&memory);
        let kept: Vec<_> = (0..SERVICES).map(|n| services.of(&n.to_string())).collect();
        assert!(kept.iter().all(Option::is_some));
        assert!(services.of("one more").is_none());
        let again = services.of("7").expect("known");
        assert!(kept[7].as_ref().is_some_and(|seven| Arc::ptr_eq(seven, &again)));
        let mut peer = Peer::default();
        peer.record(3);
        peer.changed(Duration::ZERO, Some(&again));
        assert!(memory.held(Purpose::Definitions) > 0);
        drop((kept, again));
        assert_eq!(memory.held(Purpose::Definitions), 0);
        assert!(services.of("one more").is_some());
        assert_eq!(services.services.len(), 1);
        let fresh = services.of("7").expect("room");
        assert_eq!(reported(&fresh, 1), None);
    }
}
