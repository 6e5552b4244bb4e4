//! Rows to which the spans of an agent add: by type, HTTP status, kind of database and statement.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::sql::{key, normalise};
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::meter::{Latency, MergedLatency, bucket_of, clean};
use crate::model::{RowItem, TableId};
use crate::sources::zorka::wire::AttributeValue;
use crate::sources::zorka::{limits, metrics as m};

/// Slot of the row for the keys beyond the limit.
const REST: u32 = 0;

/// Rows `AGENT::KEY` of a table that is not ranked. Keys beyond a limit are together in `AGENT::other`.
#[derive(Debug)]
pub(crate) struct Rows<const N: usize> {
    table: TableId,
    /// The metrics that are sums.
    items: [RowItem; N],
    max: usize,
    /// The instance label that has the key.
    label: Option<&'static str>,
    hasher: RandomState,
    slots: HashMap<u64, u32, RandomState>,
    /// The row for keys beyond the limit is bound.
    rest: bool,
}

crate::heap_size!([const N: usize] Rows<N> { slots });

impl<const N: usize> Rows<N> {
    fn new(table: TableId, items: [RowItem; N], max: usize, label: Option<&'static str>) -> Self {
        let (hasher, slots) = (RandomState::default(), HashMap::default());
        Self { table, items, max, label, hasher, slots, rest: false }
    }

    /// Adds to the row of a key. Returns its slot.
    fn add(&mut self, agent: &str, key: &str, more: [u64; N], peer: &mut Peer) -> u32 {
        let slot = self.slot(agent, key, peer);
        peer.row_add_all(slot, &self.items, more);
        slot
    }

    fn slot(&mut self, agent: &str, key: &str, peer: &mut Peer) -> u32 {
        let hash = self.hasher.hash_one(key);
        if let Some(slot) = self.slots.get(&hash) {
            return *slot;
        }
        let is_rest = self.slots.len() >= self.max;
        if is_rest && std::mem::replace(&mut self.rest, true) {
            return REST;
        }
        let slot = if is_rest { REST } else { u32::try_from(self.slots.len() + 1).unwrap_or(REST) };
        let key = if is_rest { OTHER.to_owned() } else { name(key) };
        peer.row(self.table, slot, Some(&format!("{agent}::{key}")));
        if let Some(label) = self.label {
            peer.row_labels(self.table, slot, &[("agent", agent), (label, &key)]);
        }
        for item in self.items {
            peer.row_add(slot, item, 0);
        }
        if !is_rest {
            self.slots.insert(hash, slot);
        }
        slot
    }

    /// Frees all slots; their rows stay in the store.
    pub(crate) fn free(&mut self, peer: &mut Peer) {
        if !self.slots.is_empty() {
            peer.free_rows(self.table);
            *self = Self::new(self.table, self.items, self.max, self.label);
        }
    }
}

/// Bytes of a name, at most.
const NAME: usize = 250;

/// A text without blanks and control characters, at most [`NAME`] bytes; `#` if it is empty.
pub(crate) fn name(text: &str) -> String {
    if text.is_empty() { "#".to_owned() } else { clean(text, NAME) }
}

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
    /// Those of the last minute in us.
    recent: Latency<LONGEST>,
}

crate::heap_size!(Durations { recent });

/// The types of one agent.
#[derive(Debug)]
pub(crate) struct Types {
    rows: Rows<5>,
    /// By slot.
    durations: Vec<Durations>,
    /// The rows of buckets are bound.
    bound: bool,
}

crate::heap_size!(Types { rows, each durations });

impl Default for Types {
    fn default() -> Self {
        let items = [m::TYPE_COUNT, m::TYPE_ERRORS, m::TYPE_TIME, m::TYPE_CALLS, m::TYPE_OVERFLOW];
        let rows = Rows::new(m::TYPES, items, limits::TYPES, Some("type"));
        Self { rows, durations: Vec::new(), bound: false }
    }
}

