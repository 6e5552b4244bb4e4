use std::sync::Arc;

use super::{SpanRecords, Spans, *};
use crate::contract::{Recorded, RecordedEvent};
use crate::events::flags::{ID, PARENT, POINT};
use crate::model::{Memory, Stamp};
use crate::sources::Source;
use crate::sources::zorka::limits::{RECORD_ATTRIBUTES, RECORD_MESSAGE, RECORD_STATEMENT};
use crate::sources::zorka::meter::TraceContext;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::shape::Copies;
use crate::sources::zorka::wire::{
    Attribute, AttributeValue, Begin, ClassName, Dialect, Exception, FLAG_CLOSED, FLAG_ERROR,
    FLAG_SENT, Frame, NONE, Record, Slice, TraceBody,
};
use crate::sources::zorka::{Zorka, metrics as m};

/// A body that is made record by record.
#[derive(Default)]
struct Made {
    body: TraceBody,
    bytes: Vec<u8>,
}

const CLOCK: i64 = 1_795_000_000_000;

impl Made {
    /// A record of method `method`, from `start` on for `duration`, with its own flags.
    fn record(&mut self, parent: u32, method: u32, start: i64, duration: u64, flags: u8) -> u32 {
        let at = self.body.records.len() as u32;
        if let Some(outer) = self.body.records.get_mut(parent as usize) {
            outer.children += duration;
        }
        self.body.records.push(Record {
            parent,
            method,
            start,
            duration,
            calls: 3,
            span: NONE,
            flags: flags | FLAG_CLOSED,
            ..Record::default()
        });
        at
    }

    fn span(&mut self, record: u32, clock: i64, id: u64, parent: u64) {
        self.body.records[record as usize].span = self.body.spans.len() as u32;
        let around = |at: &u32| self.body.records.get(*at as usize).map(|record| record.parent);
        let depth = std::iter::successors(around(&record), around).count() as u32 - 1;
        self.body.spans.push(Begin { record, depth, kind: 1, clock, id, parent });
    }

    fn text(&mut self, text: &[u8]) -> Slice {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        Slice { start, end: self.bytes.len() as u32 }
    }

    fn attribute(&mut self, record: u32, name: u32, value: &[u8]) {
        let value = AttributeValue::Text(self.text(value));
        self.body.attributes.push(Attribute { record, name, value });
    }

    fn exception(&mut self, record: u32, message: &[u8]) {
        let message = Some(self.text(message));
        self.body.records[record as usize].exceptions += 1;
        let first = Some(Frame { class: 2, method: 3, file: 0, line: 0 });
        let class = ClassName::Symbol(99);
        self.body.exceptions.push(Exception { record, id: 1, class, message, frames: 1, first });
    }

    fn emit(&self, allowed: &[&str]) -> Vec<RecordedEvent> {
        let mut names = Names::new(&Arc::new(Memory::default()));
        let symbols =
            ["", "http", "com.x.Shop", "order", "(I)V", "pay", "db.statement", "order.id"];
        for (id, text) in (0..).zip(symbols) {
            names.define_symbol(id, text.as_bytes());
        }
        names.define_method(1, 2, 3, 4);
        names.define_method(2, 2, 5, 4);
        let mut copies = Copies::default();
        copies.find(&self.body);
        let context = TraceContext {
            trace_id: Some("0123456789abcdef"),
            bytes: &self.bytes,
            base64: false,
            copies: &copies,
        };
        let now = Stamp::from_millis(CLOCK + 60_000);
        let spans = Spans { now, context, body: &self.body, names: &names, service: "shop" };
        let mut seen = Recorded::new(&Zorka::TABLE);
        SpanRecords::default().emit(&spans, &Allowed::new(allowed), &mut seen);
        seen.records()
    }
}

