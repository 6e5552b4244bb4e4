//! Sums of one pod: counters, histogram, percentiles and root methods. Counters are updated when a call
//! arrives; sums that depend on a name wait until the dictionary has it.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::contract::Peer;
use crate::meter::{Latency, MergedLatency, bucket_of, row_key};
use crate::model::{HeapSize, MetricItem, Now};
use crate::sources::profiler::dictionary::{Dictionary, KnownWord};
use crate::sources::profiler::metrics::ns;
use crate::sources::profiler::streams::record::Call;
use crate::sources::profiler::{limits, metrics as m};

/// Counters, histogram, latency and root methods of one connection.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    /// Sums of the calls of one read, by [`CALL_ITEMS`].
    calls: [u64; CALL_ITEMS.len()],
    pub(crate) methods: RootMethods,
    /// The last duration and the row of its bucket: most calls are as short as the one before.
    bucket: (u64, u32),
    latency: Latency<LONGEST>,
    /// The durations of all pods of the service.
    pub(crate) service: Option<Arc<MergedLatency>>,
    /// Number of calls by parameter and method, for parameters without a name yet: any may be
    /// `call.red` or `call.idle`.
    unnamed: HashMap<(u32, u32), u64, RandomState>,
}

crate::heap_size!(Accounting { methods, latency, unnamed });

/// The counters of calls.
const CALL_ITEMS: [MetricItem; 16] = [
    m::CALLS,
    m::ERRORS,
    m::IDLE,
    m::TIME,
    m::CPU,
    m::WAIT,
    m::QUEUE_WAIT,
    m::MEMORY,
    m::NESTED,
    m::TRANSACTIONS,
    m::FILE_READ,
    m::FILE_WRITTEN,
    m::NET_READ,
    m::NET_WRITTEN,
    m::LOG_WRITTEN,
    m::LOG_GENERATED,
];

impl Accounting {
    /// Counts a call. `params`: the ids of its parameters.
    #[inline]
    pub(crate) fn call(
        &mut self,
        call: &Call<'_>,
        params: impl Iterator<Item = u32>,
        marks: Marks,
        now: Now,
        words: &Dictionary,
        peer: &mut Peer,
    ) {
        let error = u64::from(marks.error);
        let more = [
            1,
            error,
            marks.idle.into(),
            ns(call.duration_ms),
            ns(call.cpu_ms),
            ns(call.wait_ms),
            ns(call.queue_wait_ms.into()),
            call.memory,
            call.calls.into(),
            call.transactions,
            call.file_read,
            call.file_written,
            call.net_read,
            call.net_written,
            call.logs_written.into(),
            call.logs_generated,
        ];
        self.calls.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        if self.bucket.0 != call.duration_ms {
            let bucket = bucket_of(&m::EDGES, call.duration_ms);
            self.bucket = (call.duration_ms, u32::try_from(bucket).unwrap_or_default());
        }
        peer.row_add(self.bucket.1, m::BUCKET_CALLS, 1);
        self.latency.record(call.duration_ms);
        let sums = [ns(call.duration_ms), 1, error, ns(call.cpu_ms), call.memory];
        self.methods.add(call.method, &sums, now.monotonic, words, peer);
        if !marks.named {
            self.count_unnamed(call.method, params, words);
        }
    }

    fn count_unnamed(
        &mut self,
        method: u32,
        params: impl Iterator<Item = u32>,
        words: &Dictionary,
    ) {
        let mut last = None;
        // The values of one parameter are next to each other.
        for id in params.filter(|id| words.get(*id).is_none()) {
            let key = (id, method);
            if last.replace(id) != Some(id)
                && (self.unnamed.len() < limits::UNNAMED || self.unnamed.contains_key(&key))
            {
                *self.unnamed.entry(key).or_default() += 1;
            }
        }
    }

    /// Handles a new word; `None`: a limit rejected it.
    pub(crate) fn word(
        &mut self,
        id: u32,
        word: Option<&str>,
        now: Now,
        words: &Dictionary,
        peer: &mut Peer,
    ) {
        self.methods.word(id, word, peer);
        if self.unnamed.is_empty() {
            return;
        }
        let (red, idle) =
            (words.id_of(KnownWord::Red) == Some(id), words.id_of(KnownWord::Idle) == Some(id));
        let Self { methods, unnamed, .. } = self;
        unnamed.retain(|(param, method), calls| {
            if *param != id {
                return true;
            }
            if red {
                peer.add(m::ERRORS, *calls);
                let sums = [0, 0, *calls, 0, 0];
                methods.add(*method, &sums, now.monotonic, words, peer);
            }
            if idle {
                peer.add(m::IDLE, *calls);
            }
            false
        });
    }