impl Types {
    /// Counts a span.
    pub(crate) fn add(&mut self, agent: &str, kind: &str, span: SpanSums, peer: &mut Peer) {
        let SpanSums { duration, calls, error, overflow } = span;
        let sums = [1, error.into(), duration, calls, overflow.into()];
        let slot = self.rows.add(agent, kind, sums, peer);
        if self.durations.len() <= slot as usize {
            self.durations.resize_with(slot as usize + 1, Durations::default);
        }
        if let Some(of) = self.durations.get_mut(slot as usize) {
            if duration > of.longest {
                of.longest = duration;
                peer.row_max(slot, m::TYPE_MAX, duration);
            }
            of.recent.record(duration / m::US);
        }
        if !std::mem::replace(&mut self.bound, true) {
            for (slot, key) in (0..).zip(m::buckets()) {
                peer.row(m::BUCKETS, slot, Some(&key));
                peer.row_add(slot, m::TYPE_HISTOGRAM, 0);
            }
        }
        peer.row_add(bucket(duration), m::TYPE_HISTOGRAM, 1);
    }

    /// Shows percentiles that have changed; new durations are also those of the service.
    pub(crate) fn show_percentiles(
        &mut self,
        now: Duration,
        service: Option<&MergedLatency>,
        peer: &mut Peer,
    ) {
        let items = [m::TYPE_P50, m::TYPE_P95, m::TYPE_P99, m::TYPE_RECENT_MAX];
        for (slot, of) in (0..).zip(&mut self.durations) {
            let Some(changed) = of.recent.changed(now, service) else { continue };
            let values = changed.map(|p| [p.p50, p.p95, p.p99, p.max]);
            for (at, item) in items.into_iter().enumerate() {
                let us = values.as_ref().and_then(|values| values.get(at));
                peer.row_show(slot, item, us.map(|us| us.saturating_mul(m::US)));
            }
        }
    }

    /// There are no spans of the last minute.
    pub(crate) fn is_silent(&self) -> bool {
        self.durations.iter().all(|of| of.recent.is_empty())
    }

    /// Frees all slots; their rows stay in the store.
    pub(crate) fn free(&mut self, peer: &mut Peer) {
        self.rows.free(peer);
        if self.bound {
            peer.free_rows(m::BUCKETS);
        }
        *self = Self::default();
    }
}

/// The row of the bucket of a duration in ns.
fn bucket(ns: u64) -> u32 {
    u32::try_from(bucket_of(&m::EDGES, ns / m::US)).unwrap_or_default()
}

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

/// Rows by attribute of one agent.
#[derive(Debug)]
pub(crate) struct Attributes {
    http: Rows<1>,
    db: Rows<3>,
    hasher: RandomState,
}

crate::heap_size!(Attributes { http, db });

impl Default for Attributes {
    fn default() -> Self {
        let db = [m::DB_COUNT, m::DB_ERRORS, m::DB_TIME];
        Self {
            http: Rows::new(m::HTTP, [m::HTTP_STATUS], CLASSES.len(), None),
            db: Rows::new(m::DB, db, limits::DB_KINDS, None),
            hasher: RandomState::default(),
        }
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
        if let Some(class) = status_class(value, body) {
            self.http.add(agent, class, [1], peer);
        }
    }

    /// Counts a span that uses a database.
    pub(crate) fn db(&mut self, agent: &str, kind: &str, span: SpanSums, peer: &mut Peer) {
        self.db.add(agent, kind, [1, span.error.into(), span.duration], peer);
    }

    /// Counts a span with a statement of the agent: which service is slow is asked first, which
    /// statement of it next. `kind`: kind of the database, if known.
    pub(crate) fn statement(
        &self,
        agent: &str,
        statement: &str,
        kind: Option<&str>,
        span: SpanSums,
        peer: &mut Peer,
    ) {
        let items = [m::STATEMENT_TIME, m::STATEMENT_COUNT, m::STATEMENT_ERRORS];
        let text = normalise(statement, kind);
        let sums = [span.duration, 1, span.error.into()];
        peer.count_row(&items, self.hasher.hash_one(&text), sums, |row| {
            let labels = [("agent", agent), ("statement", &*text)];
            row.named(&format!("{agent}::{}", key(&text)), &labels);
        });
    }

    /// Frees all slots; their rows stay in the store.
    pub(crate) fn free(&mut self, peer: &mut Peer) {
        self.http.free(peer);
        self.db.free(peer);
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

#[cfg(test)]
#[path = "tests/rows.rs"]
mod tests;
