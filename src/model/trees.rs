//! Which calls have a tree of methods.

use std::time::Duration;

/// `[trees]` of `apm.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRules {
    /// Calls of a service in a window that have a tree: the slowest.
    pub count: usize,
    /// No call that took less has one.
    pub least: Duration,
    /// Trees are made also while nobody reads them.
    pub always: bool,
    /// Bytes of a tree's text.
    pub size: usize,
}

impl Default for TreeRules {
    fn default() -> Self {
        Self { count: 10, least: Duration::from_millis(100), always: false, size: 16 << 10 }
    }
}
