//! Reads and writes the whole state file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::record::{LINE_MAX, Record, VERSION, open, seal};

/// Most bytes read: a file within the limits is never larger.
const FILE_MAX: u64 = 256 << 20;
/// Most undamaged lines of unknown kinds that are kept as they are: a later version wrote them.
const KEPT_MAX: usize = 10_000;

/// The content of a state file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// In the file's order.
    pub records: Vec<Record>,
    /// Texts of undamaged lines of unknown kinds; they are written back.
    pub kept: Vec<String>,
    /// Damaged lines.
    pub damaged: usize,
    /// The file's version, if it is newer than [`VERSION`]: nothing else of the file is read then.
    pub newer: Option<u32>,
}

/// Makes an empty file; it may be in the place of what was there.
pub type Create = fn(&Path) -> io::Result<File>;

/// Reads an open file.
///
/// # Errors
/// The file cannot be read.
pub fn read(file: File) -> io::Result<Loaded> {
    parse(BufReader::with_capacity(256 << 10, file.take(FILE_MAX)))
}

/// Parses the bytes of a file.
pub(super) fn parse(mut input: impl BufRead) -> io::Result<Loaded> {
    let (mut loaded, mut line) = (Loaded::default(), Vec::new());
    loop {
        line.clear();
        if (&mut input).take(LINE_MAX as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(loaded);
        }
        if line.pop_if(|last| *last == b'\n').is_none() {
            // A line longer than any valid one, or a file that was cut.
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

/// The path of the next file, which replaces `path` when it is complete.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// Writes the bytes of a file; returns their number.
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

/// When a new file takes the old one's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// When the disk has it: after a crash of the system there is one or the other.
    Synced,
    /// At once; it is synced then. For the last one: pmcd kills a PMDA some 100 ms after it has told
    /// it to end, and a busy disk takes longer.
    AtOnce,
}

/// Writes a new file, syncs it to the disk and renames it over the old one; returns its size in
/// bytes.
///
/// # Errors
/// The system's error; the old file is unchanged, unless it was replaced at once.
pub fn write(
    path: &Path,
    create: Create,
    replace: Replace,
    records: impl Iterator<Item = Record>,
    kept: &[String],
) -> io::Result<u64> {
    let new = beside(path);
    let written = (|| {
        let mut out = BufWriter::with_capacity(256 << 10, create(&new)?);
        let size = write_to(&mut out, records, kept)?;
        let file = out.into_inner()?;
        if replace == Replace::AtOnce {
            std::fs::rename(&new, path)?;
            file.sync_all()?;
        } else {
            file.sync_all()?;
            std::fs::rename(&new, path)?;
        }
        Ok(size)
    })();
    if written.is_err() {
        // Frees its space on a full disk.
        let _ = std::fs::remove_file(&new);
        return written;
    }
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    written
}
