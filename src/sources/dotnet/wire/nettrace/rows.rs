//! Blobs of event and metadata blocks, and what those of version 6 refer to (docs/protocols/dotnet.md
//! 3, 4).

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::bytes::{Bytes, Word};
use super::metadata::Types;
use super::{Event, EventType};
use crate::sources::dotnet::limits;

/// Bytes of the header of a block of events.
const HEADER: usize = 20;

/// Flags of a blob's header: what has changed since the one before.
const TYPE: u8 = 1;
const NUMBER: u8 = 2;
const THREAD: u8 = 4;
const STACK: u8 = 8;
/// Version 6: the list of labels.
const ACTIVITY: u8 = 16;
const RELATED: u8 = 32;
const SORTED: u8 = 64;
const SIZE: u8 = 128;
/// Few blobs have these.
const RARE: u8 = NUMBER | THREAD | ACTIVITY | RELATED;

static ZERO: [u8; 16] = [0; 16];

/// The blobs of a block.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    bytes: Bytes<'a>,
    length: usize,
    compressed: bool,
    six: bool,
    row: Row<'a>,
}

/// The values of a blob's header. Each block begins with zeros.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) type_id: u32,
    pub(super) sequence: u32,
    pub(super) capture_thread: u64,
    pub(super) thread: u64,
    pub(super) stack: u32,
    pub(super) time: u64,
    pub(super) activity: &'a [u8; 16],
    pub(super) related: &'a [u8; 16],
    /// Id of a list of labels, in version 6 in place of the activities.
    pub(super) labels: u32,
    pub(super) sorted: bool,
    size: u32,
}

impl<'a> Rows<'a> {
    /// The blobs of a block behind its header.
    pub(super) fn new(body: &'a [u8], six: bool) -> Option<Self> {
        let mut b = Bytes::new(body);
        let (header, flags) = (usize::from(b.u16()?), b.u16()?);
        b.take(header.max(HEADER) - 4)?;
        let row = Row {
            type_id: 0,
            sequence: 0,
            capture_thread: 0,
            thread: 0,
            stack: 0,
            time: 0,
            activity: &ZERO,
            related: &ZERO,
            labels: 0,
            sorted: false,
            size: 0,
        };
        Some(Self { bytes: b, length: body.len(), compressed: flags & 1 != 0, six, row })
    }

    /// Bytes not yet read.
    pub(super) const fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next blob: header and payload. `None`: it does not fit the block.
    pub(super) fn next(&mut self) -> Option<(&Row<'a>, &'a [u8])> {
        let payload = if self.compressed {
            // The position stays in registers.
            let mut b = self.bytes;
            let payload = self.row.compressed(&mut b, self.six);
            self.bytes = b;
            payload
        } else {
            self.plain()
        }?;
        Some((&self.row, payload))
    }

    /// Most blobs go on with the thread of the one before, and their headers are short: makes
    /// `event`, which is that of the blob before, that of the next one. False, and nothing is
    /// taken: [`next`](Self::next) has to read it.
    #[inline(always)]
    pub(super) fn follow(&mut self, event: &mut Event<'a>, types: &'a Types) -> bool {
        let Some(&[flags, ref word @ ..]) = self.bytes.first::<9>() else { return false };
        if flags & RARE != 0 || !self.compressed {
            return false;
        }
        let mut word = Word::new(*word);
        let (mut event_type, mut stack) = (event.event_type, event.stack);
        let Row { mut type_id, mut size, .. } = self.row;
        if flags & TYPE != 0 {
            let Some(id) = word.var() else { return false };
            let Some(known) = types.get(id) else { return false };
            (type_id, event_type) = (id, known);
        }
        if flags & STACK != 0 {
            let Some(id) = word.var() else { return false };
            stack = id;
        }
        let Some(step) = word.var() else { return false };
        if flags & SIZE != 0 {
            let Some(bytes) = word.var() else { return false };
            size = bytes;
        }
        // Type 0 has no numbers.
        if word.used > 8 || type_id == 0 {
            return false;
        }
        let mut bytes = self.bytes;
        let Some(payload) = bytes.behind(1 + word.used, size as usize) else { return false };
        self.bytes = bytes;
        (self.row.type_id, self.row.size) = (type_id, size);
        (event.event_type, event.stack, event.payload) = (event_type, stack, payload);
        event.time = event.time.wrapping_add(step.into());
        event.sequence = event.sequence.wrapping_add(1);
        event.sorted = flags & SORTED != 0;
        true
    }

