//! The processes of this host, and the ways that each is seen by: one process is one instance.
//!
//! ```text
//!  module  (connection, file) ─┐ said: pid, command   ┌──────────┐ seat: identity of the process,
//!  stream  (connection, file) ─┼─────────────────────▶│processes │──▶ and which metrics it feeds now
//!  area    (/dev/shm/mono.N)  ─┘ facts                └────┬─────┘
//!                                                   host: /proc
//! ```
//!
//! A process is its id on this host and its start time. What a peer says of itself is true in its
//! own pid namespace only, so [`Host`] finds the process that has the connection or the file
//! open. A peer of another host and the file of a process that has ended have no seat.

mod facts;
mod processes;
mod seat;
#[cfg(test)]
mod tests;

pub(crate) use facts::{Facts, Host, PROGRAM, Said, Via, program, tidy};
pub(crate) use processes::{Joining, Processes};
pub(crate) use seat::{LABEL, PROGRAM_ROW, Seat, Shown, Sum, Tally, bind_program};

/// A way that a process is seen by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// The apm agent module.
    #[default]
    Module,
    /// The log profiler's stream.
    Stream,
    /// The shared area in /dev/shm.
    Area,
}

impl Way {
    /// The bit in a set.
    pub(crate) const fn bit(self) -> u8 {
        1 << self.rank()
    }

    /// The place among the connections of a peer: requests go to the best.
    pub(crate) const fn rank(self) -> u8 {
        match self {
            Self::Module => 0,
            Self::Stream => 1,
            Self::Area => 2,
        }
    }
}

/// Metrics that only one way of a process may feed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Share {
    /// The runtime's counters.
    Counters,
    /// User-defined categories of counters: the area has all values, a stream those that changed.
    Categories,
    /// `exceptions.count`.
    Exceptions,
    /// `jit.methods`.
    Methods,
    /// `pool.*`.
    Pool,
}

impl Share {
    /// All of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Counters, Self::Categories, Self::Exceptions, Self::Methods, Self::Pool];

    /// The bit in a set.
    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The way with the lowest feeds it.
    const fn rank(self, way: Way) -> u8 {
        match (self, way) {
            (Self::Categories, Way::Area) => 0,
            (Self::Categories, _) => 1 + way.rank(),
            _ => way.rank(),
        }
    }
}

/// How far one way has come; `session.state` is that of the way that has come furthest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The process is known; nothing of it has been read yet.
    Found = 0,
    /// This user may not read it.
    Denied = 1,
    /// It has said who it is.
    #[default]
    Connected = 2,
    /// Values come.
    Reading = 3,
    /// What it has cannot be read.
    Refused = 5,
    /// It has ended, or is no longer read.
    Gone = 6,
}

impl Stage {
    /// All of them, the furthest first.
    const ORDER: [Self; 6] =
        [Self::Reading, Self::Connected, Self::Found, Self::Denied, Self::Refused, Self::Gone];

    /// Whether the way sees the process, or only knows that it is there.
    const fn sees(self) -> bool {
        matches!(self, Self::Found | Self::Connected | Self::Reading)
    }

    /// The one of a number; [`Stage::Gone`] for others.
    fn of(number: u8) -> Self {
        Self::ORDER.into_iter().find(|stage| *stage as u8 == number).unwrap_or(Self::Gone)
    }

    /// The one that has come further.
    fn further(self, other: Self) -> Self {
        let both = [self, other];
        Self::ORDER.into_iter().find(|stage| both.contains(stage)).unwrap_or(self)
    }
}
