//! The system calls that each kind of thread may make.
//!
//! The lists are those of traces of the numbered tests (qa/145 compares them), and what the C library, jemalloc, tokio
//! and libpcp call more seldom. All else fails with ENOSYS, as on a kernel that does not know the call: a later C
//! library then takes the older call, and nothing ends. So it is with what no C library needs: ptrace,
//! process_vm_readv, process_vm_writev, mount, setns, unshare, pivot_root, chroot, bpf, perf_event_open, keyctl,
//! userfaultfd, io_uring_setup, init_module, kexec_load, reboot, swapon, settimeofday, quotactl, acct, iopl.

/// A call: its name and number.
pub(super) type Call = (&'static str, i64);

macro_rules! calls {
    ($($call:ident)*) => { &[$((stringify!($call), libc::$call)),*] };
}

/// What an argument has to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// Without these bits.
    Without(u64),
    /// A null pointer: it is asked, not set.
    Null,
    /// This process.
    Own,
    /// One of these.
    OneOf(&'static [u64]),
}

/// A call that is allowed only so: the argument's number from 0, and what it has to be.
pub(super) type Narrow = (Call, u8, When);

/// What one kind of thread may call.
#[derive(Debug)]
pub(super) struct List {
    /// The kind.
    pub(super) name: &'static str,
    pub(super) calls: &'static [&'static [Call]],
    pub(super) narrow: &'static [&'static [Narrow]],
}

impl List {
    /// Names of the calls, each with `SYS_` before it.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        let all = self.calls.iter().copied().flatten();
        all.chain(self.narrow.iter().copied().flatten().map(|(call, ..)| call))
            .map(|(name, _)| *name)
    }
}

/// Memory, locks, time, and to read, write and end.
const BASE: &[Call] = calls![
    SYS_brk SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_close SYS_exit
    SYS_exit_group SYS_futex SYS_getcpu SYS_getegid SYS_geteuid SYS_getgid SYS_getpid SYS_getrandom
    SYS_gettid SYS_gettimeofday SYS_getuid SYS_madvise SYS_membarrier SYS_mremap SYS_munmap
    SYS_nanosleep SYS_ppoll SYS_read SYS_readv SYS_restart_syscall SYS_rseq SYS_rt_sigaction
    SYS_rt_sigprocmask SYS_rt_sigreturn SYS_sched_getaffinity SYS_sched_yield SYS_set_robust_list
    SYS_sigaltstack SYS_write SYS_writev
];
/// To wait for sockets that are there, to accept, read and write.
const CONNECTED: &[Call] = calls![
    SYS_accept SYS_accept4 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_getpeername
    SYS_getsockname SYS_getsockopt SYS_recvfrom SYS_recvmsg SYS_sendmsg SYS_sendto SYS_setsockopt
    SYS_shutdown
];
/// To find, open and read files.
const LOOK: &[Call] = calls![
    SYS_faccessat SYS_faccessat2 SYS_fstat SYS_getdents64 SYS_lseek SYS_openat SYS_openat2
    SYS_pread64 SYS_preadv SYS_readlinkat SYS_statx
];
/// To make and change files.
const CHANGE: &[Call] = calls![
    SYS_copy_file_range SYS_dup SYS_dup3 SYS_fallocate SYS_fchmod SYS_fchmodat SYS_fchown
    SYS_fchownat SYS_fdatasync SYS_flock SYS_fstatfs SYS_fsync SYS_ftruncate SYS_getcwd
    SYS_inotify_add_watch SYS_inotify_init1 SYS_inotify_rm_watch SYS_linkat SYS_memfd_create
    SYS_mkdirat SYS_pwrite64 SYS_pwritev SYS_renameat2 SYS_sendfile SYS_splice SYS_statfs
    SYS_symlinkat SYS_umask SYS_unlinkat SYS_utimensat
];
/// To make sockets, and what is waited for with them.
const CONNECT: &[Call] = calls![
    SYS_bind SYS_connect SYS_epoll_create1 SYS_eventfd2 SYS_listen SYS_pipe2 SYS_recvmmsg
    SYS_sendmmsg SYS_signalfd4 SYS_socketpair SYS_timerfd_create SYS_timerfd_gettime
    SYS_timerfd_settime
];
/// Threads; `--guard`, the opener and `lttng.program`, which have this filter too; `jvm.attach`, which becomes the
/// JVM's user; signals to children; and to give up more rights.
const START: &[Call] = calls![
    SYS_capget SYS_capset SYS_close_range SYS_execve SYS_getgroups SYS_getpgid
    SYS_getppid SYS_getpriority SYS_getresgid SYS_getresuid SYS_getrlimit SYS_getrusage SYS_getsid
    SYS_kill SYS_landlock_add_rule SYS_landlock_create_ruleset SYS_landlock_restrict_self
    SYS_mincore SYS_mlock SYS_msync SYS_pidfd_open SYS_pidfd_send_signal SYS_prctl SYS_pselect6
    SYS_rt_sigpending SYS_rt_sigsuspend SYS_rt_sigtimedwait SYS_sched_get_priority_max
    SYS_sched_get_priority_min SYS_sched_getparam SYS_sched_getscheduler SYS_seccomp
    SYS_set_tid_address SYS_setgroups SYS_setpgid SYS_setresgid SYS_setresuid SYS_setsid
    SYS_sysinfo SYS_tgkill SYS_times SYS_tkill SYS_uname SYS_wait4 SYS_waitid
];
/// Without conditions: a program may be started.
const WIDE: &[Call] = calls![SYS_fcntl SYS_ioctl SYS_mmap SYS_mprotect SYS_prlimit64];