#[test]
fn a_span_has_its_ids_first_and_its_methods_by_time() {
    let mut made = Made::default();
    let root = made.record(NONE, 1, 1000, 900, FLAG_ERROR);
    made.span(root, CLOCK, 0xabc, 0);
    let inner = made.record(root, 2, 1100, 500, 0);
    made.record(inner, 7, 1200, 100, 0);
    let nested = made.record(root, 2, 1_501_000, 300, 0);
    made.span(nested, CLOCK + 1, 0xdef, 0);
    let copy = made.record(root, 2, 1700, 50, FLAG_SENT);
    made.span(copy, CLOCK, 0x123, 0);
    let seen = made.emit(&[]);
    let named = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Vec<_>>()
    };
    let seen = seen.into_iter().map(|e| (e.kind, e.stamp, e.flags, e.params));
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [
            (
                m::SPAN,
                Stamp::from_millis(CLOCK),
                POINT | ID,
                named(&[
                    ("span", "0000000000000abc"),
                    ("trace", "0123456789abcdef"),
                    ("type", "http"),
                    ("dialect", "modern"),
                    ("method", "com.x.Shop.order"),
                    ("signature", "(I)V"),
                    ("duration", "900"),
                    ("calls", "3"),
                    ("records", "5"),
                    ("error", "1"),
                    ("service", "shop"),
                    ("top", "Shop.pay=450 #7=100 Shop.order=50"),
                ])
            ),
            (
                m::SPAN,
                // In the millisecond of its clock, where its start is in the outer span.
                Stamp::from_nanos(i128::from(CLOCK) * 1_000_000 + 1_500_000),
                POINT | ID | PARENT,
                named(&[
                    ("span", "0000000000000def"),
                    ("parent", "0000000000000abc"),
                    ("trace", "0123456789abcdef"),
                    ("type", "http"),
                    ("dialect", "modern"),
                    ("method", "com.x.Shop.pay"),
                    ("signature", "(I)V"),
                    ("duration", "300"),
                    ("calls", "3"),
                    ("records", "1"),
                    ("nested", "1"),
                    ("depth", "1"),
                    ("service", "shop"),
                ])
            ),
        ]
    );
}

#[test]
fn a_parent_of_its_own_counts_and_a_clock_far_off_too() {
    let mut made = Made::default();
    let root = made.record(NONE, 1, 0, 900, 0);
    made.span(root, CLOCK, 0, 0);
    let nested = made.record(root, 1, 100, 300, 0);
    made.span(nested, CLOCK + 5000, 0, 0xfff);
    let seen = made.emit(&[]);
    assert_eq!((seen[0].flags, seen[1].flags), (POINT | ID, POINT | ID | PARENT));
    assert_eq!(seen[1].params[1], ("parent".to_owned(), "0000000000000fff".to_owned()));
    assert_eq!(seen[1].stamp, Stamp::from_millis(CLOCK + 5000));
    // Entries of legacy agents are not real.
    made.body.spans[1].clock = CLOCK + 1;
    made.body.records.iter_mut().for_each(|r| (r.dialect, r.start) = (Dialect::Legacy, 70));
    assert_eq!(made.emit(&[])[1].stamp, Stamp::from_millis(CLOCK + 1));
}

/// As those of registered agents.
#[test]
fn spans_without_ids_have_those_of_their_place_in_the_body() {
    let mut made = Made::default();
    let root = made.record(NONE, 1, 0, 900, 0);
    made.span(root, CLOCK, 0, 0);
    let call = made.record(root, 2, 100, 300, 0);
    let inner = made.record(call, 2, 110, 200, 0);
    made.span(inner, CLOCK, 0, 0);
    let innermost = made.record(inner, 2, 120, 100, 0);
    made.span(innermost, CLOCK, 0, 0);
    made.exception(innermost, b"bad");
    let ids = |made: &Made| {
        let seen = made.emit(&[]);
        let id = |record: &RecordedEvent, name| record.get(name).map(str::to_owned);
        seen.iter().map(|record| (id(record, "span"), id(record, "parent"))).collect::<Vec<_>>()
    };
    let seen = ids(&made);
    assert!(seen.iter().all(|(id, _)| id.as_ref().is_some_and(|id| id.len() == 16)), "{seen:?}");
    assert!(seen[0].0 != seen[1].0 && seen[1].0 != seen[2].0 && seen[0].0 != seen[2].0);
    let parents = seen.iter().map(|(_, parent)| parent);
    assert!(parents.eq([&None, &seen[0].0, &seen[1].0, &None]), "{seen:?}");
    assert_eq!(seen[3].0, seen[2].0, "of the exception");
    assert_eq!(ids(&made), seen, "the same body");
    made.exception(innermost, b"worse");
    let other = ids(&made);
    assert!(other[..3].iter().zip(&seen).all(|(other, one)| other.0 != one.0), "another body");
}

