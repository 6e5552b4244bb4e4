//! Captures of Mono 6.8 and 6.12, and vectors made by hand (qa/corpus/mono/mlpd).

mod captures;
mod facts;
mod hostile;
mod pieces;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::BytesMut;
use flate2::read::GzDecoder;

use super::{Decoder, MlpdError, Visitor};

/// Folders with captures; the second has the big ones, and is not everywhere.
fn folders() -> [PathBuf; 2] {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    [top.join("qa/corpus/mono/mlpd"), top.join("../shared/data/mono")]
}

/// Names and paths of all captures, each once.
pub(super) fn captures() -> Vec<(String, PathBuf)> {
    let mut found = Vec::<(String, PathBuf)>::new();
    for folder in folders() {
        for file in fs::read_dir(folder).into_iter().flatten() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some((name, "mlpd" | "mlpd.gz")) = name.split_once('.') else { continue };
            if !found.iter().any(|(other, _)| other == name) {
                found.push((name.to_owned(), path.clone()));
            }
        }
    }
    found.sort();
    assert!(found.len() > 35, "where have the captures gone?");
    found
}

/// What is behind gzip: a broken gzip stream up to its break. `None`: it is not zipped.
fn unzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let _ = GzDecoder::new(bytes).read_to_end(&mut decoded);
        return Some(decoded);
    }
    None
}

/// A capture as Mono wrote it: `.gz` is ours.
pub(super) fn raw(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    if path.extension().is_some_and(|e| e == "gz") { unzip(&bytes) } else { Some(bytes) }
}

/// The stream of a capture, whatever was zipped.
pub(super) fn stream(path: &Path) -> Vec<u8> {
    let bytes = raw(path).unwrap();
    unzip(&bytes).unwrap_or(bytes)
}

/// Feeds all bytes at once.
fn read(bytes: &[u8], visitor: &mut impl Visitor) -> (Decoder, usize, Result<(), MlpdError>) {
    let (mut decoder, mut input) = (Decoder::default(), BytesMut::from(bytes));
    let done = decoder.feed(&mut input, visitor);
    assert_eq!(decoder.offset() + input.len() as u64, bytes.len() as u64);
    (decoder, input.len(), done)
}
