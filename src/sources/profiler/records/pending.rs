//! Calls whose names have not come yet, on their way to event records: they wait for a flush cycle
//! (spec B.2), as far as memory goes. What is counted of them does not wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::call_record::PendingCall;
use crate::model::Memory;
use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::limits;

/// Longest wait for names: agents flush every 5 s, silent ones every 10 s.
pub(crate) const PATIENCE: Duration = Duration::from_secs(11);
/// All are looked at for names at most so often, unless many more have come: an agent that sends
/// single words would keep a worker busy.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Bytes that calls of all pods may take while they wait.
#[derive(Debug, Default)]
pub(crate) struct PendingBudget(AtomicUsize, Arc<Memory>);

impl PendingBudget {
    /// Within a budget of memory, which connections charge for all that they hold.
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Self(AtomicUsize::new(0), Arc::clone(memory))
    }

    /// Calls wait rather less long than that their connection ends for want of memory.
    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) > limits::ALL_WAITING.min(self.1.limit() / 8)
            || self.1.over() > 0
    }

    /// Bytes that one pod may have.
    fn most(&self) -> usize {
        limits::WAITING.min(self.1.peer_limit() / 2)
    }

    /// Bytes that are taken.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls that wait for names, oldest first.
#[derive(Debug)]
pub(crate) struct PendingCalls {
    calls: VecDeque<(Duration, PendingCall)>,
    bytes: usize,
    budget: Arc<PendingBudget>,
    /// Dictionary have come since all were looked at, which may be done again from then on, or once so
    /// many more have come.
    words: bool,
    look: Duration,
    pushed: usize,
}

impl PendingCalls {
    pub(crate) const fn new(budget: Arc<PendingBudget>) -> Self {
        Self {
            calls: VecDeque::new(),
            bytes: 0,
            budget,
            words: false,
            look: Duration::ZERO,
            pushed: 0,
        }
    }

    /// A call whose names have not all come.
    pub(crate) fn push(&mut self, now: Duration, entry: &PendingCall) {
        let cost = cost(entry);
        self.bytes += cost;
        self.budget.0.fetch_add(cost, Ordering::Relaxed);
        self.pushed += 1;
        self.calls.push_back((now + PATIENCE, entry.clone()));
    }

    /// Bytes that they take.
    pub(crate) fn memory(&self) -> usize {
        let spare = self.calls.capacity() - self.calls.len();
        self.bytes + spare * size_of::<(Duration, PendingCall)>()
    }

    /// A word has come: some may have their names now.
    pub(crate) const fn word(&mut self) {
        self.words = true;
    }

    /// Tells those that have their names by now, wherever they stand; then, of the others, those
    /// that have waited long enough, and the oldest while there is no room. `all`: nothing more
    /// comes.
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
        if self.words && (now >= self.look || many || all) {
            (self.words, self.look, self.pushed) = (false, now + LOOK_EVERY, 0);
            let bytes = &mut self.bytes;
            self.calls.retain(|(_, entry)| {
                let named = entry.is_named(words);
                if named {
                    *bytes -= cost(entry);
                    emit(entry);
                }
                !named
            });
        }
        let told = before - self.bytes;
        self.budget.0.fetch_sub(told, Ordering::Relaxed);
        while let Some((until, entry)) = self.calls.front()
            && (all || *until <= now || self.is_full())
        {
            emit(entry);
            let cost = cost(entry);
            self.bytes -= cost;
            self.budget.0.fetch_sub(cost, Ordering::Relaxed);
            self.calls.pop_front();
        }
        if self.calls.capacity() / 4 > self.calls.len() {
            // As a rule names are late only at the start of a connection.
            self.calls.shrink_to(2 * self.calls.len());
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > self.budget.most()
            || self.bytes > limits::WAITING_LEAST && self.budget.is_over()
    }
}

impl Drop for PendingCalls {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes that it takes to let a call wait.
fn cost(entry: &PendingCall) -> usize {
    /// Of an allocation.
    const OVERHEAD: usize = 16;
    let heap = |bytes: usize| if bytes == 0 { 0 } else { bytes + OVERHEAD };
    size_of::<(Duration, PendingCall)>()
        + heap(entry.text.len())
        + heap(entry.params.len() * size_of::<(u32, u32)>())
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

    fn entry(method: u32) -> PendingCall {
        PendingCall {
            method,
            text: "x".repeat(1000),
            params: vec![(method, 1000)],
            ..PendingCall::default()
        }
    }

    fn released(waiting: &mut PendingCalls, now: u64, known: &[u32], all: bool) -> Vec<u32> {
        let mut told = Vec::new();
        waiting.release(Duration::from_secs(now), &words(known), all, |e| told.push(e.method));
        told
    }

    #[test]
    fn those_that_have_names_go_first_and_others_when_they_have_waited() {
        let budget = Arc::new(PendingBudget::default());
        let mut waiting = PendingCalls::new(Arc::clone(&budget));
        for method in [1, 2, 3] {
            waiting.push(Duration::ZERO, &entry(method));
        }
        assert!(released(&mut waiting, 1, &[2], false).is_empty(), "no word has come");
        waiting.word();
        assert_eq!(released(&mut waiting, 1, &[2], false), [2]);
        waiting.word();
        assert!(released(&mut waiting, 1, &[2, 3], false).is_empty(), "not again at once");
        assert_eq!(released(&mut waiting, 2, &[2, 3], false), [3]);
        assert!(budget.bytes() > 1000 && released(&mut waiting, 10, &[], false).is_empty());
        assert_eq!(released(&mut waiting, 11, &[], false), [1]);
        assert_eq!((budget.bytes(), waiting.bytes), (0, 0));
        waiting.push(Duration::ZERO, &entry(1));
        assert_eq!(released(&mut waiting, 11, &[], true), [1]);
    }

    #[test]
    fn when_there_is_no_room_the_named_make_it_and_then_the_oldest() {
        let budget = Arc::new(PendingBudget::default());
        let mut waiting = PendingCalls::new(Arc::clone(&budget));
        let fill = |waiting: &mut PendingCalls| {
            let mut pushed = 0;
            while !waiting.is_full() {
                waiting.push(Duration::ZERO, &entry(if pushed % 2 == 0 { 1 } else { 2 }));
                pushed += 1;
            }
            pushed
        };
        let pushed = fill(&mut waiting);
        assert!(pushed > 50_000, "{pushed}");
        waiting.word();
        let told = released(&mut waiting, 1, &[2], false);
        assert!(told.iter().all(|m| *m == 2) && told.len() == pushed / 2, "{}", told.len());
        fill(&mut waiting);
        assert_eq!(released(&mut waiting, 1, &[2], false), [1], "no more than it takes");
        let mut others: Vec<_> = (0..8).map(|_| PendingCalls::new(Arc::clone(&budget))).collect();
        for _ in 0..20_000 {
            for other in &mut others {
                other.push(Duration::ZERO, &entry(3));
                other.release(Duration::ZERO, &words(&[]), false, |_| ());
            }
        }
        assert!(budget.bytes() <= limits::ALL_WAITING + 10_000, "{}", budget.bytes());
        assert!(others.iter().all(|o| o.bytes >= limits::WAITING_LEAST), "each has a little");
        drop(others);
        assert_eq!(released(&mut waiting, 1, &[], true).len(), pushed - 1);
        assert_eq!((budget.bytes(), waiting.calls.capacity()), (0, 0), "memory is given back");
    }
}
