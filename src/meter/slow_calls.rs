//! Which calls of a service are the slowest of a window of time, whichever of its peers has them, and the memory
//! of what waits for the end of the window.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::services::Services;
use crate::model::{Memory, Purpose, TreeRules};

/// A window of time.
const WINDOW: Duration = Duration::from_secs(30);
/// Windows that are remembered: a call is decided at the latest when the window behind its own ends. Their calls are
/// not charged: 16 bytes each of at most 100 in a window (`[trees]`).
const WINDOWS: usize = 3;
/// Bytes that wait in one source.
const ALL: usize = 16 << 20;

/// The services of one source.
#[derive(Debug)]
pub struct SlowCalls {
    rules: RwLock<TreeRules>,
    memory: Arc<Memory>,
    /// Charged bytes.
    bytes: AtomicUsize,
    services: Services<SlowService>,
}

/// The slowest calls of one service.
#[derive(Debug, Default)]
pub struct SlowService(Mutex<Windows>);

#[derive(Debug, Default)]
struct Windows {
    /// Number of a window, and durations and numbers of its slowest calls.
    windows: VecDeque<(u64, Vec<(u64, u64)>)>,
    next: u64,
}

/// A call that was among the slowest when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    window: u64,
    number: u64,
}

impl Ticket {
    /// The end of its window.
    #[must_use]
    pub fn decided(self) -> Duration {
        WINDOW * u32::try_from(self.window + 1).unwrap_or(u32::MAX)
    }
}

impl SlowCalls {
    /// No services yet; what waits is charged to `memory`.
    #[must_use]
    pub fn new(memory: &Arc<Memory>) -> Self {
        Self {
            rules: RwLock::default(),
            memory: Arc::clone(memory),
            bytes: AtomicUsize::new(0),
            services: Services::default(),
        }
    }

    /// What holds now.
    #[must_use]
    pub fn rules(&self) -> TreeRules {
        *self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what holds from now on.
    pub fn set_rules(&self, rules: TreeRules) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// The service of this name; `None`: there are too many services.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Arc<SlowService>> {
        self.services.of(name, SlowService::default)
    }

    /// Charges bytes of a peer that then has `holds`; `false`: there is no room.
    #[must_use]
    pub fn take(&self, more: usize, holds: usize) -> bool {
        let fits = self.bytes.fetch_add(more, Ordering::Relaxed).saturating_add(more) <= ALL
            && self.memory.take(Purpose::Trees, more, holds);
        if !fits {
            self.bytes.fetch_sub(more, Ordering::Relaxed);
        }
        fits
    }

    /// Releases charged bytes.
    pub fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.give_back(Purpose::Trees, bytes);
    }
}

impl SlowService {
    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call has ended; `None`: as many of its window took as long.
    pub fn offer(&self, now: Duration, duration: u64, count: usize) -> Option<Ticket> {
        let window = now.as_secs() / WINDOW.as_secs();
        let Windows { windows, next } = &mut *self.windows();
        // Peers have the time of their last turn, which may be of the window before.
        if windows.iter().all(|(of, _)| *of < window) {
            windows.push_back((window, Vec::new()));
            if windows.len() > WINDOWS {
                windows.pop_front();
            }
        }
        let (_, slowest) = windows.iter_mut().find(|(of, _)| *of == window)?;
        if slowest.len() >= count {
            let least = slowest
                .iter()
                .enumerate()
                .min_by_key(|(_, call)| (call.0, std::cmp::Reverse(call.1)))?;
            let (at, (took, _)) = (least.0, *least.1);
            if took >= duration {
                return None;
            }
            slowest.swap_remove(at);
        }
        *next += 1;
        slowest.push((duration, *next));
        Some(Ticket { window, number: *next })
    }

    /// Whether a call that ends now could be among the slowest.
    #[must_use]
    pub fn wants(&self, now: Duration, duration: u64, count: usize) -> bool {
        let window = now.as_secs() / WINDOW.as_secs();
        let windows = &self.windows().windows;
        match windows.iter().find(|(of, _)| *of == window) {
            Some((_, slowest)) => {
                slowest.len() < count || slowest.iter().any(|(took, _)| *took < duration)
            }
            None => windows.iter().all(|(of, _)| *of < window),
        }
    }

    /// No slower call has taken its place.
    #[must_use]
    pub fn holds(&self, ticket: Ticket) -> bool {
        let windows = &self.windows().windows;
        let of = windows.iter().find(|(window, _)| *window == ticket.window);
        of.is_some_and(|(_, slowest)| slowest.iter().any(|(_, number)| *number == ticket.number))
    }
}

#[cfg(test)]
mod tests {
    use super::super::services::SERVICES;
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_slowest_of_a_window_hold_their_places() {
        let calls = SlowCalls::new(&Arc::default());
        let service = calls.of("s").expect("room");
        let offer = |second, duration| service.offer(at(second), duration, 3);
        let tickets: Vec<_> = (0..1000_u64)
            .filter_map(|n| Some((n * 7919 % 1000, offer(29, n * 7919 % 1000)?)))
            .collect();
        assert!(tickets.len() < 60, "{}", tickets.len());
        let held = |tickets: &[(u64, Ticket)]| {
            let mut held: Vec<_> = tickets
                .iter()
                .filter(|(_, ticket)| service.holds(*ticket))
                .map(|(n, _)| *n)
                .collect();
            held.sort_unstable();
            held
        };
        assert_eq!(held(&tickets), [997, 998, 999]);
        let wants = |second, duration| service.wants(at(second), duration, 3);
        assert_eq!(
            [wants(29, 997), wants(29, 998), wants(30, 1), wants(59, 1)],
            [false, true, true, true]
        );
        assert_eq!(offer(29, 997), None, "as long as another one");
        let next = offer(30, 1).expect("a window of its own");
        assert_eq!(next.decided(), at(60));
        assert!(service.holds(next) && held(&tickets).len() == 3);
        let late = offer(29, 5000).expect("a peer of which the turn is older");
        assert!(service.holds(late) && held(&tickets).len() == 2);
        (2..5).for_each(|window| assert!(offer(30 * window, 1).is_some()));
        assert!(held(&tickets).is_empty() && !service.holds(next), "decided long ago");
        assert!(!wants(29, 9999) && !wants(59, 9999));
    }

    #[test]
    fn services_and_memory_are_bounded() {
        let memory = Arc::new(Memory::default());
        let calls = SlowCalls::new(&memory);
        let kept: Vec<_> = (0..SERVICES).map(|n| calls.of(&n.to_string())).collect();
        assert!(kept.iter().all(Option::is_some) && calls.of("more").is_none());
        assert!(calls.take(ALL, 1) && !calls.take(1, 1));
        assert_eq!(memory.held(Purpose::Trees), ALL);
        calls.give_back(ALL);
        assert!(calls.take(1, 1));
        drop(kept);
        assert!(calls.of("more").is_some());
        memory.set_limits(4096, 0, 4096);
        assert!(!calls.take(4096, 4096), "the memory of all peers");
        assert_eq!(memory.held(Purpose::Trees), 1);
    }
}
