//! Streams of runtime events: nettrace 4, 5 and 6 (docs/protocols/dotnet.md 3, 4).
//!
//! ```text
//!  bytes ─▶ reader (objects, blocks) ─┬─▶ metadata ─▶ EventType ─┐
//!                                     ├─▶ rows ─▶ losses ─▶ Event┼─▶ Visitor
//!                                     └─▶ stacks, points ────────┘
//!  Event.payload + EventType.fields ─▶ values
//! ```

mod blocks;
mod bytes;
mod metadata;
mod reader;
mod rows;
#[cfg(test)]
mod tests;
mod values;

pub use blocks::Losses;
pub use reader::Reader;
pub use values::{Elements, Value, Values};

use std::sync::Arc;

use crate::model::Stamp;
use bytes::Bytes;

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Its type.
    pub event_type: &'a EventType,
    /// Ticks of [`Header::ticks`]' clock.
    pub time: u64,
    /// OS thread id in the process's pid namespace; the sampled one for the sample profiler.
    pub thread: u64,
    /// The thread that wrote the event, whose numbers count.
    pub capture_thread: u64,
    /// Number of the event among those of the capture thread, from 1.
    pub sequence: u32,
    /// Id of a stack that came before in the stream; 0: none.
    pub stack: u32,
    /// Activity id; zeros: none.
    pub activity: &'a [u8; 16],
    /// Related activity id; zeros: none.
    pub related: &'a [u8; 16],
    /// Nothing that follows in the stream is older.
    pub sorted: bool,
    /// The payload.
    pub payload: &'a [u8],
}

/// The instruction pointers of a stack, the leaf first.
#[derive(Clone, Copy, Debug)]
pub struct Ips<'a> {
    bytes: &'a [u8],
    pointer_size: u8,
}

impl<'a> Ips<'a> {
    const fn new(bytes: &'a [u8], pointer_size: u8) -> Self {
        Self { bytes, pointer_size }
    }

    /// Number of frames.
    #[must_use]
    pub fn len(self) -> usize {
        self.bytes.len() / usize::from(self.pointer_size.max(1))
    }

    /// True for the stack without frames.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The frames, the leaf first.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        self.bytes.chunks_exact(usize::from(self.pointer_size.max(1))).map(|ip| match *ip {
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        })
    }
}

/// What a stream brings, in its order.
pub trait Visitor {
    /// The trace header: once, before all else.
    fn header(&mut self, header: &Header) {
        let _ = header;
    }

    /// A type of events, before the first of them. An index that came before has a new meaning now.
    fn event_type(&mut self, event_type: &EventType) {
        let _ = event_type;
    }

    /// An event.
    fn event(&mut self, event: &Event<'_>);

    /// A stack, before the first event that has it.
    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        let _ = (id, ips);
    }

    /// A sequence point: ids of stacks are forgotten, and all that follows is younger than all
    /// before.
    fn point(&mut self) {}

    /// The process lost events that it could not write; they are in [`Reader::losses`].
    fn lost(&mut self, events: u64) {
        let _ = events;
    }
}

/// A type of events, as the stream describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Position among the types of the stream, from 0 without gaps.
    pub index: u32,
    /// Name of the provider.
    pub provider: Arc<str>,
    /// Id of the event at its provider.
    pub id: u32,
    /// Version of the payload.
    pub version: u32,
    /// Level: 1 critical to 5 verbose; 0 always.
    pub level: u32,
    /// Keywords.
    pub keywords: u64,
    /// Name; empty for native runtime events (docs/protocols/dotnet.md 3).
    pub name: Box<str>,
    /// Opcode; 0: none.
    pub opcode: u8,
    /// Fields; none for native runtime events and for unsupported parameters.
    pub fields: Vec<Field>,
    /// `fields` are all there are. False: a type is unknown, or a limit was reached.
    pub complete: bool,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name; empty for the object around EventCounters.
    pub name: Box<str>,
    /// Type.
    pub kind: FieldType,
}

