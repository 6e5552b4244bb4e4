//! What has been delivered, over restarts: the ids of the newest spans, in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::meaning::SpanId;

/// Ids that are kept: more than the PMDA has records in memory.
const MOST_IDS: usize = 524_288;
/// Bytes of an id.
const WIDTH: usize = 8;

/// The file with the ids of spans that a receiver has taken.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The newest, at most twice as many as are kept.
    ids: Vec<SpanId>,
    most: usize,
}

impl Journal {
    /// Opens or makes it.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with(path, MOST_IDS)
    }

    fn with(path: &Path, most: usize) -> io::Result<Self> {
        let mut bytes = Vec::new();
        match File::open(path) {
            Ok(file) => {
                file.take((2 * most * WIDTH) as u64).read_to_end(&mut bytes)?;
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        let (whole, _) = bytes.as_chunks::<WIDTH>();
        let ids = whole.iter().map(|id| SpanId(*id)).collect();
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut journal = Self { path: path.to_owned(), file, ids, most };
        // An id that was cut at the end would shift those behind it.
        journal.renew()?;
        Ok(journal)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Spans that were delivered.
    pub fn known(&self) -> impl Iterator<Item = SpanId> {
        self.ids.iter().copied()
    }

    /// Notes spans.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn delivered(&mut self, ids: &[SpanId]) -> io::Result<()> {
        self.ids.extend_from_slice(ids);
        if self.ids.len() >= 2 * self.most {
            return self.renew();
        }
        self.file.write_all(&ids.iter().flat_map(|id| id.0).collect::<Vec<_>>())
    }

    /// Writes it anew with the newest ids only, beside the old one.
    fn renew(&mut self) -> io::Result<()> {
        let old = self.ids.len().saturating_sub(self.most);
        self.ids.drain(..old);
        let mut beside = self.path.as_os_str().to_owned();
        beside.push(".new");
        let mut file = File::create(&beside)?;
        file.write_all(&self.ids.iter().flat_map(|id| id.0).collect::<Vec<_>>())?;
        file.sync_data()?;
        fs::rename(&beside, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_beside_each_other_are_apart() {
        let name =
            |end: &str| std::env::temp_dir().join(format!("journals-{}.{end}", std::process::id()));
        let all = ["new", "b"].map(name);
        for (path, n) in all.iter().zip(1..) {
            Journal::open(path).expect("a file").delivered(&[SpanId([n; 8])]).expect("space");
        }
        let known = all.each_ref().map(|path| {
            let known: Vec<_> = Journal::open(path).expect("the file").known().collect();
            fs::remove_file(path).expect("the file");
            known
        });
        assert_eq!(known, [[SpanId([1; 8])], [SpanId([2; 8])]]);
    }

    #[test]
    fn the_newest_are_known_after_a_restart() {
        let path = std::env::temp_dir().join(format!("journal-{}", std::process::id()));
        let id = |n: u64| SpanId(n.to_be_bytes());
        let mut journal = Journal::with(&path, 4).expect("a file");
        for n in 0..9 {
            journal.delivered(&[id(n)]).expect("space");
        }
        drop(journal);
        // Cut in the middle of an id.
        let mut file = OpenOptions::new().append(true).open(&path).expect("the file");
        file.write_all(&[1, 2, 3]).expect("space");
        let mut journal = Journal::with(&path, 4).expect("the file");
        journal.delivered(&[id(9)]).expect("space");
        drop(journal);
        let known: Vec<_> = Journal::with(&path, 4).expect("the file").known().collect();
        fs::remove_file(&path).expect("the file");
        assert_eq!(known, [6, 7, 8, 9].map(id));
    }
}
