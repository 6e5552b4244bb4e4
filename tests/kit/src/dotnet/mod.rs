//! Streams of .NET runtimes: the captures of qa/corpus/dotnet, and longer ones made of them.

mod writer;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

pub use writer::repeat;

/// Captures.
#[must_use]
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../qa/corpus/dotnet")
}

/// The nettrace stream of a capture, without the answer to the request.
#[must_use]
pub fn stream(name: &str) -> Vec<u8> {
    let file = fs::File::open(corpus().join(format!("{name}.s2c.gz"))).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    if bytes.starts_with(b"DOTNET_IPC_V1") {
        bytes.drain(..usize::from(u16::from_le_bytes([bytes[14], bytes[15]])));
    }
    bytes
}
