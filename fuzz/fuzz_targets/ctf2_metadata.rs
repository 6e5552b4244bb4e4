//! Untrusted metadata of CTF 2: fragments between separators. Whole and in pieces it must decode to
//! the same; accepted field classes are consistent; a packet of zeros does no harm.
#![no_main]

use ctf::oracle::{by_plan, by_types};
use ctf::{MetadataError, Trace};
use libfuzzer_sys::fuzz_target;

fn read(bytes: &[u8], piece: usize) -> (Trace, Vec<MetadataError>) {
    let (mut trace, mut faults) = (Trace::new(), Vec::new());
    for part in bytes.chunks(piece.max(1)) {
        let before = faults.len();
        faults.extend(trace.metadata_errors(part).take(part.len() + 1));
        assert!(faults.len() - before <= part.len(), "an error that would come for ever");
    }
    (trace, faults)
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, rest)) = data.split_first() else { return };
    let mut bytes = b"\x1e{\"type\":\"preamble\",\"version\":2}".to_vec();
    bytes.extend(rest);
    let (whole, faults) = read(&bytes, bytes.len());
    let (parts, same) = read(&bytes, usize::from(*piece));
    // Errors of JSON have an offset in the text, which is the same in both runs.
    assert_eq!(faults, same);
    assert_eq!(format!("{:?}", whole.schema()), format!("{:?}", parts.schema()));
    if whole.schema().streams.iter().any(|s| s.events.len() > 1) {
        return;
    }
    let packet = [0; 64];
    let fast = by_plan(&whole, &packet, true);
    if fast.sound {
        assert_eq!(fast, by_types(whole.schema(), &packet));
    }
});
