//! Rows to which an agent adds sums, by the hash of their keys; and those of its spans: by type, HTTP status,
//! kind of database and statement.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::sql::{key, normalise};
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::meter::{Latency, MergedLatency, bucket_of};
use crate::model::{HeapSize, RowItem, TableId};
use crate::sources::zorka::limits::{DB_KINDS, STATEMENTS};
use crate::sources::zorka::wire::AttributeValue;
use crate::sources::zorka::{limits, metrics as m};

/// A table, the metrics that are sums, and the most keys with a row of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<const N: usize> {
    pub(crate) table: TableId,
    pub(crate) items: [RowItem; N],
    pub(crate) max: usize,
}

/// What a new slot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The key.
    Key,
    /// All keys beyond the limit.
    Rest,
}

/// Slot of the row for the keys beyond the limit.
const REST: u32 = 0;

/// The rows of one table and their sums since the last report.
#[derive(Debug)]
pub(crate) struct Rows<const N: usize> {
    layout: Layout<N>,
    hasher: RandomState,
    slots: HashMap<u64, u32, RandomState>,
    /// By slot; that of all keys beyond the limit is the first.
    sums: Vec<[u64; N]>,
    touched: Vec<u32>,
    /// The row for keys beyond the limit is bound.
    rest: bool,
}

crate::heap_size!([const N: usize] Rows<N> { slots, sums, touched });

impl<const N: usize> Rows<N> {
    pub(crate) fn new(layout: Layout<N>) -> Self {
        Self {
            layout,
            hasher: RandomState::default(),
            slots: HashMap::default(),
            sums: Vec::new(),
            touched: Vec::new(),
            rest: false,
        }
    }

    /// The slot of a key. `bind` gives a new slot its row.
    pub(crate) fn slot(
        &mut self,
        key: &str,
        peer: &mut Peer,
        bind: impl FnOnce(u32, Of, &mut Peer),
    ) -> u32 {
        let hash = self.hasher.hash_one(key);
        if let Some(slot) = self.slots.get(&hash) {
            return *slot;
        }
        if self.sums.is_empty() {
            self.sums.push([0; N]);
        }
        let full = self.slots.len() >= self.layout.max;
        if full && std::mem::replace(&mut self.rest, true) {
            return REST;
        }
        let slot = if full { REST } else { u32::try_from(self.sums.len()).unwrap_or(REST) };
        bind(slot, if full { Of::Rest } else { Of::Key }, peer);
        for item in self.layout.items {
            peer.row_add(slot, item, 0);
        }
        if !full {
            self.sums.push([0; N]);
            self.slots.insert(hash, slot);
        }
        slot
    }

    /// Adds to the sums of a slot.
    pub(crate) fn add(&mut self, slot: u32, more: [u64; N]) {
        let Some(sums) = self.sums.get_mut(slot as usize) else { return };
        if *sums == [0; N] {
            self.touched.push(slot);
        }
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        for slot in self.touched.drain(..) {
            let sums = self.sums.get_mut(slot as usize).map(|s| std::mem::replace(s, [0; N]));
            for (item, more) in self.layout.items.into_iter().zip(sums.into_iter().flatten()) {
                if more > 0 {
                    peer.row_add(slot, item, more);
                }
            }
        }
    }

    /// Another key would get no row of its own.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= self.layout.max
    }

    /// Frees all slots; their rows stay in the store.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.report(peer);
        if !self.sums.is_empty() {
            peer.free_rows(self.layout.table);
            *self = Self::new(self.layout);
        }
    }
}

/// Bytes of a name, at most.
pub(crate) const NAME: usize = 250;

/// A text without blanks and control characters, at most [`NAME`] bytes; `#` if it is empty.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let fits = text.len() <= NAME && !text.is_empty();
    if fits && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::new();
    for c in text.chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        if clean.len() + c.len_utf8() > NAME {
            break;
        }
        clean.push(c);
    }
    if clean.is_empty() { Cow::Borrowed("#") } else { Cow::Owned(clean) }
}

const TYPES: Layout<5> = Layout {
    table: m::TYPES,
    items: [m::TYPE_COUNT, m::TYPE_ERRORS, m::TYPE_TIME, m::TYPE_CALLS, m::TYPE_OVERFLOW],
    max: limits::TYPES,
};

/// What counts of a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanSums {
    pub(crate) duration: u64,
    pub(crate) calls: u64,
    pub(crate) error: bool,
    pub(crate) overflow: bool,
}

/// Longest duration of percentiles in us: a day. Longer ones count as this long.
const LONGEST: u64 = 24 * 3600 * 1_000_000;

