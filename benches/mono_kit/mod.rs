//! A simulated Mono process for `micro.rs` and `answer.rs`.

use pmdaapm::sources::mono;

/// Hello with 185 counters and 22 samples; see benches/README.md.
pub(crate) const CAPTURE: &[u8] = include_bytes!("../../qa/corpus/mono/c-file-all-gcpressure.bin");

/// The session of process number `n`.
pub(crate) fn session(n: usize) -> mono::Inspector {
    let peer = mono::Origin {
        address: format!("127.0.0.1:{n}"),
        fallback: format!("127.0.0.1#{n}"),
        host: None,
        process: None,
    };
    let settings = mono::Settings {
        select: Vec::new(),
        probe: false,
        name_length: 200,
        names: 4096,
        one_way: true,
    };
    mono::Inspector::new(peer, settings)
}