    /// The dictionary was reset: ids get other words.
    pub(crate) fn reset_dictionary(&mut self, peer: &mut Peer) {
        self.methods.reset_dictionary(peer);
        self.unnamed = HashMap::default();
    }

    /// Reports the sums of the calls of one read.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        for (item, sum) in CALL_ITEMS.into_iter().zip(&mut self.calls) {
            let more = std::mem::take(sum);
            if more > 0 {
                peer.add(item, more);
            }
        }
    }

    /// Shows the percentiles of the last minute if they have changed, of the pod and of its service.
    pub(crate) fn show_percentiles(&mut self, now: Now, peer: &mut Peer) {
        let items = [m::P50, m::P95, m::P99, m::MAX];
        match self.latency.changed(now.monotonic, self.service.as_deref()) {
            Some(Some(p)) => {
                for (item, ms) in items.into_iter().zip([p.p50, p.p95, p.p99, p.max]) {
                    peer.set(item, ns(ms));
                }
            }
            Some(None) => items.into_iter().for_each(|item| peer.unset(item)),
            None => {}
        }
        if let Some(service) = &self.service {
            let items = [m::SERVICE_P50, m::SERVICE_P95, m::SERVICE_P99, m::SERVICE_MAX];
            service.report(now.monotonic, (SERVICE, items), ns(1), peer);
        }
    }
}

/// Slot of the row of the pod's service.
const SERVICE: u32 = 0;
/// Slot of the row `other`; methods have slots from 1 on.
pub(crate) const REST: u32 = 0;
/// Methods whose slot is found without a search.
const RECENT: usize = 16;
/// Most slots of one connection; when there are no more, all are bound anew.
const SLOTS: u32 = 30_000;

/// Sums of one method's calls, by [`m::METHOD_ITEMS`].
pub(crate) type MethodSums = [u64; 5];

#[derive(Debug)]
struct Method {
    slot: u32,
    name: Arc<str>,
}

/// The root methods of one connection, with their rows. Few methods are roots.
#[derive(Debug, Default)]
pub(crate) struct RootMethods {
    by_id: HashMap<u32, Method, RandomState>,
    /// Ids and slots of methods used last, by the low bits of the id; [`REST`]: none.
    recent: [(u32, u32); RECENT],
    slots: u32,
    /// Sums of methods without a name, and the time when the wait for the name ends.
    unnamed: HashMap<u32, (Duration, MethodSums), RandomState>,
}

impl HeapSize for RootMethods {
    /// Words belong to the dictionary; the short names made of them count here.
    fn heap_size(&self) -> usize {
        const NAME: usize = 96;
        self.by_id.heap_size() + self.by_id.len() * NAME + self.unnamed.heap_size()
    }
}

impl RootMethods {
    /// Adds a call to its method. Without a name the sums wait for it.
    #[inline]
    pub(crate) fn add(
        &mut self,
        id: u32,
        more: &MethodSums,
        now: Duration,
        words: &Dictionary,
        peer: &mut Peer,
    ) {
        match self.recent.get(id as usize % RECENT) {
            Some((recent, slot)) if *recent == id && *slot != REST => tell(*slot, more, peer),
            _ => self.find_and_add(id, more, now, words, peer),
        }
    }

    #[inline(never)]
    fn find_and_add(
        &mut self,
        id: u32,
        more: &MethodSums,
        now: Duration,
        words: &Dictionary,
        peer: &mut Peer,
    ) {
        let slot = match self.by_id.get(&id) {
            Some(known) => known.slot,
            None => match words.get(id) {
                Some(word) => self.assign_row(id, word, peer),
                None if self.unnamed.len() < limits::UNNAMED || self.unnamed.contains_key(&id) => {
                    let (_, sums) = self
                        .unnamed
                        .entry(id)
                        .or_insert((now + limits::PATIENCE, MethodSums::default()));
                    return sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                }
                None => REST,
            },
        };
        self.remember(id, slot);
        tell(slot, more, peer);
    }

