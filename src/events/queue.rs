//! One queue of events as they came, not yet packed: what `pmdaEventNewQueue` makes. A decoder packs them for each client
//! when it fetches. Unlike libpcp_pmda's, cursors outlive a fetch, what was missed is counted, and a client that ends gives
//! up its claim (specs/pcp-events.md section 6 lists the defects).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Says which events a client wants: `true` for those.
pub type QueueFilter = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// An event with the time `T` that the producer gave it.
#[derive(Debug)]
pub struct Event<T> {
    /// When.
    pub time: T,
    /// Its bytes; `None` for one that was larger than the queue may be: it is missed by all.
    pub data: Option<Box<[u8]>>,
}

/// A client's interest in a queue.
#[derive(Default)]
pub(super) struct Reader {
    /// Sequence number of the first event not yet seen; `None` before the first fetch.
    pub(super) cursor: Option<u64>,
    /// Events missed and not yet told.
    pub(super) missed: u64,
    pub(super) access: bool,
    pub(super) filter: Option<QueueFilter>,
}

impl Reader {
    /// A filter stands for access: it decides on each event itself (as in C).
    pub(super) const fn granted(&self) -> bool {
        self.access || self.filter.is_some()
    }
}

/// The events [first, first + held) and who reads them.
pub(super) struct Queue<T> {
    pub(super) name: String,
    max_memory: usize,
    reserved: u32,
    events: VecDeque<Arc<Event<T>>>,
    first: u64,
    pub(super) memory: usize,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) readers: HashMap<i32, Reader>,
    pub(super) shutdown: bool,
}

/// What a client has not yet seen.
pub(super) struct Unseen<T> {
    pub(super) events: Vec<Arc<Event<T>>>,
    /// Sequence number of the first of them.
    pub(super) from: u64,
    pub(super) missed: u64,
}

impl<T> Queue<T> {
    pub(super) fn new(name: &str, max_memory: usize, reserved: u32) -> Self {
        Self {
            name: name.into(),
            max_memory,
            reserved,
            events: VecDeque::new(),
            first: 0,
            memory: 0,
            count: 0,
            bytes: 0,
            readers: HashMap::new(),
            shutdown: false,
        }
    }

    fn active(&self) -> impl Iterator<Item = (&Reader, u64)> {
        self.readers.values().filter_map(|r| Some((r, r.cursor?)))
    }

    /// Clients that have fetched, and those that were announced when the queue was made.
    pub(super) fn clients(&self) -> u32 {
        self.reserved.saturating_add(u32::try_from(self.active().count()).unwrap_or(u32::MAX))
    }

    /// Keeps an event until all clients have seen it or memory runs out. Without clients it is counted only.
    pub(super) fn append(&mut self, data: &[u8], time: T) {
        self.count += 1;
        self.bytes += data.len() as u64;
        let bytes = data.len();
        let large = bytes > self.max_memory;
        while !large && self.memory + bytes > self.max_memory && !self.events.is_empty() {
            self.drop_first();
        }
        if self.clients() > 0 {
            let data = (!large).then(|| Box::from(data));
            self.memory += if large { 0 } else { bytes };
            self.events.push_back(Arc::new(Event { time, data }));
        }
    }

    fn drop_first(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.memory -= event.data.as_ref().map_or(0, |d| d.len());
            self.first += 1;
        }
    }

    /// What `context` has not seen, from its cursor on, or from the oldest event at its first fetch; `None` without access.
    pub(super) fn unseen(&mut self, context: i32) -> Option<Unseen<T>> {
        let first = self.first;
        let reader = self.readers.entry(context).or_default();
        let cursor = *reader.cursor.get_or_insert(first);
        if !reader.granted() {
            return None;
        }
        let missed = std::mem::replace(&mut reader.missed, 0);
        let from = cursor.max(first);
        let skip = usize::try_from(from - first).unwrap_or(usize::MAX);
        Some(Unseen { events: self.events.iter().skip(skip).cloned().collect(), from, missed: missed + from - cursor })
    }

    /// `context` has seen everything before `seq`. Events that all have seen are given up.
    pub(super) fn seen(&mut self, context: i32, seq: u64) {
        if let Some(reader) = self.readers.get_mut(&context) {
            reader.cursor = Some(seq);
        }
        self.give_up();
    }

    /// Access comes late: what is held is for this client too, and nothing is missed.
    pub(super) fn grant(&mut self, context: i32, change: impl FnOnce(&mut Reader)) {
        let first = self.first;
        let reader = self.readers.entry(context).or_default();
        let before = reader.granted();
        change(reader);
        if reader.granted()
            && !before
            && let Some(cursor) = &mut reader.cursor
        {
            *cursor = first.max(*cursor);
        }
    }

    /// A client has ended; its filter, and `true` when the queue may go too.
    pub(super) fn leave(&mut self, context: i32) -> Option<(Option<QueueFilter>, bool)> {
        let reader = self.readers.remove(&context)?;
        self.give_up();
        Some((reader.filter, self.shutdown && self.active().next().is_none()))
    }

    /// No more clients are expected; `true` when there are none and the queue may go.
    pub(super) fn close(&mut self) -> bool {
        self.shutdown = true;
        self.reserved = 0;
        self.active().next().is_none()
    }

    fn give_up(&mut self) {
        if self.reserved > 0 {
            return;
        }
        let slowest = self.active().filter(|(r, _)| r.granted()).map(|(_, cursor)| cursor).min();
        // Clients without access wait for it; without any client nobody will ask.
        let until = match slowest {
            Some(cursor) => cursor,
            None if self.clients() > 0 => return,
            None => u64::MAX,
        };
        while self.first < until && !self.events.is_empty() {
            self.drop_first();
        }
    }
}
