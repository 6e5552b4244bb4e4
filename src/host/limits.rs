//! Bounds on what is looked at.

use std::time::Duration;

/// Sources that look for processes.
pub const FINDERS: usize = 8;
/// Processes that are known; Linux allows four million. Others are not looked at.
pub const PROCESSES: usize = 65_536;
/// Processes that are looked at in one scan, some 0.1 ms each; the rest waits for the next.
pub const LOOKS: usize = 1_024;
/// Processes of one user that are looked at in one turn of the thread for that.
pub const TURN: usize = super::opener::OPENS;
/// Bytes of a list of mapped files that are read.
pub const MAPS: u64 = 4 << 20;
/// Time for a turn of looks. /proc answers in a millisecond.
pub const LOOK_TIME: Duration = Duration::from_secs(5);
/// The same where other connections wait for it.
pub const ASK_TIME: Duration = Duration::from_secs(1);
/// A look of this time is none that holds others up.
pub const QUICK: Duration = Duration::from_millis(20);
/// Looks that have not come back, one at a process of each user. Each keeps a thread: with so many no process
/// is looked at.
pub const HANGING: usize = 32;
/// Names of files that came or went between two scans, of one finder; with more it looks at all processes.
pub const NAMED: usize = 4_096;
/// Directories that are watched; others are looked into at each look at a process.
pub const WATCHES: usize = 1_024;
/// Time between two looks at a process that a finder wants to see often.
pub const OFTEN: Duration = Duration::from_secs(10);
