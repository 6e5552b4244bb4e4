//! Files of /proc/PID. What is not as expected is absent.

/// `PF_KTHREAD`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What is used of /proc/PID/stat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcStat {
    /// Name of the program's file or of the main thread, at most 15 bytes.
    pub comm: Vec<u8>,
    /// Processor time of user and system in ns.
    pub cpu: (u64, u64),
    /// Clock ticks since boot.
    pub start: u64,
    /// Threads of the process.
    pub threads: u32,
    /// A thread of the kernel.
    pub kernel: bool,
    /// The process has ended and only waits for its parent.
    pub ended: bool,
}

impl ProcStat {
    /// The name may contain blanks, newlines and parentheses, so fields count from the last one.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let open = memchr::memchr(b'(', text)?;
        let close = memchr::memrchr(b')', text)?;
        let comm = text.get(open + 1..close)?.to_vec();
        let mut fields = std::str::from_utf8(text.get(close + 1..)?).ok()?.split_ascii_whitespace();
        // Fields 3, 9, 14, 15, 20 and 22 of proc_pid_stat(5).
        let state = fields.next()?;
        let flags: u64 = fields.nth(5)?.parse().ok()?;
        let (user, system): (u64, u64) =
            (fields.nth(4)?.parse().ok()?, fields.next()?.parse().ok()?);
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let threads = fields.nth(4)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        Some(Self {
            comm,
            cpu: (user.saturating_mul(tick), system.saturating_mul(tick)),
            start,
            threads,
            kernel: flags & KERNEL_THREAD != 0,
            ended: matches!(state, "Z" | "X" | "x"),
        })
    }
}

/// What is used of /proc/PID/status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcStatus {
    /// Real user.
    pub real: u32,
    /// Effective user.
    pub uid: u32,
    /// Process id in the innermost pid namespace; absent before Linux 4.1.
    pub container_pid: Option<u32>,
}

impl ProcStatus {
    /// What is not there or no number makes all of it absent.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let line = |key: &[u8]| {
            let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(key))?;
            Some(std::str::from_utf8(line).ok()?.split_ascii_whitespace())
        };
        let mut users = line(b"Uid:")?;
        let (real, uid) = (users.next()?.parse().ok()?, users.next()?.parse().ok()?);
        let container_pid = line(b"NSpid:").and_then(|pids| pids.last()?.parse().ok());
        Some(Self { real, uid, container_pid })
    }
}

/// The type of the file system that is on a device (major and minor number), by a process's
/// `mountinfo`. The kernel tells it without a question to the file system: one of FUSE need not
/// answer (docs/security.md).
#[must_use]
pub fn file_system(mountinfo: &[u8], device: (u32, u32)) -> Option<&[u8]> {
    let number = format!("{}:{}", device.0, device.1);
    of_mount(mountinfo, 2, number.as_bytes())
}

/// The same of a mount, by its number.
pub(super) fn file_system_of(mountinfo: &[u8], mount: u64) -> Option<&[u8]> {
    of_mount(mountinfo, 0, mount.to_string().as_bytes())
}

/// The type of the first mount whose field is this.
fn of_mount<'a>(mountinfo: &'a [u8], field: usize, is: &[u8]) -> Option<&'a [u8]> {
    mountinfo.split(|&b| b == b'\n').find_map(|line| {
        let mut fields = line.split(|&b| b == b' ');
        // Blanks in names are escaped; optional fields behind the sixth end with `-`, and the type follows.
        let is = fields.nth(field) == Some(is)
            && fields.by_ref().skip(5 - field).any(|field| field == b"-");
        is.then(|| fields.next()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat() {
        let text = b"42 (a) R (b\n) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 242969 1 2 3\n";
        let stat = ProcStat::parse(text).expect("stat");
        assert_eq!((&stat.comm[..], stat.start, stat.threads), (&b"a) R (b\n"[..], 242_969, 1));
        assert!(!stat.kernel && !stat.ended);
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(stat.cpu, (5 * tick, 6 * tick));
        let text = b"2 (kthreadd) Z 0 0 0 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 1 0 7 1 2 3\n";
        let stat = ProcStat::parse(text).expect("stat");
        assert!(stat.kernel && stat.ended);
        for end in 0..60 {
            assert_eq!(ProcStat::parse(&text[..end]), None, "{end}");
        }
        assert_eq!(ProcStat::parse(b")("), None);
    }

    #[test]
    fn status() {
        let text = b"Name:\tUid:\nUid:\t1000\t0\t3\t4\nNSpid:\t21697\t7\t1\nGid:\t1\n";
        let status = ProcStatus { real: 1000, uid: 0, container_pid: Some(1) };
        assert_eq!(ProcStatus::parse(text), Some(status));
        let status = ProcStatus { real: 1, uid: 2, container_pid: None };
        assert_eq!(ProcStatus::parse(b"Uid:\t1\t2\n"), Some(status));
        assert_eq!(ProcStatus::parse(b"Uid:\t1\n"), None);
        assert_eq!(ProcStatus::parse(b"Uid:\t-1\t2\n"), None);
        assert_eq!(ProcStatus::parse(b"NSpid:\t1\n"), None);
    }

    #[test]
    fn file_systems() {
        let mounts = b"25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw\n\
            26 24 0:24 / /a shared:7 master:1 - tmpfs none rw\n\
            27 24 0:25 / /b rw - fuse.tmpfs tmpfs rw\n\
            28 24 0:26 / /c\\040-\\040tmpfs rw - fuse x rw\n\
            29 24 0:27 / - - - fuse tmpfs - tmpfs rw\n\
            30 24 0:28";
        let is = |minor| file_system(mounts, (0, minor)) == Some(b"tmpfs");
        let found: Vec<u32> = (0..40).filter(|minor| is(*minor)).collect();
        assert_eq!(found, [23, 24]);
        assert_eq!(file_system(mounts, (0, 25)), Some(&b"fuse.tmpfs"[..]));
        assert_eq!((file_system(mounts, (1, 23)), file_system(b"", (0, 23))), (None, None));
    }
}
