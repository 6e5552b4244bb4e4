//! Messages from agent to inspector.

/// Hello: version short, headers. The first message of a connection.
pub const HELLO: u8 = 0;
/// List response: pairs of strings, then a null string.
pub const LIST: u8 = 1;
/// Add response: status, and a header if it is [`Status::Ok`].
pub const ADD: u8 = 2;
/// Remove response: status.
pub const REMOVE: u8 = 3;
/// Sampling: time long, values.
pub const SAMPLING: u8 = 4;

/// The protocol version in Hello.
pub const VERSION: i16 = 1;
/// The index that ends the values of a sample; the reason why no counter has a negative index.
pub const END_OF_VALUES: i16 = -1;
/// The length of a null string, which also ends the pairs of a List response.
pub const NULL_STRING: i32 = -1;

/// Most bytes of a name or a category. The longest name of Mono 6.8 has 41.
pub const LONGEST_NAME: usize = 1024;
/// Most counters of a connection: counts and indexes are signed shorts.
pub const COUNTERS: usize = 32_767;

/// Nanoseconds of a tick, the unit of times.
pub const TICK_NANOSECONDS: u64 = 100;
/// The agents' time of 1970-01-01 00:00 UTC, in ticks since 1601-01-01.
pub const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;

/// `ResponseStatus`: the result of an Add or Remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// The request makes no sense, as with a null name.
    Nok = 1,
    /// No such counter, or no such index.
    NotFound = 2,
    /// The agent samples the counter already.
    Existing = 3,
}

impl Status {
    /// The status of a byte; `None` for a number that no agent sends.
    #[must_use]
    #[inline]
    pub const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Ok,
            1 => Self::Nok,
            2 => Self::NotFound,
            3 => Self::Existing,
            _ => return None,
        })
    }

    /// The name in the protocol's note.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Nok => "NOK",
            Self::NotFound => "NOTFOUND",
            Self::Existing => "EXISTING",
        }
    }
}
