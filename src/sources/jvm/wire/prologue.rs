//! The first 32 bytes of a region, and why one is not read.

use std::fmt::{Display, Formatter};

use crate::read::{Cursor, Order};
use crate::sources::jvm::limits;

/// Bytes of a prologue.
pub(crate) const PROLOGUE: usize = 32;
/// In this order in the file for both byte orders.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// The version since JDK 1.4.2. Minor versions only add.
const MAJOR: u8 = 2;

/// Why a region is not read. Values that it had are not used any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No bytes, or zeros: the JVM has made the file and not written the prologue.
    Empty,
    /// The JVM has not told yet that it has started up.
    Starting,
    /// This many bytes, fewer than a prologue has.
    Short(usize),
    /// This many bytes, more than [`limits::REGION`].
    Long(usize),
    /// Other bytes than the magic ones.
    Magic([u8; 4]),
    /// A byte order that is neither 0 nor 1.
    Order(u8),
    /// Major and minor version.
    Version(u8, u8),
    /// Offset of the first entry: within the prologue, behind the end, or not aligned.
    First(i32),
    /// Number of entries: negative, or above [`limits::ENTRIES`].
    Entries(i32),
    /// Bytes in use: negative, before the first entry, or more than the `length` bytes given.
    Used { used: i32, length: usize },
}

impl Refusal {
    /// The JVM is starting: it is read again soon, and has no reason to be shown for some seconds.
    pub(crate) const fn is_starting(self) -> bool {
        matches!(self, Self::Empty | Self::Starting)
    }
}

const UNKNOWN: &str = "the format of its performance data is not known";
const OTHER: &str = "not a performance data file";
const DAMAGED: &str = "its performance data is damaged";

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Empty | Self::Starting => f.write_str("starting"),
            Self::Version(major, minor) => write!(f, "{UNKNOWN} (version {major}.{minor})"),
            Self::Short(length) | Self::Long(length) => write!(f, "{OTHER} ({length} bytes)"),
            Self::Magic(bytes) => write!(f, "{OTHER} (it begins with {bytes:02x?})"),
            Self::Order(byte) => write!(f, "{DAMAGED} (byte order {byte})"),
            Self::First(at) => write!(f, "{DAMAGED} (first entry at {at})"),
            Self::Entries(count) => write!(f, "{DAMAGED} ({count} entries)"),
            Self::Used { used, length } => write!(f, "{DAMAGED} ({used} bytes in use of {length})"),
        }
    }
}

/// A prologue whose numbers fit the bytes that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prologue {
    /// Byte order of the JVM's machine.
    pub(crate) order: Order,
    /// Bytes in use, this prologue included.
    pub(crate) used: usize,
    /// Bytes of counters that found no room.
    pub(crate) overflow: u64,
    /// Ticks since the JVM's start when an entry was added last.
    pub(crate) changed: i64,
    /// Offset of the first entry.
    pub(crate) first: usize,
    /// Number of entries.
    pub(crate) entries: u32,
}

impl Prologue {
    /// Reads the prologue of a region: all of it, or at least the bytes in use.
    ///
    /// # Errors
    /// The region cannot be read, or not yet.
    pub(crate) fn parse(region: &[u8]) -> Result<Self, Refusal> {
        if region.len() > limits::REGION {
            return Err(Refusal::Long(region.len()));
        }
        let Some(head) = region.first_chunk::<PROLOGUE>() else {
            let empty = region.is_empty();
            return Err(if empty { Refusal::Empty } else { Refusal::Short(region.len()) });
        };
        let &[a, b, c, d, order, major, minor, accessible, ref rest @ ..] = head;
        if head.iter().all(|&byte| byte == 0) {
            return Err(Refusal::Empty);
        }
        if [a, b, c, d] != MAGIC {
            return Err(Refusal::Magic([a, b, c, d]));
        }
        let order = match order {
            0 => Order::Big,
            1 => Order::Little,
            other => return Err(Refusal::Order(other)),
        };
        if major != MAJOR {
            return Err(Refusal::Version(major, minor));
        }
        if accessible != 1 {
            return Err(Refusal::Starting);
        }
        let mut rest = Cursor::new(rest, order);
        let (used, overflow) = (rest.i32().unwrap_or_default(), rest.i32().unwrap_or_default());
        let changed = rest.i64().unwrap_or_default();
        let (first, count) = (rest.i32().unwrap_or_default(), rest.i32().unwrap_or_default());
        let length = region.len();
        let start = usize::try_from(first).ok().filter(|at| (PROLOGUE..=length).contains(at));
        let start = start.filter(|at| at.is_multiple_of(4)).ok_or(Refusal::First(first))?;
        let entries = u32::try_from(count).ok().filter(|&entries| entries <= limits::ENTRIES);
        let entries = entries.ok_or(Refusal::Entries(count))?;
        let end = usize::try_from(used).ok().filter(|&end| end <= length);
        let end = end.filter(|&end| entries == 0 || end >= start);
        let end = end.ok_or(Refusal::Used { used, length })?;
        let overflow = u64::try_from(overflow).unwrap_or_default();
        Ok(Self { order, used: end, overflow, changed, first: start, entries })
    }
}
