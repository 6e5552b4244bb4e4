//! The ways that a process is seen by, and which of them feeds a metric that several have.

/// A way that a process is seen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// The apm agent module.
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
    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The way with the lowest feeds it.
    pub(super) const fn rank(self, way: Way) -> u8 {
        match (self, way) {
            (Self::Categories, Way::Area) => 0,
            (Self::Categories, _) => 1 + way.rank(),
            _ => way.rank(),
        }
    }
}
