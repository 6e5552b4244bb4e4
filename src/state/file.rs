//! Reading and writing the file as a whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::record::{LINE_MAX, Record, VERSION, open, seal};

/// More than this is not read: no file that was written within the limits is so large.
const FILE_MAX: u64 = 256 << 20;
/// Sound lines that are not understood and are kept as they are: a later version wrote them.
const KEPT_MAX: usize = 10_000;

/// What was in the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// In the file's order.
    pub records: Vec<Record>,
    /// Texts of sound lines that are not understood; they are written back.
    pub kept: Vec<String>,
    /// Lines that were damaged.
    pub damaged: usize,
    /// The file is of this version, which is newer than ours: nothing of it was read.
    pub newer: Option<u32>,
}

/// Reads the file.
///
/// # Errors
/// It is not there or cannot be read.
pub fn read(path: &Path) -> io::Result<Loaded> {
    parse(BufReader::with_capacity(256 << 10, File::open(path)?.take(FILE_MAX)))
}

/// What is in the bytes of a file.
pub(super) fn parse(mut input: impl BufRead) -> io::Result<Loaded> {
    let (mut loaded, mut line) = (Loaded::default(), Vec::new());
    loop {
        line.clear();
        if (&mut input).take(LINE_MAX as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(loaded);
        }
        if line.pop_if(|last| *last == b'\n').is_none() {
            // Longer than any line of ours, or the file was cut.
            loaded.damaged += 1;
            skip_line(&mut input)?;
            continue;
        }
        let Some(text) = open(&line) else {
            loaded.damaged += 1;
            continue;
        };
        match Record::parse(text) {
            Some(Record::Head { version, .. }) if version > VERSION => {
                return Ok(Loaded { newer: Some(version), ..Loaded::default() });
            }
            Some(record) => loaded.records.push(record),
            None if loaded.kept.len() < KEPT_MAX => loaded.kept.push(text.to_owned()),
            None => loaded.damaged += 1,
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (n, end) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(n);
        if end {
            return Ok(());
        }
    }
}

/// Where the next file is written before it takes the place of `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// The bytes of a file; their number.
pub(super) fn write_to(
    out: &mut impl Write,
    records: impl Iterator<Item = Record>,
    kept: &[String],
) -> io::Result<u64> {
    let mut size = 0;
    for line in records.map(|r| r.line()).chain(kept.iter().map(|text| seal(text))) {
        size += line.len() as u64;
        out.write_all(line.as_bytes())?;
    }
    Ok(size)
}

/// Writes the file whole, and puts it in the place of the old one when it is on the disk; its size
/// in bytes.
///
/// # Errors
/// What the system says; the old file is as it was.
pub fn write(
    path: &Path,
    records: impl Iterator<Item = Record>,
    kept: &[String],
) -> io::Result<u64> {
    let new = beside(path);
    let written = (|| {
        let mut out = BufWriter::with_capacity(256 << 10, File::create(&new)?);
        let size = write_to(&mut out, records, kept)?;
        out.into_inner()?.sync_all()?;
        std::fs::rename(&new, path)?;
        Ok(size)
    })();
    if written.is_err() {
        // What it has taken of a full disk is free again.
        let _ = std::fs::remove_file(&new);
        return written;
    }
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    written
}
