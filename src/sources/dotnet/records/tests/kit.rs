//! A peer that keeps records, and streams to play into it.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use flate2::read::GzDecoder;

use crate::contract::Recorded;
use crate::model::{Now, Stamp};
use crate::sources::Source;
use crate::sources::dotnet::stream::{Parts, Stream, Ticks};
use crate::sources::dotnet::{Config, Dotnet};

/// A process that keeps its records.
pub(super) fn recorded() -> Recorded {
    Recorded::new(&Dotnet::TABLE)
}

/// All kinds, and no limit.
pub(super) fn all() -> Config {
    let kinds = ["gc", "exception", "contention", "starvation", "assembly", "method", "allocation"];
    Config {
        records: kinds.map(str::to_owned).to_vec(),
        records_rate: 1_000_000,
        contention_record: 0,
        ..Config::default()
    }
}

/// The stream of a capture.
pub(super) fn capture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet");
    let file = std::fs::File::open(path.join(format!("{name}.s2c.gz"))).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    if bytes.starts_with(b"DOTNET_IPC_V1") {
        bytes.drain(..usize::from(u16::from_le_bytes([bytes[14], bytes[15]])));
    }
    bytes
}

/// Plays a stream in pieces of this many bytes; each is a turn of the reader, and `batch` of them
/// are a batch.
pub(super) fn play_in(bytes: &[u8], config: &Config, piece: usize, batch: usize) -> Recorded {
    let mut peer = recorded();
    play_into(bytes, config, (piece, batch), &mut peer);
    peer
}

pub(super) fn play_into(
    bytes: &[u8],
    config: &Config,
    (piece, batch): (usize, usize),
    peer: &mut Recorded,
) -> Parts {
    let (mut stream, mut parts) = (Stream::default(), Parts::new(config, Box::new(Named)));
    let mut input = BytesMut::new();
    let now = Now { wall: Stamp { sec: 1_800_000_000, nsec: 0 }, monotonic: Duration::ZERO };
    for (n, piece) in bytes.chunks(piece).enumerate() {
        input.extend_from_slice(piece);
        let _ = stream.feed(now, Ticks(0), &mut input, &mut parts, peer);
        stream.report(&mut parts, peer);
        if n % batch == batch - 1 {
            parts.quiet(peer);
        }
    }
    parts.quiet(peer);
    parts.quiet(peer);
    parts
}

/// Plays a capture as a whole.
pub(super) fn play(name: &str, config: &Config) -> Recorded {
    play_in(&capture(name), config, usize::MAX, 1)
}

/// Knows all threads, and stack 1.
#[derive(Debug)]
struct Named;

impl super::super::Lookup for Named {
    fn thread_name(&mut self, thread: u64) -> Option<String> {
        Some(format!("t{thread}"))
    }

    fn stack(&mut self, id: u32, to: &mut String) {
        to.push_str(&format!("Main,Of{id}"));
    }
}