    /// The blobs up to that of `event` were read by [`follow`](Self::follow).
    pub(super) const fn followed(&mut self, event: &Event<'a>) {
        let Event { sequence, stack, time, .. } = *event;
        (self.row.sequence, self.row.stack, self.row.time) = (sequence, stack, time);
    }

    /// A blob without compression, of versions 4 and 5.
    #[cold]
    fn plain(&mut self) -> Option<&'a [u8]> {
        let Self { bytes: b, row, .. } = self;
        let _size = b.u32()?;
        let id = b.u32()?;
        // The bit is set on events that are *not* sorted.
        (row.type_id, row.sorted) = (id & !(1 << 31), id >> 31 == 0);
        (row.sequence, row.thread, row.capture_thread) = (b.u32()?, b.u64()?, b.u64()?);
        let _processor = b.u32()?;
        (row.stack, row.time) = (b.u32()?, b.u64()?);
        if self.six {
            row.labels = b.u32()?;
        } else {
            (row.activity, row.related) = (b.chunk()?, b.chunk()?);
        }
        row.size = b.u32()?;
        let payload = b.take(row.size as usize)?;
        let padding = (self.length - b.len()).wrapping_neg() % 4;
        b.take(padding.min(b.len()))?;
        Some(payload)
    }
}

impl<'a> Row<'a> {
    /// The event of this header, of the type that it names.
    pub(super) const fn event(&self, event_type: &'a EventType, payload: &'a [u8]) -> Event<'a> {
        Event {
            event_type,
            time: self.time,
            thread: self.thread,
            capture_thread: self.capture_thread,
            sequence: self.sequence,
            stack: self.stack,
            activity: self.activity,
            related: self.related,
            sorted: self.sorted,
            payload,
        }
    }

    /// The header of a blob with compression: what has changed since the one before. Returns the
    /// payload.
    fn compressed(&mut self, b: &mut Bytes<'a>, six: bool) -> Option<&'a [u8]> {
        let flags = b.u8()?;
        if flags & TYPE != 0 {
            self.type_id = b.var32()?;
        }
        if flags & NUMBER != 0 {
            self.sequence = self.sequence.wrapping_add(b.var32()?);
            self.capture_thread = b.var64()?;
            // The processor: unknown on Linux.
            b.skip_var()?;
        }
        self.sequence = self.sequence.wrapping_add(u32::from(self.type_id != 0 || six));
        if flags & THREAD != 0 {
            self.thread = b.var64()?;
        }
        if flags & STACK != 0 {
            self.stack = b.var32()?;
        }
        self.time = self.time.wrapping_add(b.var64()?);
        if flags & (ACTIVITY | RELATED) != 0 {
            if six {
                if flags & ACTIVITY != 0 {
                    self.labels = b.var32()?;
                }
            } else {
                if flags & ACTIVITY != 0 {
                    self.activity = b.chunk()?;
                }
                if flags & RELATED != 0 {
                    self.related = b.chunk()?;
                }
            }
        }
        self.sorted = flags & SORTED != 0;
        if flags & SIZE != 0 {
            self.size = b.var32()?;
        }
        b.take(self.size as usize)
    }
}

/// Activity and related activity.
type Activities = ([u8; 16], [u8; 16]);

/// What rows of version 6 refer to.
#[derive(Debug, Default)]
pub(super) struct Six {
    /// OS thread ids by index.
    threads: HashMap<u64, u64, RandomState>,
    labels: HashMap<u32, Activities, RandomState>,
}

crate::heap_size!(Six { threads, labels });

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
