//! Spans wait for what belongs to them: exceptions come in records of their own, and stops of a process in
//! others, before and after the span.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::meaning::{Identity, Item, TraceId};
use crate::model::{Instance, Record, Value};

/// How long a span waits, live: the Java profiler sends pauses with its next flush, after 5 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(6);
/// Records that wait at most; the oldest goes when there are more.
const MOST_HELD: usize = 65_536;
/// Bytes of those, about.
const MOST_BYTES: usize = 64 << 20;
/// Stops that are remembered, and bytes of those, about. A call may be minutes long.
const MOST_STOPS: usize = 65_536;
const MOST_STOP_BYTES: usize = 16 << 20;
/// Stops of a process that a span is compared with: the newest.
const MOST_COMPARED: usize = 1024;
/// Events of a span.
const MOST_EVENTS: usize = 128;

/// A record that waits, or goes.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) record: Arc<Record>,
    pub(super) identity: Identity,
    /// Exceptions and stops that it has.
    pub(super) events: Vec<Arc<Record>>,
    /// Events beyond the limit.
    pub(super) dropped: u64,
    /// The span that it belongs to, if it is an exception.
    key: Option<Key>,
    since: Instant,
    bytes: usize,
}

/// A span as records name it.
type Key = (TraceId, Box<str>);

/// All that waits.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// In the order of arrival; `None`: an exception that found its span.
    waiting: VecDeque<Option<Held>>,
    /// The number of the first of those.
    first: u64,
    bytes: usize,
    spans: HashMap<Key, u64>,
    exceptions: HashMap<Key, Vec<u64>>,
    stops: HashMap<Box<str>, VecDeque<Arc<Record>>>,
    /// Whose stops came, in order.
    order: VecDeque<Box<str>>,
    stop_bytes: usize,
}

impl Hold {
    /// Takes a span, or an exception.
    pub(super) fn add(&mut self, record: Arc<Record>, identity: Identity, now: Instant) {
        let item = Item::new(&record);
        let span = record.text("span");
        let key = (!span.is_empty()).then(|| (identity.trace, Box::from(&*span)));
        let number = self.first + self.waiting.len() as u64;
        let bytes = size(&record);
        let exception = item.is_exception();
        drop(span);
        let mut held =
            Held { record, identity, events: Vec::new(), dropped: 0, key: None, since: now, bytes };
        self.bytes += bytes;
        match key {
            Some(key) if exception => {
                let span = self.spans.get(&key).copied();
                if let Some(span) = span.and_then(|span| self.place(span)?.as_mut()) {
                    span.bytes += bytes;
                    span.attach(held.record);
                    return;
                }
                self.exceptions.entry(key.clone()).or_default().push(number);
                held.key = Some(key);
            }
            Some(key) => {
                for exception in self.exceptions.remove(&key).unwrap_or_default() {
                    if let Some(found) = self.place(exception).and_then(Option::take) {
                        held.bytes += found.bytes;
                        held.attach(found.record);
                    }
                }
                self.spans.insert(key.clone(), number);
                held.key = Some(key);
            }
            None => {}
        }
        self.waiting.push_back(Some(held));
    }

