//! Processor time of a process, and names of its threads, from /proc.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::contract::Peer;
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::records::Lookup;
use crate::sources::dotnet::target::Target;

/// Time between two reads of `/proc/PID/stat`: one costs some 15 us.
const PERIOD: Duration = Duration::from_secs(5);
/// Most threads of a container that are looked at for one name.
const THREADS: usize = 1024;

/// Processor time of a process.
#[derive(Debug)]
pub(super) struct Times {
    next: Duration,
    /// The rows of user and system time are bound.
    bound: bool,
}

impl Times {
    pub(super) const fn new() -> Self {
        Self { next: Duration::ZERO, bound: false }
    }

    /// Reads the times if it is time. `name`: the instance name.
    pub(super) fn tick(&mut self, now: Duration, target: &Target, name: &str, peer: &mut Peer) {
        if now < self.next || target.pid == 0 {
            return;
        }
        self.next = now + PERIOD;
        let Some((user, system)) = read(target) else { return };
        if let Some(cpus) = cpus(target).filter(|_| !self.bound) {
            peer.set(m::CPUS, cpus);
        }
        for (slot, mode, time) in [(0, "user", user), (1, "system", system)] {
            if !self.bound {
                let key = format!("{name}::{mode}");
                peer.row(m::CPU, slot, Some(&key));
                let labels = [("process", name), ("mode", mode)];
                peer.row_labels(m::CPU, slot, &labels);
            }
            peer.row_set(slot, m::CPU_TIME, time);
        }
        self.bound = true;
    }
}

/// Processors that the process may use.
fn cpus(target: &Target) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{}/status", target.pid)).ok()?;
    count(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim())
}

/// Processors of a list like `0-3,8`.
fn count(list: &str) -> Option<u32> {
    let mut count = 0_u32;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// User and system time in ns, of the very process.
fn read(target: &Target) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", target.pid)).ok()?;
    // The name in parentheses can have blanks and parentheses; field 3 follows it.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let start: u64 = fields.nth(6)?.parse().ok()?;
    if start != target.start {
        return None;
    }
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some((user.saturating_mul(tick), system.saturating_mul(tick)))
}

/// Finds the names of a process's threads.
#[derive(Debug)]
pub(in crate::sources::dotnet::io) struct Threads(Arc<Target>);

impl Threads {
    pub(in crate::sources::dotnet::io) const fn new(target: Arc<Target>) -> Self {
        Self(target)
    }
}

impl Lookup for Threads {
    fn thread_name(&mut self, thread: u64) -> Option<String> {
        let Target { pid, container_pid, .. } = *self.0;
        let tasks = format!("/proc/{pid}/task");
        if pid == container_pid {
            let name = fs::read_to_string(format!("{tasks}/{thread}/comm")).ok()?;
            return Some(name.trim_end().to_owned());
        }
        // The process counts its threads in another namespace.
        for task in fs::read_dir(tasks).ok()?.take(THREADS).flatten() {
            let Ok(status) = fs::read_to_string(task.path().join("status")) else { continue };
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
            let inner = field("NSpid:").and_then(|ids| ids.split_ascii_whitespace().next_back());
            if inner.and_then(|id| id.parse().ok()) == Some(thread) {
                return field("Name:").map(|name| name.trim().to_owned());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn processors_are_counted() {
        for (list, expected) in [
            ("0-3,8", Some(5)),
            ("0", Some(1)),
            ("0-1023", Some(1024)),
            ("", None),
            ("3-1", None),
            ("0-4294967295", None),
        ] {
            assert_eq!(count(list), expected, "{list}");
        }
    }
}