    /// The short name of a method that has a row.
    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.by_id.get(&id).map(|m| &*m.name)
    }

    /// Handles a new or rejected word: moves the sums that waited for it to its row.
    pub(crate) fn word(&mut self, id: u32, word: Option<&str>, peer: &mut Peer) {
        if self.unnamed.is_empty() {
            return;
        }
        let Some((_, sums)) = self.unnamed.remove(&id) else { return };
        let slot = match word {
            Some(word) => self.assign_row(id, word, peer),
            None => self.by_id.get(&id).map_or(REST, |m| m.slot),
        };
        tell(slot, &sums, peer);
    }

    /// Adds sums whose names have not arrived in time to `other`. `end`: adds all, because the
    /// connection ends.
    pub(crate) fn expire(&mut self, now: Duration, end: bool, peer: &mut Peer) {
        self.unnamed.retain(|_, (until, sums)| {
            let keep = !end && *until > now;
            if !keep {
                tell(REST, sums, peer);
            }
            keep
        });
        if self.unnamed.is_empty() && self.unnamed.capacity() > 0 {
            self.unnamed = HashMap::default();
        }
    }

    fn remember(&mut self, id: u32, slot: u32) {
        if let Some(recent) = self.recent.get_mut(id as usize % RECENT) {
            *recent = (id, slot);
        }
    }

    /// Gives a method with a name its row.
    fn assign_row(&mut self, id: u32, word: &str, peer: &mut Peer) -> u32 {
        let name = method_name(word);
        if self.slots >= SLOTS {
            peer.free_rows(m::METHODS);
            peer.row(m::METHODS, REST, None);
            (self.by_id, self.recent, self.slots) = Default::default();
        }
        self.slots += 1;
        let slot = self.slots;
        peer.row(m::METHODS, slot, Some(&name));
        self.by_id.insert(id, Method { slot, name: name.into() });
        self.remember(id, slot);
        slot
    }

    /// The dictionary was reset.
    pub(crate) fn reset_dictionary(&mut self, peer: &mut Peer) {
        self.expire(Duration::ZERO, true, peer);
        (self.by_id, self.recent) = (HashMap::default(), Default::default());
    }

    /// Frees memory that an idle connection does not need.
    pub(crate) fn shrink(&mut self) {
        self.by_id.shrink_to_fit();
    }
}

/// Adds to the sums of a row of methods.
#[inline]
fn tell(slot: u32, more: &MethodSums, peer: &mut Peer) {
    peer.row_add_all(slot, &m::METHOD_ITEMS, *more);
}

/// Longest duration in the histograms, in ms: a week. Longer calls count as this long.
const LONGEST: u64 = 7 * 24 * 3600 * 1000;

/// Found in one pass over the ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// All ids have words.
    pub(crate) named: bool,
    /// The call failed.
    pub(crate) error: bool,
    /// The call only waited.
    pub(crate) idle: bool,
}

impl Marks {
    /// Of a call with this method and these parameters.
    #[inline(always)]
    pub(crate) fn of(method: u32, params: impl Iterator<Item = u32>, words: &Dictionary) -> Self {
        let (red, idle) = (words.id_of(KnownWord::Red), words.id_of(KnownWord::Idle));
        let mut marks = Self { named: words.get(method).is_some(), error: false, idle: false };
        for id in params {
            marks.named &= words.get(id).is_some();
            marks.error |= red == Some(id);
            marks.idle |= idle == Some(id);
        }
        marks
    }
}

/// Bytes of the longest name.
const NAME_MAX: usize = 200;

/// `package.Class.method` of `returnType package.Class.method(argTypes) (Source.java:line) [jar]`
/// (docs/protocols/java-profiler.md B.2), without blanks; the whole word if it is not a method, `#` if that is empty: a row needs a name.
pub(crate) fn method_name(word: &str) -> String {
    row_key(method_part(word), NAME_MAX)
}

/// The part of a word that names the method.
pub(crate) fn method_part(word: &str) -> &str {
    let head = word.split('(').next().unwrap_or(word).trim_end();
    head.rsplit(' ').next().filter(|n| !n.is_empty()).unwrap_or(word)
}

/// The agent's own method whose calls report lost calls, every 60 s while there are any
/// (docs/protocols/java-profiler.md B.6).
pub(crate) fn is_loss_report(word: &str) -> bool {
    word.split('(').next().is_some_and(|method| method.ends_with(".ESC_CORRUPTED_CALLS.log"))
}

/// The name shown for an id without a word.
pub(crate) fn nameless(id: u32) -> String {
    let mut out = String::new();
    let _ = write!(out, "#{id}");
    out
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/accounting.rs"]
mod tests;
