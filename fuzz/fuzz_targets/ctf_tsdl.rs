//! Untrusted metadata of CTF 1.8, plain or in packets. Whole and in pieces it must decode to the
//! same, with the same errors at the same offsets; offsets are within the text; declarations are
//! never lost; every event record class has a plan.
#![no_main]

use ctf::{MetadataError, Trace};
use libfuzzer_sys::fuzz_target;

/// The result: a description of the trace, and each error.
fn read(bytes: &[u8], piece: usize) -> (String, Vec<MetadataError>) {
    let (mut trace, mut faults) = (Trace::new(), Vec::new());
    let mut classes = 0;
    for part in bytes.chunks(piece.max(1)) {
        let before = faults.len();
        faults.extend(trace.metadata_errors(part).take(part.len() + 1));
        assert!(faults.len() - before <= part.len(), "an error that would come for ever");
        let now: usize = trace.streams().iter().map(|s| s.events().len()).sum();
        let implicit = trace.schema().streams.iter().any(|s| s.implicit);
        assert!(now >= classes || !implicit, "classes are gone");
        classes = now;
    }
    let schema = trace.schema();
    assert!(trace.streams().len() <= schema.streams.len());
    for (plan, class) in trace.streams().iter().zip(&schema.streams) {
        assert_eq!(plan.id, class.id);
        assert!(plan.clock.is_none_or(|clock| clock < schema.clocks.len()));
        for (event, class) in plan.events().iter().zip(&class.events) {
            assert_eq!((event.id, &event.name), (class.id, &class.name));
            assert_eq!(plan.event(event.id).map(|e| e.index), Some(event.index));
            for (n, node) in event.nodes().iter().enumerate() {
                assert!(
                    node.parent.is_none_or(|parent| parent.index() < n),
                    "a node before its parent"
                );
            }
        }
    }
    let mut text = format!("{schema:?} {}", trace.unfinished());
    for stream in trace.streams() {
        text += &format!("{:?}", stream.context_nodes());
        stream.events().iter().for_each(|event| text += &format!("{:?}", event.nodes()));
    }
    (text, faults)
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let (whole, faults) = read(bytes, bytes.len());
    assert_eq!((whole, faults.clone()), read(bytes, usize::from(*piece)));
    for fault in faults {
        let (MetadataError::Malformed { offset, line, .. }
        | MetadataError::Unsupported { offset, line, .. }
        | MetadataError::Limit { offset, line, .. }) = fault
        else {
            panic!("{fault:?}")
        };
        assert!(offset <= bytes.len() as u64 && line <= 1 + bytes.len() as u64);
    }
});