/// The durations of the spans of a type.
#[derive(Debug, Default)]
struct Durations {
    /// The longest in ns.
    longest: u64,
    /// The same at the last report.
    reported: u64,
    /// Those of the last minute in us.
    recent: Latency<LONGEST>,
}

impl HeapSize for Durations {
    fn heap_size(&self) -> usize {
        self.recent.memory()
    }
}

/// The types of one agent.
#[derive(Debug)]
pub(crate) struct Types {
    rows: Rows<5>,
    /// By slot.
    durations: Vec<Durations>,
    buckets: [u64; m::EDGES.len()],
    /// The rows of buckets are bound.
    bound: bool,
}

crate::heap_size!(Types { rows, each durations });

impl Default for Types {
    fn default() -> Self {
        Self {
            rows: Rows::new(TYPES),
            durations: Vec::new(),
            buckets: [0; m::EDGES.len()],
            bound: false,
        }
    }
}

impl Types {
    /// Counts a span.
    pub(crate) fn add(&mut self, agent: &str, kind: &str, span: SpanSums, peer: &mut Peer) {
        let slot = self.rows.slot(kind, peer, |slot, of, peer| {
            let kind = if of == Of::Rest { OTHER.into() } else { clean(kind) };
            let key = format!("{agent}::{kind}");
            peer.row(m::TYPES, slot, Some(&key));
            let labels = &[("agent", agent), ("type", &*kind)];
            peer.row_labels(m::TYPES, slot, labels);
        });
        let SpanSums { duration, calls, error, overflow } = span;
        self.rows.add(slot, [1, error.into(), duration, calls, overflow.into()]);
        if self.durations.len() <= slot as usize {
            self.durations.resize_with(slot as usize + 1, Durations::default);
        }
        if let Some(of) = self.durations.get_mut(slot as usize) {
            of.longest = duration.max(of.longest);
            of.recent.record(duration / m::US);
        }
        if let Some(sum) = self.buckets.get_mut(bucket(duration)) {
            *sum += 1;
        }
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.rows.report(peer);
        for (slot, of) in (0..).zip(&mut self.durations) {
            if of.longest > of.reported {
                of.reported = of.longest;
                peer.row_max(slot, m::TYPE_MAX, of.longest);
            }
        }
        if !self.bound && self.buckets.iter().any(|sum| *sum > 0) {
            self.bound = true;
            for (slot, key) in (0..).zip(m::buckets()) {
                peer.row(m::BUCKETS, slot, Some(&key));
                peer.row_add(slot, m::TYPE_HISTOGRAM, 0);
            }
        }
        for (slot, sum) in (0..).zip(&mut self.buckets) {
            let more = std::mem::take(sum);
            if more > 0 {
                peer.row_add(slot, m::TYPE_HISTOGRAM, more);
            }
        }
    }

    /// Reports percentiles that have changed; new durations are also those of the service.
    pub(crate) fn report_latency(
        &mut self,
        now: Duration,
        service: Option<&MergedLatency>,
        peer: &mut Peer,
    ) {
        let items = [m::TYPE_P50, m::TYPE_P95, m::TYPE_P99, m::TYPE_RECENT_MAX];
        for (slot, of) in (0..).zip(&mut self.durations) {
            match of.recent.changed(now, service) {
                Some(Some(p)) => {
                    for (item, us) in items.into_iter().zip([p.p50, p.p95, p.p99, p.max]) {
                        peer.row_set(slot, item, us.saturating_mul(m::US));
                    }
                }
                Some(None) => {
                    for item in items {
                        peer.row_unset(slot, item);
                    }
                }
                None => {}
            }
        }
    }

    /// There are no spans of the last minute.
    pub(crate) fn is_silent(&self) -> bool {
        self.durations.iter().all(|of| of.recent.is_empty())
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.report(peer);
        self.rows.clear(peer);
        if self.bound {
            peer.free_rows(m::BUCKETS);
        }
        *self = Self::default();
    }
}

/// Position of the bucket of a duration in ns.
fn bucket(ns: u64) -> usize {
    bucket_of(&m::EDGES, ns / m::US)
}

const HTTP: Layout<1> = Layout { table: m::HTTP, items: [m::HTTP_STATUS], max: CLASSES.len() };
const DB: Layout<3> =
    Layout { table: m::DB, items: [m::DB_COUNT, m::DB_ERRORS, m::DB_TIME], max: DB_KINDS };

/// Classes of HTTP status codes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// An attribute that sums are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    HttpStatus,
    DbType,
    DbUrl,
    Statement,
}

impl Known {
    /// By the attribute's name. Agents before 1.90.7 have other names (docs/protocols/zorka.md 12).
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "http.status_code" | "STATUS" => Some(Self::HttpStatus),
            "db.type" => Some(Self::DbType),
            "db.url" | "DB" => Some(Self::DbUrl),
            "db.statement" | "SQL" => Some(Self::Statement),
            _ => None,
        }
    }
}

