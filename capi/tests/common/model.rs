//! The behaviour of queues in docs/design.md as a simple model: lists, no arena, no batches.

use std::collections::BTreeMap;

pub const EINVAL: i32 = -22;
const PATIENCE: u32 = 16;

/// An event: its bytes, and its number among the kept and missed ones.
#[derive(Clone, Debug)]
pub struct Event {
    pub seq: u64,
    pub data: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct Reader {
    cursor: Option<u64>,
    missed: u64,
    access: bool,
    /// Number of the filter.
    pub filter: Option<usize>,
    refused: u32,
}

#[derive(Clone, Debug)]
pub struct Queue {
    max: usize,
    shutdown: bool,
    events: Vec<Event>,
    first: u64,
    next: u64,
    pub count: u64,
    pub bytes: u64,
    pub readers: BTreeMap<i32, Reader>,
    known: Vec<i32>,
    waits: bool,
    others: u32,
    patience: u32,
    fetched: bool,
}

/// The result of a fetch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    pub status: i32,
    pub events: Vec<Vec<u8>>,
    pub missed: u64,
}

impl Queue {
    pub fn new(max: usize, clients: u32, contexts: &[i32]) -> Self {
        let known: Vec<i32> =
            if contexts.len() <= clients as usize { contexts.to_vec() } else { Vec::new() };
        Self {
            max,
            shutdown: false,
            events: Vec::new(),
            first: 0,
            next: 0,
            count: 0,
            bytes: 0,
            readers: BTreeMap::new(),
            others: clients - known.len() as u32,
            known,
            waits: true,
            patience: clients * PATIENCE,
            fetched: false,
        }
    }

    fn active(&self) -> u32 {
        self.readers.values().filter(|r| r.cursor.is_some()).count() as u32
    }

    fn reserved(&self) -> u32 {
        self.others + if self.waits { self.known.len() as u32 } else { 0 }
    }

    pub fn clients(&self) -> u32 {
        self.active() + self.reserved()
    }

    pub fn memory(&self) -> usize {
        self.events.iter().map(|e| e.data.len()).sum()
    }

    fn charge(&self) -> usize {
        self.events.iter().map(|e| e.data.len().max(1)).sum()
    }

    pub fn append(&mut self, data: &[u8]) {
        self.count += 1;
        self.bytes += data.len() as u64;
        let large = data.len() > self.max;
        while !large && !self.events.is_empty() && self.charge() + data.len().max(1) > self.max {
            self.first = self.events.remove(0).seq + 1;
        }
        if self.clients() > 0 {
            if !large {
                self.events.push(Event { seq: self.next, data: data.to_vec() });
            }
            self.next += 1;
        }
    }

    fn give_up(&mut self) {
        if self.reserved() > 0 {
            return;
        }
        let active = || self.readers.values().filter(|r| r.cursor.is_some());
        let granted =
            active().filter(|r| r.access || r.filter.is_some()).filter_map(|r| r.cursor).min();
        let until = match granted {
            Some(cursor) => cursor,
            None if active().any(|r| r.refused < PATIENCE) => return,
            None => self.next,
        };
        self.events.retain(|e| e.seq >= until);
        self.first = self.first.max(until.min(self.next));
    }

    /// `drops` decides whether the filter drops an event, `fails` is the status of a failing
    /// decoder.
    pub fn fetch(
        &mut self,
        context: i32,
        drops: impl Fn(usize, &[u8]) -> bool,
        fails: impl Fn(&[u8]) -> Option<i32>,
    ) -> Fetched {
        self.fetched = true;
        let expected = self.known.contains(&context);
        if expected {
            self.known.retain(|k| *k != context);
        } else if self.others > 0 || !self.known.is_empty() {
            self.others = self.others.saturating_sub(1);
            self.patience = self.patience.saturating_sub(1);
            if self.patience == 0 {
                (self.waits, self.others) = (false, 0);
            }
        }
        let first = self.first;
        let reader = self.readers.entry(context).or_default();
        let mut next = *reader.cursor.get_or_insert(if expected { 0 } else { first });
        if !reader.access && reader.filter.is_none() {
            reader.refused += 1;
            self.give_up();
            return Fetched::default();
        }
        reader.refused = 0;
        let (mut fetched, mut missed, mut end) = (Fetched::default(), reader.missed, self.next);
        let from = next;
        for event in self.events.iter().filter(|e| e.seq >= from) {
            missed += event.seq - next;
            next = event.seq + 1;
            if reader.filter.is_some_and(|f| drops(f, &event.data)) {
                continue;
            }
            let Some(status) = fails(&event.data) else {
                fetched.events.push(event.data.clone());
                continue;
            };
            if fetched.events.is_empty() {
                fetched.status = status;
            } else {
                next -= 1;
            }
            end = next;
            break;
        }
        missed += end - next;
        if fetched.status == 0 {
            fetched.missed = std::mem::take(&mut missed);
            fetched.status = i32::from(!fetched.events.is_empty() || fetched.missed > 0);
        }
        (reader.cursor, reader.missed) = (Some(end), missed);
        self.give_up();
        fetched
    }

    fn granting(&mut self, context: i32, change: impl FnOnce(&mut Reader)) {
        let first = self.first;
        let reader = self.readers.entry(context).or_default();
        let before = reader.access || reader.filter.is_some();
        change(reader);
        if !before && (reader.access || reader.filter.is_some()) {
            reader.cursor = reader.cursor.map(|c| c.max(first));
        }
    }

    pub fn set_access(&mut self, context: i32, allow: bool) {
        self.granting(context, |r| r.access = allow);
    }

    /// Sets a filter. Returns the previous one.
    pub fn set_filter(&mut self, context: i32, filter: Option<usize>) -> Option<usize> {
        let mut old = None;
        self.granting(context, |r| {
            r.access = true;
            old = std::mem::replace(&mut r.filter, filter);
        });
        old
    }

    /// Ends the client. Returns its filter, and whether the queue is removed. `last`: no client is
    /// left.
    pub fn leave(&mut self, context: i32, last: bool) -> (Option<usize>, bool) {
        let there = self.known.contains(&context) || self.readers.contains_key(&context);
        self.known.retain(|k| *k != context);
        let reader = self.readers.remove(&context);
        if there {
            self.give_up();
        }
        let gone = reader.is_some() && self.shutdown && self.active() == 0;
        if last && self.fetched {
            self.known.clear();
            self.others = 0;
        }
        if last {
            self.give_up();
        }
        (reader.and_then(|r| r.filter), gone)
    }

    /// Whether the queue is removed at once.
    pub fn shut_down(&mut self) -> bool {
        self.shutdown = true;
        self.known.clear();
        self.others = 0;
        self.active() == 0
    }
}
