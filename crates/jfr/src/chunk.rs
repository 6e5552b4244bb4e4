//! A chunk: its header, its constants, its events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cursor::Cursor;
use crate::metadata::{Class, Classes, classes};
use crate::value::{Key, Record, Value, of_class, skip_class};
use crate::{Error, limits};

/// Bytes of the header.
pub const HEADER: usize = 68;
/// Types of the events of the chunk itself.
const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;

/// The header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Version: 2, and 0 or 1.
    pub version: (u16, u16),
    /// Bytes of the chunk.
    pub size: u64,
    /// Begin of the recording in ns since 1970.
    pub start: i64,
    /// Its length in ns.
    pub duration: i64,
    /// Ticks at the begin.
    pub start_ticks: i64,
    /// Ticks a second.
    pub frequency: i64,
    checkpoint: u64,
    metadata: u64,
}

impl Header {
    /// Decodes the header of the chunk that begins here. `Ok(None)`: there are too few bytes.
    ///
    /// # Errors
    /// It is no chunk of version 2, it is not finished, or larger than [`limits::CHUNK`].
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Error> {
        if !bytes.starts_with(bytes.get(..4).map_or(&[], |_| b"FLR\0")) {
            return Err(Error::Magic);
        }
        let mut rest = Cursor::new(bytes, 4, HEADER);
        let Ok(numbers) = rest.take(HEADER as u64 - 4) else { return Ok(None) };
        let mut at = Cursor::new(numbers, 0, numbers.len());
        let mut number = |size| {
            let bytes = at.take(size).unwrap_or_default();
            bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        let half = |value| u16::try_from(value).unwrap_or(0);
        let version = (half(number(2)), half(number(2)));
        let [size, checkpoint, metadata, start, duration, start_ticks, frequency] =
            [8; 7].map(&mut number);
        let features = u32::try_from(number(4)).unwrap_or(0);
        if version.0 != 2 || features & 1 == 0 {
            return Err(Error::Version(version.0, version.1, features));
        }
        if size > limits::CHUNK {
            return Err(Error::Limit { what: "bytes of a chunk", max: limits::CHUNK });
        }
        // One that is being written has not all of them.
        if size < HEADER as u64 || metadata == 0 || checkpoint == 0 {
            return Err(Error::Incomplete);
        }
        let [start, duration, start_ticks, frequency] =
            [start, duration, start_ticks, frequency].map(u64::cast_signed);
        if frequency <= 0 {
            return Err(Error::Malformed { at: 56, what: "no ticks a second" });
        }
        Ok(Some(Self {
            version,
            size,
            start,
            duration,
            start_ticks,
            frequency,
            checkpoint,
            metadata,
        }))
    }

    /// A number of ticks in ns.
    #[must_use]
    pub fn ns(&self, ticks: i64) -> i64 {
        let ns = i128::from(ticks) * 1_000_000_000 / i128::from(self.frequency.max(1));
        i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
    }

    /// Ticks of a moment in ns since 1970.
    #[must_use]
    pub fn time(&self, ticks: i64) -> i64 {
        self.start.saturating_add(self.ns(ticks.saturating_sub(self.start_ticks)))
    }
}

/// A chunk.
#[derive(Debug)]
pub struct Chunk<'a> {
    bytes: &'a [u8],
    header: Header,
    classes: Classes,
    /// Where constants begin, and where what they are in ends.
    constants: HashMap<Key, (u32, u32)>,
    /// Bytes that may still be walked.
    steps: AtomicU64,
}

/// An event: its fields are those of a record.
pub type Event<'c> = Record<'c>;

/// The events of a chunk.
#[derive(Clone, Debug)]
pub struct Events<'c> {
    chunk: &'c Chunk<'c>,
    at: usize,
}

