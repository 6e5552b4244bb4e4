//! Open files of the process: their limit, and those that are kept for its own needs.

use std::os::fd::{AsFd, AsRawFd};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are left for files which are opened for a moment (state, log, /proc, folders), whatever peers open;
/// half of the limit if that is less.
const RESERVE: u64 = 32;

/// Raises the limit of open files to its maximum: each connection needs one.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // On failure the limit stays as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Whether a descriptor that was opened just now leaves 32 free ones. What a peer has caused and does not is to be
/// closed again.
#[must_use]
pub fn leaves_reserve(opened: impl AsFd) -> bool {
    // The kernel gives the lowest free number: all below are in use.
    let number = u64::try_from(opened.as_fd().as_raw_fd()).unwrap_or_default();
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    number < most(limit)
}

/// Numbers from here on are the reserve.
const fn most(limit: u64) -> u64 {
    let reserve = if limit / 2 < RESERVE { limit / 2 } else { RESERVE };
    limit - reserve
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_numbers_are_the_reserve() {
        assert_eq!((most(1024), most(64), most(20), most(0)), (992, 32, 10, 0));
        assert_eq!(most(u64::MAX), u64::MAX - 32);
        assert!(leaves_reserve(std::io::stdin()));
    }
}