#[test]
fn an_exception_is_that_of_its_span_and_of_its_call() {
    let mut made = Made::default();
    let root = made.record(NONE, 1, 0, 900, FLAG_ERROR);
    made.span(root, CLOCK, 0xabc, 0);
    let handled = made.record(root, 2, 10, 20, 0);
    made.exception(handled, b"handled");
    let inner = made.record(root, 2, 100, 300, 0);
    made.exception(inner, b"bad");
    let sound = made.record(NONE, 1, 0, 900, 0);
    made.span(sound, CLOCK, 0xdef, 0);
    let handled = made.record(sound, 2, 10, 20, 0);
    made.exception(handled, b"handled too");
    let seen = made.emit(&[]);
    assert_eq!(seen.len(), 5);
    assert_eq!(seen[0].get("exception.message"), Some("bad"));
    assert_eq!(seen[0].get("exception.class"), Some("#99"));
    assert_eq!(seen[0].get("exception.frame"), Some("com.x.Shop.order()"));
    assert_eq!(seen[1].get("exception.message"), None);
    let reports: Vec<_> = (2..5).map(|n| (seen[n].kind, seen[n].get("span"))).collect();
    let (first, second) = (Some("0000000000000abc"), Some("0000000000000def"));
    assert_eq!(reports, [(m::EXCEPTION, first), (m::EXCEPTION, first), (m::EXCEPTION, second)]);
    // At the end of the call.
    assert_eq!(seen[3].stamp, Stamp::from_nanos(i128::from(CLOCK) * 1_000_000 + 400));
    assert_eq!((seen[3].flags, seen[3].get("method")), (POINT | ID, Some("com.x.Shop.pay")));
    // A call that is in no span has the time of arrival.
    made.body.spans.clear();
    made.body.records.iter_mut().for_each(|r| r.span = NONE);
    let seen = made.emit(&[]);
    assert_eq!(
        (seen.len(), seen[0].stamp, seen[0].flags),
        (3, Stamp::from_millis(CLOCK + 60_000), POINT)
    );
}

#[test]
fn long_texts_are_cut_at_characters_and_the_last_of_several_values_counts() {
    let mut made = Made::default();
    let root = made.record(NONE, 1, 0, 900, FLAG_ERROR);
    made.span(root, CLOCK, 0xabc, 0);
    made.attribute(root, 6, b"first");
    made.attribute(root, 6, "é".repeat(9000).as_bytes());
    made.attribute(root, 7, b"a\xff");
    for _ in 0..100 {
        made.attribute(root, 7, &[b'x'; 2000]);
    }
    made.attribute(root, 7, b"null");
    made.attribute(root, 7, b"the \"last\"");
    made.attribute(7, 7, b"of no record");
    made.exception(root, "x€".repeat(9000).as_bytes());
    let seen = made.emit(&["db.statement", "order.id"]);
    let statement = seen[0].get("db.statement").unwrap();
    assert_eq!((statement.len(), statement.chars().all(|c| c == 'é')), (RECORD_STATEMENT, true));
    assert_eq!(seen[0].get("exception.message").unwrap().len(), RECORD_MESSAGE);
    let others = seen[0].get("attributes").unwrap();
    assert!(others.starts_with("order.id=a\u{fffd} order.id=xxx"), "{others}");
    assert!(
        others.len() <= RECORD_ATTRIBUTES && others.ends_with(r#" order.id="the \"last\"""#),
        "{others}"
    );
    assert!(made.emit(&[])[0].get("attributes").is_none());
}
