//! What a process uses, by /proc: memory, threads, processor time, open files; and what it may use.

pub(super) mod cgroup;

use std::fs::File;
use std::os::unix::fs::FileExt;

use pmda::process::leaves_reserve;
use rustix::fs::Dir;

use super::files::{ProcDir, ProcFs};
use super::opener::Part;
use super::text::ProcStat;

/// Bytes of a `stat` that are read: it has some 50 numbers.
const STAT: usize = 2048;

/// What is read at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes that are resident.
    pub resident: Option<u64>,
    /// Bytes in swap.
    pub swap: Option<u64>,
    /// All threads.
    pub threads: Option<u64>,
}

/// The processor time of one process. Its file stays open: it is read each second.
#[derive(Debug, Default)]
pub struct ProcessorTime(Option<File>);

impl ProcessorTime {
    /// Of user and system in ns, of the very process that began then, also of one whose parent has not asked for its
    /// exit status yet; `None`: it has ended.
    pub fn read(&mut self, proc: &ProcFs, pid: u32, start: u64) -> Option<(u64, u64)> {
        if self.0.is_some() {
            return self.again();
        }
        let file = proc.open_file(&format!("{pid}/stat")).ok()?;
        let stat = stat(&file).filter(|stat| stat.start == start)?;
        self.0 = Some(file).filter(|file| leaves_reserve(file));
        Some(stat.cpu)
    }

    /// The same, if its file is open: nothing is opened.
    #[must_use]
    pub fn again(&self) -> Option<(u64, u64)> {
        self.0.as_ref().and_then(stat).map(|stat| stat.cpu)
    }
}

fn stat(file: &File) -> Option<ProcStat> {
    let mut text = [0; STAT];
    let length = file.read_at(&mut text, 0).ok()?;
    ProcStat::parse(text.get(..length)?)
}

/// Memory and threads.
#[must_use]
pub fn usage(process: &ProcDir) -> Usage {
    let status = process.read("status").unwrap_or_default();
    let line = |key: &[u8]| {
        let line = status.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(key))?;
        std::str::from_utf8(line).ok()?.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    let kib = |key| line(key).map(|kib| kib.saturating_mul(1024));
    Usage { resident: kib(b"VmRSS:"), swap: kib(b"VmSwap:"), threads: line(b"Threads:") }
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

    #[test]
    fn this_process_has_all_of_it() {
        let proc = ProcFs::new("/proc".into());
        let pid = std::process::id();
        let process = proc.open(pid).unwrap();
        let start = process.start().unwrap();
        let now = usage(&process);
        assert!(now.resident > Some(1 << 20) && now.threads >= Some(1));
        let (mut own, mut other) = (ProcessorTime::default(), ProcessorTime::default());
        let first = own.read(&proc, pid, start).expect("it lives");
        while own.again().expect("it lives") == first {}
        assert!(own.read(&proc, pid, start) > Some(first) && own.0.is_some());
        assert_eq!(other.read(&proc, pid, start + 1), None, "another one with this id");
        assert!(other.again().is_none());
        assert!(open_files(&process) >= Some(3) && most_files(&process) > Some(3));
    }
}