/// The text of an attribute. Agents write the text `null` where there is no value.
pub(crate) fn text<'a>(value: &AttributeValue, body: &'a [u8]) -> Option<Cow<'a, str>> {
    let AttributeValue::Text(slice) = value else { return None };
    let bytes = slice.of(body);
    (!bytes.is_empty() && bytes != b"null").then(|| String::from_utf8_lossy(bytes))
}

/// The kind of a database by its URL: that of JDBC is `sql`, as `db.type` has it.
pub(crate) fn kind_of(url: &str) -> &str {
    match url.split(':').next().unwrap_or_default() {
        "jdbc" => "sql",
        scheme => scheme,
    }
}

/// Sums by attribute of one agent.
#[derive(Debug)]
pub(crate) struct Attributes {
    http: Rows<1>,
    db: Rows<3>,
}

crate::heap_size!(Attributes { http, db });

impl Default for Attributes {
    fn default() -> Self {
        Self { http: Rows::new(HTTP), db: Rows::new(DB) }
    }
}

impl Attributes {
    /// Counts the status of a span; values that are not three digits are not counted.
    pub(crate) fn http(
        &mut self,
        agent: &str,
        value: &AttributeValue,
        body: &[u8],
        peer: &mut Peer,
    ) {
        let Some(class) = status_class(value, body) else { return };
        let slot = self.http.slot(class, peer, |slot, _, peer| {
            let key = format!("{agent}::{class}");
            peer.row(m::HTTP, slot, Some(&key));
        });
        self.http.add(slot, [1]);
    }

    /// Counts a span that uses a database.
    pub(crate) fn db(&mut self, agent: &str, kind: &str, span: SpanSums, peer: &mut Peer) {
        let slot = self.db.slot(kind, peer, |slot, of, peer| {
            let kind = if of == Of::Rest { OTHER.into() } else { clean(kind) };
            let key = format!("{agent}::{kind}");
            peer.row(m::DB, slot, Some(&key));
        });
        self.db.add(slot, [1, span.error.into(), span.duration]);
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.http.report(peer);
        self.db.report(peer);
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.http.clear(peer);
        self.db.clear(peer);
    }
}

/// `2xx` of 200, as number or text.
fn status_class(value: &AttributeValue, body: &[u8]) -> Option<&'static str> {
    let first = match value {
        AttributeValue::Int(status @ 100..=599) => usize::try_from(status / 100).ok()?,
        AttributeValue::Text(slice) => match slice.of(body) {
            &[first @ b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => usize::from(first - b'0'),
            _ => return None,
        },
        _ => return None,
    };
    CLASSES.get(first - 1).copied()
}

const STATEMENT_ROWS: Layout<3> = Layout {
    table: m::STATEMENTS,
    items: [m::STATEMENT_TIME, m::STATEMENT_COUNT, m::STATEMENT_ERRORS],
    max: STATEMENTS,
};

/// The statements of one agent.
#[derive(Debug)]
pub(crate) struct Statements(Rows<3>);

crate::heap_size!(Statements { 0 });

impl Default for Statements {
    fn default() -> Self {
        Self(Rows::new(STATEMENT_ROWS))
    }
}

impl Statements {
    /// Counts a span with a statement of the agent: which service is slow is asked first, which
    /// statement of it next. `kind`: kind of the database, if known.
    pub(crate) fn add(
        &mut self,
        agent: &str,
        statement: &str,
        kind: Option<&str>,
        span: SpanSums,
        peer: &mut Peer,
    ) {
        let text = normalise(statement, kind);
        let slot = self.0.slot(&text, peer, |slot, of, peer| {
            let (table, own) = (m::STATEMENTS, of == Of::Key);
            let name = format!("{agent}::{}", key(&text));
            peer.row(table, slot, own.then_some(&*name));
            if own {
                let labels = &[("agent", agent), ("statement", &*text)];
                peer.row_labels(table, slot, labels);
            }
        });
        self.0.add(slot, [span.duration, 1, span.error.into()]);
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        self.0.report(peer);
    }

    /// A second has passed: full tables are begun anew, since new statements may take more time
    /// than those that have a row.
    pub(crate) fn tick(&mut self, peer: &mut Peer) {
        if self.0.is_full() {
            self.0.clear(peer);
        }
    }

    /// Frees what an idle agent does not need.
    pub(crate) fn clear(&mut self, peer: &mut Peer) {
        self.0.clear(peer);
    }
}

#[cfg(test)]
#[path = "tests/rows.rs"]
mod tests;
