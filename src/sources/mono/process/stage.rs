//! How far the reading of a process has come.

/// How far one way has come; `session.state` is that of the way that has come furthest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The process is known; nothing of it has been read yet.
    Found = 0,
    /// This user may not read it.
    Denied = 1,
    /// It has said who it is.
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
    pub(super) const fn sees(self) -> bool {
        matches!(self, Self::Found | Self::Connected | Self::Reading)
    }

    /// The one of a number; [`Stage::Gone`] for others.
    pub(super) fn of(number: u8) -> Self {
        Self::ORDER.into_iter().find(|stage| *stage as u8 == number).unwrap_or(Self::Gone)
    }

    /// The one that has come further.
    pub(super) fn further(self, other: Self) -> Self {
        let both = [self, other];
        Self::ORDER.into_iter().find(|stage| both.contains(stage)).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_metric() {
        for number in [0, 1, 2, 3, 5, 6] {
            assert_eq!(Stage::of(number) as u8, number);
        }
        assert_eq!((Stage::of(4), Stage::of(255)), (Stage::Gone, Stage::Gone));
        assert_eq!(Stage::Denied.further(Stage::Connected), Stage::Connected);
        assert_eq!(Stage::Reading.further(Stage::Found), Stage::Reading);
        assert_eq!(Stage::Gone.further(Stage::Refused), Stage::Refused);
    }
}
