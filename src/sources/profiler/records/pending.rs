//! Calls whose names have not arrived yet. Agents send calls up to one flush cycle before the words
//! that name them (docs/protocols/java-profiler.md B.2), so the event records of such calls wait
//! here, within limits of time and memory. Counters do not wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::call_record::PendingCall;
use crate::model::Memory;
use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::limits;

/// Shortest time between two searches for calls that have names by now, unless many calls have
/// arrived since. Otherwise an agent that sends single words would keep a worker busy.
const SEARCH_EVERY: Duration = Duration::from_millis(100);

/// Memory of the pending calls of all pods.
#[derive(Debug, Default)]
pub(crate) struct PendingBudget(AtomicUsize, Arc<Memory>);

impl PendingBudget {
    /// A budget within the memory that all connections charge.
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Self(AtomicUsize::new(0), Arc::clone(memory))
    }

    /// Whether memory is short: pending calls are emitted early, before a connection must end for
    /// lack of memory.
    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) > limits::ALL_PENDING.min(self.1.limit() / 8)
            || self.1.over() > 0
    }

    /// Bytes that one pod may have pending.
    fn most(&self) -> usize {
        limits::PENDING.min(self.1.peer_limit() / 2)
    }

    /// Bytes in use.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls of one pod that wait for names, oldest first.
#[derive(Debug)]
pub(crate) struct PendingCalls {
    calls: VecDeque<(Duration, PendingCall)>,
    bytes: usize,
    budget: Arc<PendingBudget>,
    /// Words have arrived since the last search.
    new_words: bool,
    /// Earliest time of the next search.
    next_search: Duration,
    /// Calls since the last search.
    pushed: usize,
}

impl PendingCalls {
    pub(crate) const fn new(budget: Arc<PendingBudget>) -> Self {
        Self {
            calls: VecDeque::new(),
            bytes: 0,
            budget,
            new_words: false,
            next_search: Duration::ZERO,
            pushed: 0,
        }
    }

    /// Adds a call that lacks a name.
    pub(crate) fn push(&mut self, now: Duration, call: &PendingCall) {
        let cost = cost(call);
        self.bytes += cost;
        self.budget.0.fetch_add(cost, Ordering::Relaxed);
        self.pushed += 1;
        self.calls.push_back((now + limits::PATIENCE, call.clone()));
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        let spare = self.calls.capacity() - self.calls.len();
        self.bytes + spare * size_of::<(Duration, PendingCall)>()
    }

    /// Handles a new word: the next [`release`](Self::release) searches for named calls.
    pub(crate) const fn word(&mut self) {
        self.new_words = true;
    }

