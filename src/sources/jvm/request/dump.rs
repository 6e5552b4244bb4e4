//! `Thread.print`: how many threads are in each state, and who waits for each other for ever.

use super::super::{limits, metrics as m};
use crate::contract::Peer;
use crate::meter::clean;

/// States of threads, as Java calls them.
const STATES: [&str; 6] = ["NEW", "RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "TERMINATED"];
/// The same as rows.
const ROWS: [&str; 6] = ["new", "runnable", "blocked", "waiting", "timed_waiting", "terminated"];

/// The threads of a JVM.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dump {
    states: [u64; STATES.len()],
    /// Threads in deadlocks.
    deadlocked: u32,
    /// Names of the first of them.
    names: Vec<String>,
}

impl Dump {
    pub(super) fn read(answer: &[u8]) -> Result<Self, String> {
        let mut found = Self::default();
        let (mut is_whole, mut in_deadlock) = (false, false);
        for line in answer.split(|&b| b == b'\n') {
            let line = String::from_utf8_lossy(line);
            if let Some(state) = line.trim_start().strip_prefix("java.lang.Thread.State: ") {
                let state = state.split_ascii_whitespace().next();
                let counts = found.states.iter_mut().zip(STATES);
                counts.filter(|(_, name)| state == Some(name)).for_each(|(n, _)| *n += 1);
            } else if line.starts_with("Full thread dump") {
                is_whole = true;
            } else if line.starts_with("Found ") && line.contains("deadlock:") {
                in_deadlock = true;
            } else if line.starts_with("Java stack information") {
                in_deadlock = false;
            } else if let Some(name) = line.strip_prefix('"')
                && let Some(name) = name.strip_suffix("\":").filter(|_| in_deadlock)
            {
                found.deadlocked = found.deadlocked.saturating_add(1);
                if found.names.len() < limits::DEADLOCKED {
                    found.names.push(clean(name, limits::THREAD));
                }
            }
        }
        if is_whole { Ok(found) } else { Err("its answer has no threads".to_owned()) }
    }

    pub(super) fn show(&self, instance: &str, peer: &mut Peer) -> String {
        peer.forget_rows(m::STATES);
        let mut states = Vec::new();
        for ((slot, row), count) in (0..).zip(ROWS).zip(self.states) {
            peer.row_of_process(m::STATES, slot, instance, ("state", row));
            peer.row_set(slot, m::STATE_THREADS, count);
            states.extend((count > 0).then(|| format!("{count} {row}")));
        }
        peer.set(m::DEADLOCKED, self.deadlocked);
        let all: u64 = self.states.iter().sum();
        let deadlock = match self.deadlocked {
            0 => "no deadlock".to_owned(),
            count => format!("{count} wait for each other for ever: {}", self.names.join(", ")),
        };
        format!("done: {all} threads: {}; {deadlock}", states.join(", "))
    }
}
