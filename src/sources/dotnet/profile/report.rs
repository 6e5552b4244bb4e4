//! What a burst tells: rows, and the answer to its request.

use std::collections::HashSet;
use std::fmt::Write;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::weigh::Named;
use crate::catalogue::OTHER;
use crate::model::{RowItem, TableId, Update};
use crate::sources::Sink;
use crate::sources::dotnet::limits;
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

/// The stacks and methods of a process that have rows of their own, by their hashes.
#[derive(Debug, Default)]
pub(super) struct Rows {
    hasher: RandomState,
    stacks: HashSet<u64>,
    methods: HashSet<u64>,
}

impl Rows {
    /// Adds the time of stacks and methods to their rows, `OWNER::NAME`. Those with most time get
    /// rows first; what comes when there is no room is in `OWNER::other`.
    pub(super) fn report(&mut self, named: &Named, owner: &str, sink: &mut dyn Sink) {
        let mut stacks: Vec<(&str, u64)> = named.stacks.iter().map(|(n, t)| (&**n, *t)).collect();
        stacks.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then(a.cmp(b)));
        let mut other = named.other;
        let mut slots = 0..;
        let known = Known { hasher: &self.hasher, owner };
        for (name, time) in stacks {
            if known.has(&mut self.stacks, name) {
                let more = [(m::STACK_SAMPLES, time)];
                known.add(m::STACKS, slots.next(), ("stack", name), &more, sink);
            } else {
                other = other.saturating_add(time);
            }
        }
        if other > 0 {
            let more = [(m::STACK_SAMPLES, other)];
            known.add(m::STACKS, slots.next(), ("stack", OTHER), &more, sink);
        }
        let mut methods: Vec<(&str, (u64, u64))> =
            named.methods.iter().map(|(name, times)| (&**name, *times)).collect();
        methods.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then(a.cmp(b)));
        let (mut slots, mut others) = (0.., (0_u64, 0_u64));
        for (name, (own, total)) in methods {
            if known.has(&mut self.methods, name) {
                let more = [(m::METHOD_SELF, own), (m::METHOD_TOTAL, total)];
                known.add(m::METHODS, slots.next(), ("method", name), &more, sink);
            } else {
                others = (others.0.saturating_add(own), others.1.saturating_add(total));
            }
        }
        if others != (0, 0) {
            let more = [(m::METHOD_SELF, others.0), (m::METHOD_TOTAL, others.1)];
            known.add(m::METHODS, slots.next(), ("method", OTHER), &more, sink);
        }
        for table in [m::STACKS, m::METHODS] {
            sink.update(Update::FreeRows { table });
        }
    }

    /// Takes the rows away.
    pub(super) fn reset(&mut self, sink: &mut dyn Sink) {
        *self = Self::default();
        for table in [m::STACKS, m::METHODS] {
            sink.update(Update::ForgetRows { table });
        }
    }

    /// Bytes in use.
    pub(super) fn held(&self) -> usize {
        (self.stacks.capacity() + self.methods.capacity()) * 9
    }
}

/// Whose rows they are.
struct Known<'a> {
    hasher: &'a RandomState,
    owner: &'a str,
}

impl Known<'_> {
    /// The name has a row, perhaps from now on.
    fn has(&self, rows: &mut HashSet<u64>, name: &str) -> bool {
        let hash = self.hasher.hash_one(name);
        let room = rows.len() < limits::PROFILE_ROWS;
        rows.contains(&hash) || room && rows.insert(hash)
    }

    fn add(
        &self,
        table: TableId,
        slot: Option<u32>,
        label: (&'static str, &str),
        more: &[(RowItem, u64)],
        sink: &mut dyn Sink,
    ) {
        let Some(slot) = slot else { return };
        let key = [self.owner, "::", label.1].concat();
        sink.update(Update::Row { table, slot, key: Some(&key) });
        let labels = [("process", self.owner), label];
        sink.update(Update::RowLabels { table, slot, labels: &labels });
        for (item, more) in more.iter().filter(|(_, more)| *more > 0) {
            sink.update(Update::RowCount { slot, item: *item, more: *more });
        }
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