    /// Emits the calls that have all names by now, then those that have waited for
    /// [`limits::PATIENCE`], then the oldest while memory is short. `all`: emits every call,
    /// because the connection ends.
    pub(crate) fn release(
        &mut self,
        now: Duration,
        words: &Dictionary,
        all: bool,
        mut emit: impl FnMut(&PendingCall),
    ) {
        if self.calls.is_empty() {
            return;
        }
        let before = self.bytes;
        let many = self.is_full() && self.pushed > self.calls.len() / 8;
        if self.new_words && (now >= self.next_search || many || all) {
            (self.new_words, self.next_search, self.pushed) = (false, now + SEARCH_EVERY, 0);
            let bytes = &mut self.bytes;
            self.calls.retain(|(_, call)| {
                let named = call.is_named(words);
                if named {
                    *bytes -= cost(call);
                    emit(call);
                }
                !named
            });
        }
        let emitted = before - self.bytes;
        self.budget.0.fetch_sub(emitted, Ordering::Relaxed);
        while let Some((until, call)) = self.calls.front()
            && (all || *until <= now || self.is_full())
        {
            emit(call);
            let cost = cost(call);
            self.bytes -= cost;
            self.budget.0.fetch_sub(cost, Ordering::Relaxed);
            self.calls.pop_front();
        }
        if self.calls.capacity() / 4 > self.calls.len() {
            // Names are usually late only at the start of a connection.
            self.calls.shrink_to(2 * self.calls.len());
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > self.budget.most()
            || self.bytes > limits::PENDING_LEAST && self.budget.is_over()
    }
}

impl Drop for PendingCalls {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory of a pending call, in bytes.
fn cost(call: &PendingCall) -> usize {
    /// Bytes of an allocation besides its content.
    const OVERHEAD: usize = 16;
    let heap = |bytes: usize| if bytes == 0 { 0 } else { bytes + OVERHEAD };
    size_of::<(Duration, PendingCall)>()
        + heap(call.text.len())
        + heap(call.params.len() * size_of::<(u32, u32)>())
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
mod tests {
    use super::*;
    use crate::sources::profiler::dictionary::interner::Interner;
    use crate::sources::profiler::streams::scan::Text;

    fn words(known: &[u32]) -> Dictionary {
        let mut words = Dictionary::new(Arc::new(Interner::new(1 << 20)));
        known.iter().for_each(|id| assert!(words.put(Some(*id), Text::new(&[0, b'w'], 1)).1));
        words
    }

    fn call(method: u32) -> PendingCall {
        PendingCall {
            method,
            text: "x".repeat(1000),
            params: vec![(method, 1000)],
            ..PendingCall::default()
        }
    }

    fn released(pending: &mut PendingCalls, now: u64, known: &[u32], all: bool) -> Vec<u32> {
        let mut emitted = Vec::new();
        pending.release(Duration::from_secs(now), &words(known), all, |e| emitted.push(e.method));
        emitted
    }

    #[test]
    fn those_that_have_names_go_first_and_others_when_they_have_waited() {
        let budget = Arc::new(PendingBudget::default());
        let mut pending = PendingCalls::new(Arc::clone(&budget));
        for method in [1, 2, 3] {
            pending.push(Duration::ZERO, &call(method));
        }
        assert!(released(&mut pending, 1, &[2], false).is_empty(), "no word has come");
        pending.word();
        assert_eq!(released(&mut pending, 1, &[2], false), [2]);
        pending.word();
        assert!(released(&mut pending, 1, &[2, 3], false).is_empty(), "not again at once");
        assert_eq!(released(&mut pending, 2, &[2, 3], false), [3]);
        assert!(budget.bytes() > 1000 && released(&mut pending, 10, &[], false).is_empty());
        assert_eq!(released(&mut pending, 11, &[], false), [1]);
        assert_eq!((budget.bytes(), pending.bytes), (0, 0));
        pending.push(Duration::ZERO, &call(1));
        assert_eq!(released(&mut pending, 11, &[], true), [1]);
    }

    #[test]
    fn when_there_is_no_room_the_named_make_it_and_then_the_oldest() {
        let budget = Arc::new(PendingBudget::default());
        let mut pending = PendingCalls::new(Arc::clone(&budget));
        let fill = |pending: &mut PendingCalls| {
            let mut pushed = 0;
            while !pending.is_full() {
                pending.push(Duration::ZERO, &call(if pushed % 2 == 0 { 1 } else { 2 }));
                pushed += 1;
            }
            pushed
        };
        let pushed = fill(&mut pending);
        assert!(pushed > 50_000, "{pushed}");
        pending.word();
        let emitted = released(&mut pending, 1, &[2], false);
        assert!(
            emitted.iter().all(|m| *m == 2) && emitted.len() == pushed / 2,
            "{}",
            emitted.len()
        );
        fill(&mut pending);
        assert_eq!(released(&mut pending, 1, &[2], false), [1], "no more than it takes");
        let mut others: Vec<_> = (0..8).map(|_| PendingCalls::new(Arc::clone(&budget))).collect();
        for _ in 0..20_000 {
            for other in &mut others {
                other.push(Duration::ZERO, &call(3));
                other.release(Duration::ZERO, &words(&[]), false, |_| ());
            }
        }
        assert!(budget.bytes() <= limits::ALL_PENDING + 10_000, "{}", budget.bytes());
        assert!(others.iter().all(|o| o.bytes >= limits::PENDING_LEAST), "each has a little");
        drop(others);
        assert_eq!(released(&mut pending, 1, &[], true).len(), pushed - 1);
        assert_eq!((budget.bytes(), pending.calls.capacity()), (0, 0), "memory is given back");
    }
}
