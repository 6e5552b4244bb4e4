//! Threads and labels of version 6 (docs/protocols/dotnet.md 4).

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::sources::dotnet::limits;

use super::bytes::Bytes;

/// Activity and related activity.
type Activities = ([u8; 16], [u8; 16]);

/// What rows of version 6 refer to.
#[derive(Debug, Default)]
pub(super) struct Six {
    /// OS thread ids by index.
    threads: HashMap<u64, u64, RandomState>,
    labels: HashMap<u32, Activities, RandomState>,
}

static NONE: Activities = ([0; 16], [0; 16]);

impl Six {
    /// The OS thread id of an index; the index itself if it is not told.
    pub(super) fn thread(&self, index: u64) -> u64 {
        self.threads.get(&index).copied().unwrap_or(index)
    }

    /// The activities of a list of labels.
    pub(super) fn labels(&self, id: u32) -> &Activities {
        self.labels.get(&id).unwrap_or(&NONE)
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.threads.allocation_size() + self.labels.allocation_size()
    }

    /// A sequence point: labels, and perhaps threads, are forgotten.
    pub(super) fn point(&mut self, threads: bool) {
        self.labels.clear();
        if threads {
            self.threads.clear();
        }
    }

    pub(super) fn remove(&mut self, index: u64) {
        self.threads.remove(&index);
    }

    /// A block of threads.
    pub(super) fn add_threads(&mut self, b: &mut Bytes<'_>) -> Option<()> {
        while !b.is_empty() {
            let size = b.u16()?;
            let mut row = Bytes::new(b.take(size.into())?);
            let index = row.var64()?;
            let id = os_thread(&mut row);
            if self.threads.len() < limits::THREADS {
                self.threads.insert(index, id.unwrap_or(index));
            }
        }
        Some(())
    }

    /// A block of lists of labels.
    pub(super) fn add_labels(&mut self, b: &mut Bytes<'_>) -> Option<()> {
        let (first, count) = (b.u32()?, b.u32()?);
        for i in 0..count {
            if b.is_empty() {
                return None;
            }
            let mut list = NONE;
            loop {
                let kind = b.u8()?;
                match kind & 0x7f {
                    1 => list.0 = *b.chunk()?,
                    2 => list.1 = *b.chunk()?,
                    3 => _ = b.take(16)?,
                    4 | 8 => _ = b.u64()?,
                    5 => _ = (b.text8()?, b.text8()?),
                    6 => _ = (b.text8()?, b.var64()?),
                    7 | 9 | 10 => _ = b.u8()?,
                    // A kind of a later version, whose length is unknown: the rest has no labels.
                    _ => return Some(()),
                }
                if kind & 0x80 != 0 {
                    break;
                }
            }
            if list != NONE && self.labels.len() < limits::LABELS {
                self.labels.insert(first.wrapping_add(i), list);
            }
        }
        Some(())
    }
}

/// The OS thread id among what is told of a thread.
fn os_thread(b: &mut Bytes<'_>) -> Option<u64> {
    loop {
        match b.u8()? {
            1 => _ = b.text8()?,
            2 => _ = b.var64()?,
            3 => return b.var64(),
            4 => _ = (b.text8()?, b.text8()?),
            _ => return None,
        }
    }
}
