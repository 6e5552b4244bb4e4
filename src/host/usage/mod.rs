//! What a process uses, by /proc: memory, threads, processor time, open files; and what it may use.

pub(super) mod cgroup;

use std::fs::File;
use std::os::unix::fs::FileExt;

use pmda::process::leaves_reserve;
use rustix::fs::Dir;

use super::files::ProcDir;
use super::opener::Part;
use super::text::ProcStat;

/// What is read at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes that are resident.
    pub resident: Option<u64>,
    /// Bytes in swap.
    pub swap: Option<u64>,
    /// All threads.
    pub threads: Option<u64>,
    /// Processor time of user and system in ns.
    pub cpu: (u64, u64),
}

/// Of the very process that began then; `None`: it has ended.
#[must_use]
pub fn usage(process: &ProcDir, start: u64) -> Option<Usage> {
    let stat = ProcStat::parse(&process.read("stat")?).filter(|stat| stat.start == start)?;
    let status = process.read("status").unwrap_or_default();
    let line = |key: &[u8]| {
        let line = status.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(key))?;
        std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    let kib = |key| line(key).map(|kib| kib.saturating_mul(1024));
    Some(Usage {
        resident: kib(b"VmRSS:"),
        swap: kib(b"VmSwap:"),
        threads: line(b"Threads:"),
        cpu: stat.cpu,
    })
}

/// Bytes of a `stat` that are read: it has some 50 numbers.
const STAT: usize = 2048;

/// The processor time of one process. Its file stays open, so it can be read each second.
#[derive(Debug)]
pub struct ProcessorTime(File);

impl ProcessorTime {
    /// Of the very process that began then; `None`: it has ended, or too few descriptors are left to keep one.
    #[must_use]
    pub fn open(process: &ProcDir, start: u64) -> Option<Self> {
        let time = Self(process.open("stat").ok()?);
        (leaves_reserve(&time.0) && time.stat()?.start == start).then_some(time)
    }

    /// Of user and system in ns; `None`: it has ended. That waits for nothing of the process.
    #[must_use]
    pub fn read(&self) -> Option<(u64, u64)> {
        self.stat().map(|stat| stat.cpu)
    }

    fn stat(&self) -> Option<ProcStat> {
        let mut text = [0; STAT];
        let length = self.0.read_at(&mut text, 0).ok()?;
        ProcStat::parse(text.get(..length)?)
    }
}

/// Open files: the size of the folder since Linux 6.2, before that its entries.
#[must_use]
pub fn open_files(process: &ProcDir) -> Option<u64> {
    let flags = rustix::fs::AtFlags::empty();
    let stat = rustix::fs::statat(process.file(), "fd", flags).ok()?;
    match u64::try_from(stat.st_size).ok()? {
        0 => {
            let files = process.part(Part::Files).ok()?;
            // Without the folder itself and the one above it.
            Some((Dir::new(files).ok()?.count() as u64).saturating_sub(2))
        }
        known => Some(known),
    }
}

/// Most files that it may have open.
#[must_use]
pub fn most_files(process: &ProcDir) -> Option<u64> {
    let limits = process.read("limits").unwrap_or_default();
    String::from_utf8_lossy(&limits).lines().find_map(|line| {
        line.strip_prefix("Max open files")?.split_ascii_whitespace().next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ProcFs;

    #[test]
    fn this_process_has_all_of_it() {
        let process = ProcFs::new("/proc".into()).open(std::process::id()).unwrap();
        let start = process.start().unwrap();
        let now = usage(&process, start).unwrap();
        assert!(now.resident > Some(1 << 20) && now.threads >= Some(1));
        assert_eq!(usage(&process, start + 1), None, "another one with this id");
        let time = ProcessorTime::open(&process, start).expect("it lives");
        let first = time.read().expect("it lives");
        assert!(first >= now.cpu);
        while time.read().expect("it lives") == first {}
        assert!(time.read() > Some(first));
        assert!(ProcessorTime::open(&process, start + 1).is_none());
        assert!(open_files(&process) >= Some(3) && most_files(&process) > Some(3));
    }
}