    /// Remembers a stop of a process, or a thread that waited for a lock.
    pub(super) fn stop(&mut self, record: &Arc<Record>) {
        let process = process(record);
        self.stop_bytes += size(record);
        self.stops.entry(process.clone()).or_default().push_back(record.clone());
        self.order.push_back(process);
        while self.order.len() > MOST_STOPS || self.stop_bytes > MOST_STOP_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(of) = self.stops.get_mut(&oldest) else { continue };
            if let Some(stop) = of.pop_front() {
                self.stop_bytes = self.stop_bytes.saturating_sub(size(&stop));
            }
            if of.is_empty() {
                self.stops.remove(&oldest);
            }
        }
    }

    /// The next one that has waited long enough, or has no room. `now`: `None`: only the latter.
    pub(super) fn next(&mut self, now: Option<Instant>) -> Option<Held> {
        loop {
            let due = match self.waiting.front()? {
                None => true,
                Some(held) => {
                    self.waiting.len() > MOST_HELD
                        || self.bytes > MOST_BYTES
                        || now.is_some_and(|now| now.duration_since(held.since) >= PATIENCE)
                }
            };
            if !due {
                return None;
            }
            if let Some(held) = self.pop() {
                return Some(held);
            }
        }
    }

    /// The oldest one, however long it has waited.
    pub(super) fn rest(&mut self) -> Option<Held> {
        while !self.waiting.is_empty() {
            if let Some(held) = self.pop() {
                return Some(held);
            }
        }
        None
    }

    fn pop(&mut self) -> Option<Held> {
        let held = self.waiting.pop_front()?;
        let number = self.first;
        self.first += 1;
        let mut held = held?;
        self.bytes = self.bytes.saturating_sub(held.bytes);
        if let Some(key) = &held.key {
            if let Some(others) = self.exceptions.get_mut(key) {
                others.retain(|other| *other != number);
                if others.is_empty() {
                    self.exceptions.remove(key);
                }
            }
            if self.spans.get(key) == Some(&number) {
                self.spans.remove(key);
            }
        }
        self.attach_stops(&mut held);
        Some(held)
    }

    fn attach_stops(&self, held: &mut Held) {
        let Held { record, .. } = &*held;
        let item = Item::new(record);
        if !item.is_call() && record.paired.is_none() {
            return;
        }
        let Some(stops) = self.stops.get(&process(record)) else { return };
        let thread = item.thread();
        let found: Vec<_> = stops
            .range(stops.len().saturating_sub(MOST_COMPARED)..)
            .filter(|stop| {
                let stop = Item::new(stop);
                stop.start < item.end()
                    && stop.end() > item.start
                    && (stop.is_stop() || thread.is_some() && stop.thread() == thread)
            })
            .cloned()
            .collect();
        found.into_iter().for_each(|stop| held.attach(stop));
    }

    fn place(&mut self, number: u64) -> Option<&mut Option<Held>> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.waiting.get_mut(at)
    }
}

impl Held {
    fn attach(&mut self, record: Arc<Record>) {
        if self.events.len() < MOST_EVENTS {
            self.events.push(record);
        } else {
            self.dropped += 1;
        }
    }

    /// The id of the span that an exception names.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|(_, span)| &**span)
    }
}

/// The process of a record, as records of all sources say it: that of the system if it is known on which host.
pub(crate) fn process(record: &Record) -> Box<str> {
    let Instance { name, labels, host } = &*record.origin.instance;
    let source = &*record.origin.source;
    let on = match (source, labels.get("host")) {
        (_, Some(of)) => Some(&**of),
        ("dotnet" | "mono" | "jvm", None) => Some(&**host),
        _ => None,
    };
    match (on, labels.get("pid")) {
        (Some(host), Some(pid)) => format!("{host} {pid}").into(),
        _ => format!("{host} {source} {name}").into(),
    }
}

/// Bytes of a record in memory, about.
fn size(record: &Record) -> usize {
    let texts = record.parameters.iter().map(|(_, value)| match value {
        Value::Text(text) => text.len(),
        _ => 0,
    });
    size_of::<Held>() + size_of::<Record>() + 48 * record.parameters.len() + texts.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meaning::Ids;
    use crate::otlp::tests::record;

    #[test]
    fn memory_is_bounded() {
        let text = "x".repeat(1 << 20);
        let (mut hold, mut ids) = (Hold::default(), Ids::default());
        let mut add = |hold: &mut Hold, kind: &str, at, span: &str| {
            let parameters = [("trace", "4bf92f3577b34da6a3ce929d0e0e4736"), ("span", span)];
            let more = [parameters[0], parameters[1], ("message", &*text)];
            let record = Arc::new(record(kind, "a", at, &more));
            let identity = ids.of(&Item::new(&record));
            hold.add(record, identity, Instant::now());
        };
        // Exceptions of one span, and of spans that never come.
        add(&mut hold, "zorka.span", 0, "00f067aa0ba902b7");
        for at in 0..200 {
            add(&mut hold, "zorka.exception", at, "00f067aa0ba902b7");
            add(&mut hold, "zorka.exception", at, &format!("00f067aa{at:08x}"));
            let stop = Arc::new(record("jvm.contention", "a", at, &[("stack", &text)]));
            hold.stop(&stop);
            while hold.next(None).is_some() {}
            assert!(hold.bytes <= MOST_BYTES && hold.stop_bytes <= MOST_STOP_BYTES);
        }
        while hold.rest().is_some() {}
        assert_eq!((hold.bytes, hold.spans.len(), hold.exceptions.len()), (0, 0, 0));
    }
}
