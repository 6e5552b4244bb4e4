//! Ids of spans and traces: those of the record, else made of what every reader of the record sees, so that
//! a live export and one of the archive are the same.

use std::borrow::Cow;
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
        let said = Said::of(item);
        let known = said.trace.as_deref().and_then(trace_id);
        let trace = match (&known, &said.trace) {
            (Some(id), _) => *id,
            (None, Some(text)) => TraceId(sixteen(&digest(&["trace", text]))),
            (None, None) => match &said.activity {
                Some(root) => {
                    TraceId(sixteen(&digest(&["activity", &record.origin.instance.name, root])))
                }
                None => TraceId(sixteen(&made(self))),
            },
        };
        let span = match said.span.as_deref() {
            Some(span) => span_id(span, trace),
            None => SpanId(eight(&made(self)[16..])),
        };
        let text = said.trace.map(|text| text.chars().take(MOST_TEXT).collect::<String>());
        Identity {
            trace,
            traced: text.is_some(),
            trace_text: text.filter(|text| !text.eq_ignore_ascii_case(&trace.to_string())),
            span,
            parent: said
                .parent
                .map(|parent| span_id(&parent, trace))
                .filter(|parent| *parent != span),
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

/// What a record says of its place.
struct Said<'r> {
    trace: Option<Cow<'r, str>>,
    span: Option<Cow<'r, str>>,
    parent: Option<Cow<'r, str>>,
    /// The activity that is the root of what happens.
    activity: Option<String>,
}

impl<'r> Said<'r> {
    fn of(item: &Item<'r>) -> Self {
        let record = item.record;
        let text = |name| record.first(&[name]);
        match &*record.origin.full {
            "zorka.span" => Self {
                trace: text("trace"),
                span: text("span"),
                parent: text("parent"),
                activity: None,
            },
            // It is below its span.
            "zorka.tree" | "zorka.exception" => {
                Self { trace: text("trace"), span: None, parent: text("span"), activity: None }
            }
            "dotnet.application" => {
                let (id, parent) = (text("id"), text("parent"));
                let root = id.as_deref().map(|id| root(id, parent.as_deref()));
                // What has no length happens within its activity.
                let (span, parent) = if item.length.is_some() { (id, parent) } else { (None, id) };
                Self { trace: None, span, parent, activity: root }
            }
            _ => Self { trace: text("trace.id"), span: None, parent: None, activity: None },
        }
    }
}

/// The root of an activity: `//1/` of `//1/2/`; of a GUID its parent, if it has one.
fn root(id: &str, parent: Option<&str>) -> String {
    match id.strip_prefix("//").and_then(|path| path.split('/').next()) {
        Some(first) => format!("//{first}/"),
        None => parent.unwrap_or(id).to_owned(),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Flags, Instance, Origin, Record, Value};

    fn identity(kind: (&str, &str), texts: &[(&str, &str)]) -> Identity {
        let record = record(kind, texts);
        Ids::default().of(&Item::new(&record))
    }

    fn record(kind: (&str, &str), texts: &[(&str, &str)]) -> Record {
        let instance = Arc::new(Instance { name: "a/b".into(), ..Instance::default() });
        let origin = Arc::new(Origin::new(kind.0, kind.1, instance));
        let parameters =
            texts.iter().map(|(name, text)| ((*name).into(), Value::Text((*text).into())));
        let parameters = parameters.collect();
        Record {
            time: 1_700_000_000_000_001_500,
            origin,
            flags: Flags(0),
            missed: 0,
            paired: None,
            parameters,
        }
    }

    const SPAN: (&str, &str) = ("zorka", "span");

    #[test]
    fn ids_are_as_they_are_told() {
        let told = identity(
            SPAN,
            &[
                ("trace", "338cf2f2-e9ca-aa39-fd30-99e23b0ab288"),
                ("span", "00AB000000000001"),
                ("parent", "00ab000000000002"),
            ],
        );
        assert_eq!(told.trace.to_string(), "338cf2f2e9caaa39fd3099e23b0ab288");
        assert_eq!(told.trace_text.as_deref(), Some("338cf2f2-e9ca-aa39-fd30-99e23b0ab288"));
        assert_eq!(told.span.to_string(), "00ab000000000001");
        assert_eq!(told.parent.unwrap().to_string(), "00ab000000000002");
        let short = identity(SPAN, &[("trace", "78e5eff426cc737a")]);
        assert_eq!(short.trace.to_string(), "000000000000000078e5eff426cc737a");
    }

    #[test]
    fn texts_that_are_no_ids_keep_what_belongs_together() {
        let [one, other] =
            ["a", "b"].map(|span| identity(SPAN, &[("trace", "order 7"), ("span", span)]));
        assert_eq!((one.trace, one.trace_text.as_deref()), (other.trace, Some("order 7")));
        assert_ne!(one.span, other.span);
        for zeros in [
            "0000000000000000",
            "00000000000000000000000000000000",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert_ne!(identity(SPAN, &[("trace", zeros)]).trace.0, [0; 16]);
            assert_ne!(identity(SPAN, &[("span", zeros)]).span.0, [0; 8]);
        }
    }

    #[test]
    fn ids_that_are_made_are_the_same_in_microseconds() {
        let mut fine = record(("mono", "gc"), &[]);
        let mut ids = Ids::default();
        let first = ids.of(&Item::new(&fine));
        let second = ids.of(&Item::new(&fine));
        assert_ne!(first.span, second.span);
        fine.time -= 500;
        assert_eq!(Ids::default().of(&Item::new(&fine)), first);
    }

    #[test]
    fn an_exception_is_below_its_span() {
        let ids = [("trace", "78e5eff426cc737a"), ("span", "00ab000000000001")];
        let (span, exception) = (identity(SPAN, &ids), identity(("zorka", "exception"), &ids));
        assert_eq!((exception.trace, exception.parent), (span.trace, Some(span.span)));
    }

    #[test]
    fn activities_are_of_one_trace() {
        let paired = |texts: &[(&str, &str)]| {
            let mut record = record(("dotnet", "application"), texts);
            record.paired = Some(5);
            Ids::default().of(&Item::new(&record))
        };
        let root = paired(&[("id", "//1/")]);
        let child = paired(&[("id", "//1/2/"), ("parent", "//1/")]);
        let within = identity(("dotnet", "application"), &[("id", "//1/2/")]);
        assert_eq!((child.trace, child.parent), (root.trace, Some(root.span)));
        assert_eq!((within.trace, within.parent), (root.trace, Some(child.span)));
        assert_ne!(paired(&[("id", "//2/")]).trace, root.trace);
    }
}