/// Types of fields (docs/protocols/dotnet.md 3, 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Fields.
    Object(Vec<Field>),
    /// 4 bytes.
    Bool,
    /// 1 byte.
    Bool8,
    /// A UTF-16 unit.
    Char,
    /// A UTF-8 unit.
    Char8,
    /// 1 byte, signed.
    I8,
    /// 1 byte.
    U8,
    /// 2 bytes, signed.
    I16,
    /// 2 bytes.
    U16,
    /// 4 bytes, signed.
    I32,
    /// 4 bytes.
    U32,
    /// 8 bytes, signed.
    I64,
    /// 8 bytes.
    U64,
    /// 1 to 10 bytes, signed (zigzag).
    VarI64,
    /// 1 to 10 bytes.
    VarU64,
    /// 4 bytes.
    F32,
    /// 8 bytes.
    F64,
    /// 16 bytes.
    Decimal,
    /// 8 bytes: 100 ns since 1601-01-01 UTC.
    Time,
    /// 16 bytes.
    Guid,
    /// UTF-16 up to a NUL.
    Text,
    /// Number of elements (2 bytes) and elements.
    Array(Box<Self>),
    /// So many elements.
    Fixed(Box<Self>, u16),
    /// 4 bytes: length << 16 | offset from behind these bytes.
    RelLoc(Box<Self>),
    /// 4 bytes: length << 16 | offset in the payload.
    DataLoc(Box<Self>),
}

/// The trace header: the clock (docs/protocols/dotnet.md 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the format: 4, 5 or 6.
    pub version: u32,
    /// Wall clock at `ticks`, in whole milliseconds.
    pub utc: Stamp,
    /// The clock of events at `utc`.
    pub ticks: u64,
    /// Ticks a second: 1,000,000,000 on Linux, where the clock is CLOCK_MONOTONIC.
    pub frequency: u64,
    /// Bytes of a pointer: 4 or 8.
    pub pointer_size: u8,
}

impl Header {
    /// Bytes of the header's body in versions 4 and 5.
    const LENGTH: usize = 48;

    /// The time and clock that all versions begin with. `None`: impossible.
    fn begin(b: &mut Bytes<'_>, version: u32) -> Option<Self> {
        let utc = utc(b)?;
        let (ticks, frequency) = (b.u64()?, b.u64()?);
        let pointer_size = match b.u32()? {
            4 => 4,
            8 => 8,
            _ => return None,
        };
        if frequency == 0 || frequency > i64::MAX.cast_unsigned() {
            return None;
        }
        Some(Self { version, utc, ticks, frequency, pointer_size })
    }

    /// The header of versions 4 and 5: process id, processors and period of the sampler follow.
    fn four(b: &mut Bytes<'_>, version: u32) -> Option<Self> {
        let header = Self::begin(b, version)?;
        b.take(12).map(|_| header)
    }

    /// The header of version 6: the rest are keys and values (docs/protocols/dotnet.md 4).
    fn six(b: &mut Bytes<'_>) -> Option<Self> {
        let header = Self::begin(b, 6)?;
        for _ in 0..b.u32()? {
            b.text8().zip(b.text8())?;
        }
        Some(header)
    }
}

/// A SYSTEMTIME: year, month, day of week, day, hour, minute, second, millisecond.
fn utc(b: &mut Bytes<'_>) -> Option<Stamp> {
    let (year, month, _, day) = (b.u16()?, b.u16()?, b.u16()?, b.u16()?);
    let (hour, minute, second, ms) = (b.u16()?, b.u16()?, b.u16()?, b.u16()?);
    let good = (1601..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && ms < 1000;
    if !good {
        return None;
    }
    let sec = days(i64::from(year), i64::from(month), i64::from(day)) * 86_400
        + i64::from(hour) * 3600
        + i64::from(minute) * 60
        + i64::from(second);
    Some(Stamp { sec, nsec: u32::from(ms) * 1_000_000 })
}

/// Days since 1970-01-01 of a date of the Gregorian calendar. Years begin in March here, so that
/// the leap day is the last of its year.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Why the rest of a stream cannot be decoded. What came before counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} at byte {at} of the stream", self.kind.name())]
pub struct NettraceError {
    kind: ErrorKind,
    at: u64,
}

/// The kinds of [`NettraceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Not a nettrace stream, or a version other than 4, 5 and 6.
    Signature,
    /// Not an object, or not its end.
    Object,
    /// An object that needs a later reader.
    Version,
    /// A trace header that is absent, doubled or impossible.
    Header,
    /// A block or a name over its limit in `limits`.
    Size,
    /// A block that ends within an item.
    Truncated,
    /// An event of a type that the stream has not described.
    Type,
    /// Too many event types.
    Types,
}

impl ErrorKind {
    /// A few lower-case words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signature => "no known nettrace",
            Self::Object => "no object",
            Self::Version => "too new an object",
            Self::Header => "bad trace header",
            Self::Size => "too large an item",
            Self::Truncated => "truncated item",
            Self::Type => "unknown event type",
            Self::Types => "too many event types",
        }
    }
}

impl NettraceError {
    const fn new(kind: ErrorKind, at: u64) -> Self {
        Self { kind, at }
    }

    /// Why.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Bytes from the start of the stream.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }
}
