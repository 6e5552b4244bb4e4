//! Calls whose names have not arrived yet. Agents send calls up to one flush cycle before the words
//! that name them (docs/protocols/java-profiler.md B.2), so the event records of such calls wait
//! here, within limits of time and memory; so do long calls, for the pauses that may have fallen into them.
//! Counters do not wait. [`PendingCall`] is the copy of a call that
//! such a record needs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::pack::cut_value;
use crate::model::{HeapSize, Memory};
use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::limits;
use crate::sources::profiler::streams::record::Call;

/// A call for an event record, with ids in place of words.
#[derive(Clone, Debug)]
pub(crate) struct PendingCall {
    /// Its numbers.
    pub(crate) numbers: Call<'static>,
    thread: Option<Arc<str>>,
    /// Ids of parameters and the ends of their values in `text`.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) text: String,
    /// The call is not counted yet.
    pub(crate) uncounted: bool,
}

crate::heap_size!(PendingCall { params, text });

impl Default for PendingCall {
    fn default() -> Self {
        let (params, text) = (Vec::new(), String::new());
        Self { numbers: Call::EMPTY, thread: None, params, text, uncounted: false }
    }
}

impl PendingCall {
    /// Replaces the content by `call`, reusing the memory.
    pub(crate) fn take(&mut self, call: &Call<'_>) {
        self.numbers = call.numbers();
        self.thread = call.thread_name.map(Arc::clone);
        self.params.clear();
        self.text.clear();
        for param in call.params.iter() {
            let start = self.text.len();
            param.value.push_to(&mut self.text);
            cut_value(&mut self.text, start);
            // `limits::CALL_TEXT` is far below 4 GiB.
            self.params.push((param.id, u32::try_from(self.text.len()).unwrap_or(u32::MAX)));
        }
        self.uncounted = false;
    }

    /// The call without its parameters.
    pub(crate) fn call(&self) -> Call<'_> {
        Call { thread_name: self.thread.as_ref(), ..self.numbers }
    }

    /// The ids of its parameters.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + Clone {
        self.params.iter().map(|(id, _)| *id)
    }

    /// Ids and values of its parameters.
    pub(crate) fn params(&self) -> impl Iterator<Item = (u32, &str)> + Clone {
        let mut start = 0;
        self.params.iter().map(move |(id, end)| {
            let end = *end as usize;
            let value = self.text.get(start..end).unwrap_or_default();
            start = end;
            (*id, value)
        })
    }

    /// All ids have words.
    pub(crate) fn is_named(&self, words: &Dictionary) -> bool {
        words.get(self.numbers.method).is_some()
            && self.params.iter().all(|(id, _)| words.get(*id).is_some())
    }
}

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
    /// Words or pauses have arrived since the last search.
    news: bool,
    /// Earliest time of the next search.
    next_search: Duration,
    /// Calls since the last search.
    pushed: usize,
}

impl HeapSize for PendingCalls {
    fn heap_size(&self) -> usize {
        let spare = self.calls.capacity() - self.calls.len();
        self.bytes + spare * size_of::<(Duration, PendingCall)>()
    }
}

impl PendingCalls {
    pub(crate) const fn new(budget: Arc<PendingBudget>) -> Self {
        Self {
            calls: VecDeque::new(),
            bytes: 0,
            budget,
            news: false,
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

    /// Handles a new word or pause: the next [`release`](Self::release) searches for calls of which all is known.
    pub(crate) const fn news(&mut self) {
        self.news = true;
    }

    /// Emits the calls of which all is known by now, then those that have waited for
    /// [`limits::PATIENCE`], then the oldest while memory is short. `all`: emits every call,
    /// because the connection ends.
    pub(crate) fn release(
        &mut self,
        now: Duration,
        all: bool,
        is_known: impl Fn(&PendingCall) -> bool,
        mut emit: impl FnMut(&PendingCall),
    ) {
        if self.calls.is_empty() {
            return;
        }
        let before = self.bytes;
        let many = self.is_full() && self.pushed > self.calls.len() / 8;
        if self.news && (now >= self.next_search || many || all) {
            (self.news, self.next_search, self.pushed) = (false, now + SEARCH_EVERY, 0);
            let bytes = &mut self.bytes;
            self.calls.retain(|(_, call)| {
                let known = is_known(call);
                if known {
                    *bytes -= cost(call);
                    emit(call);
                }
                !known
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
#[path = "tests/pending.rs"]
mod tests;
