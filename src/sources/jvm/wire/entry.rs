//! The entries of a region, one after the other. Each says where the next one begins.

use crate::read::Cursor;
use crate::sources::jvm::limits;

use super::prologue::Prologue;

/// Bytes of an entry's head, and the least that an entry can have.
const HEAD: usize = 20;
/// Types as in class files: jlong and bytes. A JVM writes no other.
const LONG: u8 = b'J';
const BYTES: u8 = b'B';
/// The unit of bytes that are a text.
const STRING: u8 = 5;

/// Where a value is, by its offset in the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset in the region; 0: there is no such counter.
    pub(crate) at: u32,
    /// Bytes of a text; 0: a jlong.
    pub(crate) length: u32,
}

/// An entry that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Printable ASCII without blanks, 1 to [`limits::NAME`] bytes.
    pub(crate) name: &'a [u8],
    pub(crate) place: Place,
}

/// A walk over the entries. An item is `None` for one to be skipped: its name or data is outside of
/// it, or of a type that is not known.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    /// The bytes in use.
    bytes: &'a [u8],
    prologue: Prologue,
    at: usize,
    left: u32,
}

impl<'a> Walk<'a> {
    /// Over the region that has this prologue.
    pub(crate) fn new(region: &'a [u8], prologue: Prologue) -> Self {
        let bytes = region.get(..prologue.used).unwrap_or_default();
        Self { bytes, prologue, at: prologue.first, left: prologue.entries }
    }

    /// Entries that are announced and were not met. Behind a walk that has ended: the directory is
    /// damaged, or the JVM has counted an entry that it had not filled in.
    pub(crate) const fn left(&self) -> u32 {
        self.left
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Option<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let mut head = Cursor::new(self.bytes.get(self.at..)?, self.prologue.order);
        let length = usize::try_from(head.i32()?).ok()?;
        if length < HEAD || !length.is_multiple_of(4) {
            return None;
        }
        let end = self.at.checked_add(length)?;
        let bytes = self.bytes.get(self.at..end)?;
        let entry = entry(bytes, self.at, self.prologue);
        (self.at, self.left) = (end, self.left - 1);
        Some(entry)
    }
}

/// The entry of these bytes at this offset.
fn entry(bytes: &[u8], at: usize, prologue: Prologue) -> Option<Entry<'_>> {
    let mut head = Cursor::new(bytes, prologue.order);
    let (_, name_at, elements) = (head.i32()?, head.i32()?, head.i32()?);
    let (kind, _flags, unit, _variability) = (head.u8()?, head.u8()?, head.u8()?, head.u8()?);
    let data_at = head.i32()?;
    let inside = |offset: i32| usize::try_from(offset).ok().filter(|&offset| offset >= HEAD);
    let (name_at, data_at) = (inside(name_at)?, inside(data_at)?);
    let name = bytes.get(name_at..)?;
    let name = name.get(..=limits::NAME).unwrap_or(name);
    let name = name.get(..memchr::memchr(0, name)?)?;
    if name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
        return None;
    }
    let length = match (kind, u32::try_from(elements).ok()?) {
        (LONG, 0) if (at + data_at).is_multiple_of(4) => 0,
        (BYTES, length) if length > 0 && unit == STRING => length,
        _ => return None,
    };
    let size = if length == 0 { size_of::<i64>() } else { usize::try_from(length).ok()? };
    bytes.get(data_at..data_at.checked_add(size)?)?;
    Some(Entry { name, place: Place { at: u32::try_from(at + data_at).ok()?, length } })
}
