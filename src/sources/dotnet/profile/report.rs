//! What a burst tells: rows, and the answer to its request.

use std::fmt::Write;

use super::weigh::Named;
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::model::{RowItem, TableId};
use crate::sources::dotnet::metrics as m;

/// A finished burst.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst<'a> {
    pub(super) samples: u64,
    /// Processor time of the samples in ns.
    pub(super) time: u64,
    /// Samples whose thread's processor time nobody knows.
    pub(super) untimed: u64,
    pub(super) stacks: usize,
    /// Methods known.
    pub(super) methods: usize,
    /// Methods for which there was no room.
    pub(super) refused: u64,
    pub(super) lost: u64,
    /// The stream came to its end.
    pub(super) whole: bool,
    pub(super) why: Option<&'a str>,
}

/// Adds the time of stacks and methods to their rows, `OWNER::NAME`, those with most first. What has no
/// row is in `OWNER::other`.
pub(super) fn rows(named: &Named, owner: &str, peer: &mut Peer) {
    let mut stacks: Vec<(&str, u64)> = named.stacks.iter().map(|(n, t)| (&**n, *t)).collect();
    stacks.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then(a.cmp(b)));
    stacks.extend((named.other > 0).then_some((OTHER, named.other)));
    for (name, time) in stacks {
        add(m::STACKS, owner, ("stack", name), &[(m::STACK_SAMPLES, time)], peer);
    }
    let mut methods: Vec<(&str, (u64, u64))> =
        named.methods.iter().map(|(name, times)| (&**name, *times)).collect();
    methods.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then(a.cmp(b)));
    for (name, (own, total)) in methods {
        let more = [(m::METHOD_SELF, own), (m::METHOD_TOTAL, total)];
        add(m::METHODS, owner, ("method", name), &more, peer);
    }
    for table in [m::STACKS, m::METHODS] {
        peer.free_rows(table);
    }
}

/// What bursts have brought is forgotten: rows begin anew.
pub fn forget_rows(peer: &mut Peer) {
    for table in [m::STACKS, m::METHODS] {
        peer.forget_rows(table);
    }
}

/// The slot of each row in turn: there may be more rows than a session has slots.
const SLOT: u32 = 0;

fn add(
    table: TableId,
    owner: &str,
    label: (&'static str, &str),
    more: &[(RowItem, u64)],
    peer: &mut Peer,
) {
    let key = [owner, "::", label.1].concat();
    peer.row(table, SLOT, Some(&key));
    let labels = [("process", owner), label];
    peer.row_labels(table, SLOT, &labels);
    for (item, more) in more.iter().filter(|(_, more)| *more > 0) {
        peer.row_add(SLOT, *item, *more);
    }
}

/// The answer: what the burst has.
pub(super) fn answer(burst: &Burst<'_>) -> String {
    let Burst { samples, time, untimed, stacks, methods, refused, lost, whole, why } = *burst;
    let mut text = match why {
        None if whole => "done".to_owned(),
        None => "cut".to_owned(),
        Some(why) => format!("failed: {why}"),
    };
    let _ = write!(
        text,
        ": {samples} samples of {} ms of processor time, {stacks} stacks, {methods} methods known",
        time / 1_000_000
    );
    if untimed > 0 {
        let _ = write!(
            text,
            "; the processor time of threads could not be read for {untimed} samples: each counts \
             as 1 ms if its method does not wait"
        );
    }
    if refused > 0 {
        let _ = write!(text, "; {refused} methods have no name for want of room");
    }
    if lost > 0 {
        let _ = write!(text, "; the process threw {lost} events away");
    }
    text
}
