//! Captures of three runtimes, and streams made by hand (qa/corpus/dotnet).

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::BytesMut;
use flate2::read::GzDecoder;

use super::{NettraceError, Reader, Visitor};

mod captures;
mod follow;
mod hand;
mod header;
mod hostile;
mod pieces;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet")
}

/// Names of all captures.
fn captures() -> Vec<String> {
    let names = fs::read_dir(corpus()).unwrap().map(|f| f.unwrap().file_name());
    let mut names: Vec<_> =
        names.filter_map(|n| Some(n.to_str()?.strip_suffix(".s2c.gz")?.to_owned())).collect();
    names.sort();
    assert!(names.len() > 40, "where have the captures gone?");
    names
}

/// The stream of a capture, without the answer to the request.
fn stream(name: &str) -> Vec<u8> {
    let file = fs::File::open(corpus().join(format!("{name}.s2c.gz"))).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    if bytes.starts_with(b"DOTNET_IPC_V1") {
        bytes.drain(..usize::from(u16::from_le_bytes([bytes[14], bytes[15]])));
    }
    bytes
}

/// Feeds all bytes at once.
fn read(bytes: &[u8], visitor: &mut impl Visitor) -> (Reader, Result<(), NettraceError>) {
    let (mut reader, mut input) = (Reader::new(), BytesMut::from(bytes));
    let done = reader.feed(&mut input, visitor);
    assert_eq!(reader.offset() + input.len() as u64, bytes.len() as u64);
    (reader, done)
}