/// Older forms of calls, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
mod old {
    use super::Call;

    pub(super) const BASE: &[Call] = calls![SYS_poll SYS_time];
    pub(super) const CONNECTED: &[Call] = calls![SYS_epoll_wait];
    pub(super) const LOOK: &[Call] = calls![
        SYS_access SYS_getdents SYS_lstat SYS_newfstatat SYS_open SYS_readlink SYS_stat
    ];
    pub(super) const REST: &[Call] = calls![
        SYS_alarm SYS_arch_prctl SYS_chmod SYS_chown SYS_dup2 SYS_epoll_create SYS_eventfd SYS_fork
        SYS_getpgrp SYS_inotify_init SYS_link SYS_mkdir SYS_pause SYS_pipe SYS_rename SYS_renameat
        SYS_rmdir SYS_select SYS_symlink SYS_unlink SYS_vfork
    ];
}
#[cfg(not(target_arch = "x86_64"))]
mod old {
    use super::Call;

    pub(super) const BASE: &[Call] = &[];
    pub(super) const CONNECTED: &[Call] = &[];
    pub(super) const LOOK: &[Call] = calls![SYS_newfstatat];
    #[cfg(target_arch = "aarch64")]
    pub(super) const REST: &[Call] = calls![SYS_renameat];
    #[cfg(not(target_arch = "aarch64"))]
    pub(super) const REST: &[Call] = &[];
}

macro_rules! narrow {
    ($($call:ident $argument:literal $when:expr),* $(,)?) => {
        &[$(((stringify!($call), libc::$call), $argument, $when)),*]
    };
}

/// Nothing that has come becomes code.
const EXEC: u64 = libc::PROT_EXEC as u64;
/// No name spaces are made. clone3(2), whose flags a filter does not see, is as if the kernel did not have it: the C
/// library then takes clone(2).
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;
/// Families of sockets: of this host, of IP, and of questions to the kernel.
const FAMILIES: &[u64] =
    &[libc::AF_UNIX as u64, libc::AF_INET as u64, libc::AF_INET6 as u64, libc::AF_NETLINK as u64];
/// Not F_SETOWN, which has signals sent to others.
const FCNTL: &[u64] = &[
    libc::F_GETFD as u64,
    libc::F_SETFD as u64,
    libc::F_GETFL as u64,
    libc::F_SETFL as u64,
    libc::F_DUPFD_CLOEXEC as u64,
];
const IOCTL: &[u64] = &[libc::FIONBIO, libc::FIONREAD];
/// Names of threads and of memory.
const PRCTL: &[u64] = &[libc::PR_SET_NAME as u64, libc::PR_SET_VMA as u64];

