//! Processor time by name, since the last report.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::method::method;
use super::state::State;
use crate::contract::Peer;
use crate::meter::folded;
use crate::model::RowItem;
use crate::sources::mono::limits;
use crate::sources::mono::metrics as m;
use crate::sources::mono::runtime::Names;

type ByName<T> = HashMap<String, T, RandomState>;

/// Times in ns, and samples.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// By stack, `OUTERMOST,…,INNERMOST`.
    pub(super) stacks: ByName<u64>,
    /// In the method itself, and with what it called.
    pub(super) methods: ByName<(u64, u64)>,
    /// Of stacks for which there was no room.
    pub(super) other: u64,
    /// Samples by state, as [`State::ALL`].
    pub(super) states: [u64; State::ALL.len()],
}

impl Named {
    pub(super) fn is_empty(&self) -> bool {
        self.states.iter().all(|hits| *hits == 0)
    }

    /// Counts a sample.
    pub(super) fn state(&mut self, state: State) {
        let slots = State::ALL.iter().zip(&mut self.states);
        slots.filter(|(of, _)| **of == state).for_each(|(_, hits)| *hits += 1);
    }

    /// Adds to the time of a stack, whose innermost frame is the first.
    pub(super) fn add(&mut self, frames: &[u64], time: u64, names: &dyn Names) {
        let known = frames.iter().filter_map(|id| names.method(*id));
        let known: Vec<String> = known.map(method).collect();
        match room(&mut self.stacks, folded(&known, limits::STACK_NAME)) {
            Some(stack) => *stack += time,
            None => self.other += time,
        }
        let mut seen: Vec<String> = Vec::new();
        for (at, name) in known.into_iter().enumerate() {
            // A recursive method counts once.
            if seen.contains(&name) {
                continue;
            }
            seen.push(name.clone());
            if let Some((own, total)) = room(&mut self.methods, name) {
                *own += if at == 0 { time } else { 0 };
                *total += time;
            }
        }
    }

    /// Adds the time to rows.
    pub(super) fn report(self, program: &str, peer: &mut Peer) {
        let mut stacks: Vec<(String, u64)> = self.stacks.into_iter().collect();
        stacks.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then_with(|| a.cmp(b)));
        let program = program.replace([',', ' '], ";");
        for (slot, (name, time)) in (0..).zip(&stacks) {
            row(slot, Some(name), &[(m::STACK_SAMPLES, *time)], peer);
            let of_program = format!("{program},{name}");
            row(slot, Some(&of_program), &[(m::PROGRAM_STACK_TIME, *time)], peer);
        }
        if self.other > 0 {
            let slot = u32::try_from(stacks.len()).unwrap_or(u32::MAX);
            row(slot, None, &[(m::STACK_SAMPLES, self.other)], peer);
            row(slot, None, &[(m::PROGRAM_STACK_TIME, self.other)], peer);
        }
        let mut methods: Vec<(String, (u64, u64))> = self.methods.into_iter().collect();
        methods.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then_with(|| a.cmp(b)));
        for (slot, (name, (own, total))) in (0..).zip(methods) {
            row(slot, Some(&name), &[(m::METHOD_SELF, own), (m::METHOD_TOTAL, total)], peer);
        }
        for table in [m::STACKS, m::PROGRAM_STACKS, m::METHODS] {
            peer.free_rows(table);
        }
    }

    /// Allocated bytes, about.
    pub(super) fn memory(&self) -> usize {
        let keys = self.stacks.keys().chain(self.methods.keys());
        keys.map(|name| name.len() + 48).sum()
    }
}

/// The sum of a name. `None`: no room.
fn room<T: Default>(sums: &mut ByName<T>, name: String) -> Option<&mut T> {
    let full = sums.len() >= limits::PROFILE_NAMES && !sums.contains_key(&name);
    (!full).then(|| sums.entry(name).or_default())
}

/// Binds a row for this report and adds to it. `name` `None`: of all that have none.
fn row(slot: u32, name: Option<&str>, more: &[(RowItem, u64)], peer: &mut Peer) {
    let Some((first, _)) = more.first() else { return };
    peer.row(first.table(), slot, name);
    for (item, more) in more.iter().filter(|(_, more)| *more > 0) {
        peer.row_add(slot, *item, *more);
    }
}
