//! Ids of spans and traces: those of the record, else made of what every reader of the record sees, so that
//! a live export and one of the archive are the same.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use sha2::{Digest, Sha256};

use super::Item;

/// Records whose ids were made that are known, so that two of one µs are told apart.
const MOST_SEEDS: usize = 65_536;
/// Characters of an id that is no number.
const MOST_TEXT: usize = 128;

/// The id of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub [u8; 8]);

/// Who a record is among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its trace; one of its own if it says none.
    pub trace: TraceId,
    /// The text of a trace whose id is written otherwise, or is no number.
    pub trace_text: Option<String>,
    /// Whether the record says of which trace it is.
    pub traced: bool,
    /// Its own id.
    pub span: SpanId,
    /// What caused it.
    pub parent: Option<SpanId>,
}

/// Makes ids.
#[derive(Debug, Default)]
pub struct Ids {
    seen: HashMap<[u8; 8], u32>,
    order: VecDeque<[u8; 8]>,
}

impl Ids {
    /// The ids of an item. Those that are made depend on the items of the same µs that came before.
    pub fn of(&mut self, item: &Item<'_>) -> Identity {
        let record = item.record;
        let mut seed = None;
        let mut made = |ids: &mut Self| *seed.get_or_insert_with(|| ids.made(item));
        let text = record.first(&["trace", "trace.id"]);
        let known = text.as_deref().and_then(trace_id);
        let trace = match (&known, &text) {
            (Some(id), _) => *id,
            (None, Some(text)) => TraceId(sixteen(&digest(&["trace", text]))),
            (None, None) => TraceId(sixteen(&made(self))),
        };
        let own = matches!(&*record.origin.kind, "span" | "tree");
        let span = own.then(|| record.text("span")).filter(|span| !span.is_empty());
        let span = match span.as_deref().map(|span| span_id(span, trace)) {
            Some(span) => span,
            None => SpanId(eight(&made(self)[16..])),
        };
        let parent = record.text("parent");
        let parent = (!parent.is_empty()).then(|| span_id(&parent, trace));
        let trace_text = text.map(|text| text.chars().take(MOST_TEXT).collect::<String>());
        Identity {
            trace,
            traced: trace_text.is_some(),
            trace_text: trace_text.filter(|text| !text.eq_ignore_ascii_case(&trace.to_string())),
            span,
            parent: parent.filter(|parent| *parent != span),
        }
    }

    /// What an id of this item is made of.
    fn made(&mut self, item: &Item<'_>) -> [u8; 32] {
        let record = item.record;
        let origin = &record.origin;
        // Archives may have microseconds only.
        let micros = record.time.div_euclid(1000).to_string();
        let thread = record.first(&["thread", "thread_id"]).unwrap_or_default();
        let duration = record.text("duration");
        let seed = [
            &*origin.source,
            &*origin.kind,
            &*origin.instance.name,
            &*micros,
            &*thread,
            &*duration,
        ];
        let first = digest(&seed);
        let key = eight(&first);
        let times = self.seen.entry(key).or_insert(0);
        *times += 1;
        let times = *times;
        if times == 1 {
            self.order.push_back(key);
            if self.order.len() > MOST_SEEDS
                && let Some(oldest) = self.order.pop_front()
            {
                self.seen.remove(&oldest);
            }
            return first;
        }
        let times = times.to_string();
        let mut again = seed.to_vec();
        again.push(&times);
        digest(&again)
    }

    /// The id of a span that is not a record: a node of a tree, a report of loss.
    #[must_use]
    pub fn below(trace: TraceId, span: SpanId, what: &str) -> SpanId {
        SpanId(eight(&digest(&["below", &trace.to_string(), &span.to_string(), what])))
    }

    /// A number of 64 bits that is the same for the same words; never 0.
    #[must_use]
    pub fn number(words: &[&str]) -> u64 {
        u64::from_be_bytes(eight(&digest(words))).max(1)
    }
}

/// 32 or 16 hexadecimal digits, or a UUID; none if all are 0.
fn trace_id(text: &str) -> Option<TraceId> {
    let digits = text.bytes().filter(|byte| *byte != b'-');
    let number = hexadecimal(digits.clone())?;
    let length = digits.count();
    (number != 0 && (length == 16 || length == 32)).then(|| TraceId(number.to_be_bytes()))
}

/// 16 hexadecimal digits; of another text its hash, with that of its trace.
fn span_id(text: &str, trace: TraceId) -> SpanId {
    let number = (text.len() == 16).then(|| hexadecimal(text.bytes())).flatten();
    match number.and_then(|number| u64::try_from(number).ok()).filter(|number| *number != 0) {
        Some(number) => SpanId(number.to_be_bytes()),
        None => SpanId(eight(&digest(&["span", &trace.to_string(), text]))),
    }
}

fn hexadecimal(digits: impl Iterator<Item = u8>) -> Option<u128> {
    let mut number = 0_u128;
    for (place, digit) in digits.enumerate() {
        if place == 32 {
            return None;
        }
        number = number << 4 | u128::from(char::from(digit).to_digit(16)?);
    }
    Some(number)
}

fn digest(words: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for word in words {
        hash.update(word);
        hash.update([0]);
    }
    hash.finalize().into()
}

fn sixteen(digest: &[u8]) -> [u8; 16] {
    digest.first_chunk().copied().unwrap_or_default()
}

fn eight(digest: &[u8]) -> [u8; 8] {
    digest.first_chunk().copied().unwrap_or_default()
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
