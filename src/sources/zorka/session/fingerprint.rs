//! Hashes by which copies of requests and traces are recognised (docs/protocols/zorka.md 7).

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use crate::sources::zorka::names::Names;
use crate::sources::zorka::wire::body::{Dialect, NONE, TraceBody};

/// Hashes live only in memory: their function may change.
const STATE: FixedState = FixedState::with_seed(0x7a6f_726b_6100);

/// A request: its trace id and body as they came.
pub(crate) fn of_request(trace_id: &[u8], body: &[u8]) -> u64 {
    STATE.hash_one((trace_id, body))
}

/// The traces of a body, without what a second attempt changes: ids of traces, spans and methods.
/// `None`: nothing to recognise them by.
pub(crate) fn of_traces(body: &TraceBody, names: &Names) -> Option<u64> {
    let mut hasher = STATE.build_hasher();
    let mut known = false;
    body.records.len().hash(&mut hasher);
    for record in body.records.iter().filter(|r| r.parent == NONE) {
        record.duration.hash(&mut hasher);
        if record.dialect == Dialect::Modern {
            // The clock of the JVM, which a second attempt does not change.
            record.start.hash(&mut hasher);
            known = true;
        }
        if let Some(method) = names.get_method(record.method) {
            for id in [method.class, method.name] {
                names.symbol(id).hash(&mut hasher);
            }
        }
        if let Some(span) = body.spans.get(record.span as usize) {
            span.clock.hash(&mut hasher);
            names.symbol(span.kind).hash(&mut hasher);
            known = true;
        }
    }
    known.then(|| hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sources::zorka::wire::body::{Begin, Record};

    fn body(method: u32, kind: u32, id: u64, clock: i64, duration: u64) -> TraceBody {
        let root = Record { parent: NONE, method, duration, span: 0, ..Record::default() };
        let inner = Record { parent: 0, span: NONE, duration: 1, ..Record::default() };
        let mut body = TraceBody::default();
        body.records = vec![root, inner];
        body.spans = vec![Begin { record: 0, depth: 0, kind, clock, id, parent: 0 }];
        body
    }

    #[test]
    fn a_second_attempt_has_the_same_hash() {
        let mut names = Names::new(&Arc::default());
        for (id, text) in [(1, "http"), (2, "com.x.A"), (3, "run"), (4, "walk")] {
            names.define_symbol(id, text.as_bytes());
            names.define_symbol(id + 10, text.as_bytes());
        }
        names.define_method(1, 2, 3, 0);
        names.define_method(9, 12, 13, 0);
        names.define_method(2, 2, 4, 0);
        let hash = |m, k, i, c, d| of_traces(&body(m, k, i, c, d), &names);
        let first = hash(1, 1, 7, 1000, 50);
        assert!(first.is_some());
        assert_eq!(hash(9, 11, 8, 1000, 50), first, "new ids");
        for other in [hash(2, 1, 7, 1000, 50), hash(1, 2, 7, 1000, 50), hash(1, 1, 7, 1001, 50)] {
            assert_ne!(other, first);
        }
        assert_ne!(hash(1, 1, 7, 1000, 51), first);
        assert_eq!(of_traces(&TraceBody::default(), &names), None);
    }

    #[test]
    fn requests_differ_by_id_and_body() {
        assert_eq!(of_request(b"1", b"x"), of_request(b"1", b"x"));
        assert_ne!(of_request(b"1", b"x"), of_request(b"2", b"x"));
        assert_ne!(of_request(b"1", b"x"), of_request(b"1", b"y"));
    }
}
