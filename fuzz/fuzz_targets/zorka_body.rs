//! Bodies of Zorka agents: encodings, definitions, traces. Parents precede their children, sums of
//! children are those of the records, everything refers to records and to bytes of the body, and no
//! buffer exceeds its cap.
#![no_main]

use pmdaapm::sources::zorka::limits;
use pmdaapm::sources::zorka::wire::{
    AttributeValue, ClassName, FLAG_CLOSED, NONE, Slice, TraceBody,
};
use pmdaapm::sources::zorka::wire::{Content, Definition, definitions, trace, unwrap};

const CAP: usize = 1 << 20;

fn within(slice: Slice, body: &[u8]) {
    assert!(slice.start <= slice.end && slice.end as usize <= body.len());
}

fn check(body: &[u8], out: &TraceBody) {
    let mut children = vec![0_u64; out.records.len()];
    let mut unclosed = 0;
    for (number, record) in out.records.iter().enumerate() {
        let is_closed = record.flags & FLAG_CLOSED != 0;
        assert!(is_closed || (record.duration == 0 && record.calls == 0));
        unclosed += u32::from(!is_closed);
        if record.parent != NONE {
            assert!((record.parent as usize) < number);
            let sum = &mut children[record.parent as usize];
            *sum = sum.saturating_add(record.duration);
        }
        if record.span != NONE {
            assert_eq!(out.spans[record.span as usize].record as usize, number);
        }
    }
    assert_eq!(unclosed, out.unclosed);
    assert!(out.records.iter().map(|r| r.children).eq(children));
    let spans = out.records.iter().filter(|r| r.span != NONE).count();
    assert_eq!(spans, out.spans.len());
    let mut reported = vec![0_u32; out.records.len()];
    for attribute in &out.attributes {
        assert!((attribute.record as usize) < out.records.len());
        match attribute.value {
            AttributeValue::Text(text) => within(text, body),
            AttributeValue::Other(item) => {
                within(item, body);
                assert!(item.start < item.end);
            }
            _ => {}
        }
    }
    for exception in &out.exceptions {
        reported[exception.record as usize] += 1;
        assert!(exception.frames > 0 || exception.first.is_none());
        exception.message.into_iter().for_each(|message| within(message, body));
        if let ClassName::Text(text) = exception.class {
            within(text, body);
        }
    }
    let reports = out.records.iter().zip(&reported);
    assert!(reports.clone().all(|(r, n)| u32::from(r.exceptions) >= *n.min(&u16::MAX.into())));
    assert!(out.records.len() <= limits::RECORDS && out.skipped as usize <= body.len());
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [kind, wire @ ..] = data else { return };
    let content = if kind & 1 == 0 { Content::Trace } else { Content::Definitions };
    let mut out = TraceBody::default();
    let unwrapped = unwrap(content, wire, CAP);
    let body = match &unwrapped {
        Ok(unwrapped) => &unwrapped.bytes[..],
        Err(_) => wire,
    };
    assert!(body.len() <= CAP.max(wire.len()));
    let mut texts = 0;
    let defined = definitions(body, &mut |definition| {
        if let Definition::Symbol { text, .. } = definition {
            texts += text.len();
        }
    });
    assert!(texts <= body.len());
    if let Err(error) = defined {
        assert!(error.at() <= body.len());
    }
    let traced = trace(body, &mut out);
    check(body, &out);
    match traced {
        Err(error) => assert!(error.at() <= body.len()),
        // What follows is decoded, too: a prefix has no more.
        Ok(()) if kind & 2 != 0 => {
            let records = out.records.len();
            let _ = trace(&body[..body.len() / 2], &mut out);
            check(&body[..body.len() / 2], &out);
            assert!(out.records.len() <= records || out.skipped > 0);
        }
        Ok(()) => {}
    }
});