/// All threads.
pub(super) const PROCESS: List = List {
    name: "process",
    calls: &[
        BASE,
        CONNECTED,
        LOOK,
        CHANGE,
        CONNECT,
        START,
        WIDE,
        old::BASE,
        old::CONNECTED,
        old::LOOK,
        old::REST,
    ],
    narrow: &[narrow![SYS_clone 0 When::Without(NAMESPACES), SYS_socket 0 When::OneOf(FAMILIES)]],
};

/// Memory that is no code, and abort(3).
const MEMORY: &[Narrow] = narrow![
    SYS_mmap 2 When::Without(EXEC),
    SYS_mprotect 2 When::Without(EXEC),
    SYS_tgkill 0 When::Own,
];
/// What does not reach beyond the process.
const OWN: &[Narrow] = narrow![
    SYS_fcntl 1 When::OneOf(FCNTL),
    SYS_ioctl 1 When::OneOf(IOCTL),
    SYS_prctl 0 When::OneOf(PRCTL),
    SYS_prlimit64 2 When::Null,
];

/// `apm-worker`: what decodes all that comes over sockets. It opens nothing.
pub(super) const WORKER: List = List {
    name: "worker",
    calls: &[BASE, CONNECTED, old::BASE, old::CONNECTED, calls![SYS_lseek SYS_pread64 SYS_fstat]],
    narrow: &[MEMORY, OWN],
};

/// `apm-files`: what decodes files that it opens.
pub(super) const FILES: List =
    List { name: "files", calls: &[BASE, LOOK, old::BASE, old::LOOK], narrow: &[MEMORY, OWN] };

/// The process `--guard`, which has what it was given.
pub(super) const GUARD: List = List {
    name: "guard",
    calls: &[BASE, old::BASE, calls![SYS_recvmsg SYS_sendmsg SYS_shutdown]],
    narrow: &[MEMORY],
};

/// A process that opens files and sockets for the PMDA: it makes no file and starts no program. Whether it may look
/// into processes is for its capabilities.
pub(super) const OPENER: List = List {
    name: "opener",
    calls: &[
        BASE,
        LOOK,
        old::BASE,
        old::LOOK,
        calls![
            SYS_connect SYS_fstatfs SYS_getsockopt SYS_pidfd_open SYS_recvfrom SYS_recvmsg SYS_sendmsg
            SYS_sendto SYS_setsockopt SYS_shutdown SYS_statfs
        ],
    ],
    narrow: &[MEMORY, OWN, narrow![SYS_socket 0 When::OneOf(&[libc::AF_UNIX as u64])]],
};

/// All lists.
pub(super) const ALL: &[List] = &[PROCESS, WORKER, FILES, GUARD, OPENER];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &List) -> Vec<&'static str> {
        list.names().collect()
    }

    #[test]
    fn no_list_has_a_call_twice_or_more_than_the_process() {
        let process = names(&PROCESS);
        for list in ALL {
            let mut all = names(list);
            let number = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), number, "{}", list.name);
            assert!(all.iter().all(|name| process.contains(name)), "{}", list.name);
        }
    }

    #[test]
    fn who_decodes_opens_no_socket_starts_nothing_and_sees_no_process() {
        for list in [&WORKER, &FILES, &GUARD] {
            for call in [
                "SYS_socket",
                "SYS_connect",
                "SYS_bind",
                "SYS_clone",
                "SYS_clone3",
                "SYS_execve",
                "SYS_kill",
                "SYS_tkill",
                "SYS_pidfd_open",
                "SYS_setresuid",
                "SYS_memfd_create",
                "SYS_unlinkat",
                "SYS_renameat2",
                "SYS_ftruncate",
            ] {
                assert!(!names(list).contains(&call), "{} {call}", list.name);
            }
        }
        for call in ["SYS_openat", "SYS_openat2", "SYS_statx", "SYS_readlinkat"] {
            assert!(!names(&WORKER).contains(&call) && !names(&GUARD).contains(&call), "{call}");
        }
    }
}