impl<'a> Chunk<'a> {
    /// Reads the chunk that the bytes begin with: its metadata, and where its constants are. The next one follows
    /// after [`Header::size`] bytes.
    ///
    /// # Errors
    /// It is no chunk, or incomplete, or malformed.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = Header::decode(bytes)?.ok_or(Error::Incomplete)?;
        let size = usize::try_from(header.size).map_err(|_| Error::Incomplete)?;
        let bytes = bytes.get(..size).ok_or(Error::Incomplete)?;
        let place = |at| usize::try_from(at).unwrap_or(usize::MAX);
        let classes = classes(bytes, place(header.metadata))?;
        let steps = AtomicU64::new(header.size.saturating_mul(limits::STEPS));
        let mut chunk = Self { bytes, header, classes, constants: HashMap::new(), steps };
        let (mut at, mut limit) = (place(header.checkpoint), size);
        while let Some(before) = chunk.checkpoint(at, limit)? {
            (limit, at) = (at, before);
        }
        Ok(chunk)
    }

    /// Its header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its classes, in no order.
    pub fn classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.values()
    }

    /// The events in the order in which they were written, which is not that of time.
    #[must_use]
    pub fn events(&'a self) -> Events<'a> {
        Events { chunk: self, at: HEADER }
    }

    /// The constant of a key.
    #[must_use]
    pub fn constant(&'a self, key: Key) -> Value<'a> {
        self.stored(key, true)
    }

    /// The string of a key, which is not that of another one.
    pub(crate) fn string(&'a self, key: Key) -> Value<'a> {
        self.stored(key, false)
    }

    fn stored(&'a self, key: Key, keys: bool) -> Value<'a> {
        let found = self.constants.get(&key).and_then(|(at, end)| {
            let from = Cursor::new(self.bytes, *at as usize, *end as usize);
            of_class(self, from, self.class(key.class)?, keys)
        });
        found.unwrap_or(Value::Null)
    }

    /// So many bytes have been walked. `false`: they are too many.
    pub(crate) fn walks(&self, bytes: usize) -> bool {
        let left = self.steps.load(Ordering::Relaxed).checked_sub(bytes as u64);
        self.steps.store(left.unwrap_or(0), Ordering::Relaxed);
        left.is_some()
    }

    pub(crate) fn class(&self, id: u64) -> Option<&Class> {
        self.classes.get(&id)
    }

    /// Notes where the constants of a checkpoint are, which ends before `limit`. Returns where the one before it
    /// begins: they do not overlap, so the work is no more than the bytes.
    fn checkpoint(&mut self, at: usize, limit: usize) -> Result<Option<usize>, Error> {
        let mut from = Cursor::new(self.bytes, at, limit);
        let size = from.int()?;
        let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size));
        let wrong = from.wrong("a checkpoint that does not fit");
        let end = end.filter(|end| *end <= limit && at >= HEADER).ok_or(wrong)?;
        let mut from = Cursor::new(self.bytes, from.at, end);
        if from.int()? != CHECKPOINT {
            return Err(from.wrong("no checkpoint"));
        }
        // Start and duration.
        from.int()?;
        from.int()?;
        let before = from.int()?.cast_signed();
        let wrong = from.wrong("the checkpoint before is not before");
        from.byte()?;
        let last = u32::try_from(end).map_err(|_| wrong)?;
        for _ in 0..from.count()? {
            let id = from.int()?;
            for _ in 0..from.count()? {
                let key = Key { class: id, key: from.int()? };
                let start = u32::try_from(from.at).map_err(|_| wrong)?;
                let unknown = from.wrong("constants of a class that is unknown");
                let class = self.class(id).ok_or(unknown)?;
                skip_class(self, &mut from, class, 0)?;
                if self.constants.len() >= limits::CONSTANTS {
                    let max = limits::CONSTANTS as u64;
                    return Err(Error::Limit { what: "constants", max });
                }
                // The last one that was written wins.
                self.constants.entry(key).or_insert((start, last));
            }
        }
        if before == 0 {
            return Ok(None);
        }
        let back = (before < 0).then(|| usize::try_from(before.unsigned_abs()).ok()).flatten();
        back.and_then(|back| at.checked_sub(back)).map(Some).ok_or(wrong)
    }
}

impl<'c> Iterator for Events<'c> {
    type Item = Result<Event<'c>, Error>;

    /// The next event of a class that the metadata has. After an error in an event the next one follows, as far
    /// as there is one.
    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.chunk;
        let size = chunk.bytes.len();
        while self.at < size {
            let start = self.at;
            self.at = size;
            let mut from = Cursor::new(chunk.bytes, start, size);
            let length = match from.int() {
                Ok(0) => return None,
                Ok(length) => usize::try_from(length).unwrap_or(usize::MAX),
                Err(error) => return Some(Err(error)),
            };
            let end = start.checked_add(length).filter(|end| (from.at..=size).contains(end));
            let Some(end) = end else { return Some(Err(from.wrong("an event that does not fit"))) };
            self.at = end;
            let mut from = Cursor::new(chunk.bytes, from.at, end);
            let class = match from.int() {
                Ok(METADATA | CHECKPOINT) => continue,
                Ok(id) => chunk.class(id),
                Err(error) => return Some(Err(error)),
            };
            let Some(class) = class else { continue };
            let mut behind = from;
            let whole = skip_class(chunk, &mut behind, class, 0);
            return Some(whole.map(|()| Event { chunk, class, from }));
        }
        None
    }
}
