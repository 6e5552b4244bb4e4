//! `[trees]`

use std::time::Duration;

use super::units::{bytes, count, short_period};
use crate::model::TreeRules;

crate::section! {
    /// `[trees]`: the trees of methods of the slowest calls, in event records of the kinds `tree`.
    Trees;

    /// Calls of a service in 30 s that have a tree of their methods: the slowest.
    #[serde(deserialize_with = "count::<_, 1, 100>")]
    count: u64 = 10, "10", "1 to 100";

    /// A call that took less has no tree.
    #[serde(deserialize_with = "short_period::<_, 1, 3_600_000>")]
    least: Duration = Duration::from_millis(100), r#""100ms""#, "1ms to 60min";

    /// Trees are made also while nobody reads them.
    always: bool = false, "false", "true or false";

    /// Most bytes of a tree; its smallest branches are summed up until it fits.
    #[serde(deserialize_with = "bytes::<_, { 1 << 10 }, { 16 << 10 }>")]
    size: u64 = 16 << 10, r#""16KiB""#, "1KiB to 16KiB";
}

impl Trees {
    /// What holds for the sources that make trees.
    pub(super) fn rules(&self) -> TreeRules {
        let n = |n| usize::try_from(n).unwrap_or(usize::MAX);
        let Self { count, least, always, size } = *self;
        TreeRules { count: n(count), least, always, size: n(size) }
    }
}
