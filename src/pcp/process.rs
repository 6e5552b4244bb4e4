//! What the process is and may: standard input, user, open files.

use std::ffi::CString;
use std::mem::MaybeUninit;

use super::sys;

/// Standard input is a pipe or a socket, as pmcd and dbpmda make it.
#[must_use]
pub fn is_started_by_pmcd() -> bool {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat(2) fills the structure it is given, or fails.
    let failed = unsafe { libc::fstat(0, stat.as_mut_ptr()) } != 0;
    if failed {
        return false;
    }
    // SAFETY: fstat succeeded, so all fields are set.
    let kind = unsafe { stat.assume_init() }.st_mode & libc::S_IFMT;
    kind == libc::S_IFIFO || kind == libc::S_IFSOCK
}

/// Raises the limit of open files as far as it goes: each connection takes one. Returns the limit.
pub(super) fn raise_open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit(2) fills the structure it is given.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return 0;
    }
    let wanted = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: setrlimit(2) reads the structure it is given.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) } == 0 {
        wanted.rlim_cur
    } else {
        limit.rlim_cur
    }
}

/// Becomes `user`, as PCP's agents do (`pmSetProcessIdentity`); without root's rights only the same
/// user is possible.
pub(super) fn become_user(user: &str) -> Result<(), String> {
    // SAFETY: geteuid(2) has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    let name = CString::new(user).map_err(|_| format!("user name {user:?} holds a NUL"))?;
    // SAFETY: pmSetProcessIdentity(3) reads a C string; on failure it returns or ends the process
    // with a message.
    let sts = unsafe { sys::pmSetProcessIdentity(name.as_ptr()) };
    if sts == 0 { Ok(()) } else { Err(format!("cannot become user {user}")) }
}

/// Keeps the C heap, which is Rust's too, from growing for ever under bursts: large blocks are
/// mapped and unmapped by themselves, also after the first has been freed (else glibc raises the
/// threshold), and threads share few arenas.
pub(super) fn set_up_heap() {
    const LARGE: libc::c_int = 256 << 10;
    for (what, value) in [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_ARENA_MAX, 2)] {
        // SAFETY: mallopt(3) takes two numbers; nothing else runs yet.
        unsafe { libc::mallopt(what, value) };
    }
}

/// Calls for one request, and whether there is time for more of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    until: std::time::Duration,
    calls: u32,
    over: bool,
}

impl Turn {
    /// Most time of the thread for one request other than a fetch.
    const TIME: std::time::Duration = std::time::Duration::from_millis(100);
    /// Calls between two looks at the clock.
    const LOOK: u32 = 64;

    /// A request that begins when the thread has worked for `now`.
    pub(super) fn begin(now: std::time::Duration) -> Self {
        Self { until: now + Self::TIME, calls: 0, over: false }
    }

    /// Whether there is time for one more call. `clock` gives the time that the thread has worked.
    pub(super) fn go_on(&mut self, clock: fn() -> std::time::Duration) -> bool {
        self.calls += 1;
        if self.calls.is_multiple_of(Self::LOOK) {
            self.over |= clock() > self.until;
        }
        !self.over
    }

    /// It ended early.
    pub(super) const fn over(self) -> bool {
        self.over
    }
}

/// CPU time of this thread.
pub(super) fn thread_time() -> std::time::Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    std::time::Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// CPU time of this thread and a tenth of the time that passes: what is bounded by it ends after a
/// second also where the thread hardly gets a processor. pmcd waits 5 s.
pub(super) fn work_time() -> std::time::Duration {
    thread_time() + crate::clock::now().mono / 10
}

/// Returns free memory of the C heap to the system: after a large answer, and from time to time.
pub fn give_memory_back() {
    // SAFETY: malloc_trim(3) only touches free memory.
    unsafe { libc::malloc_trim(0) };
}

/// Bytes of memory that the process really has; 0 if the kernel does not say.
#[must_use]
pub fn resident_memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<usize>().ok());
    // SAFETY: sysconf(3) takes a number and has no other effect.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.unwrap_or_default().saturating_mul(usize::try_from(page).unwrap_or_default())
}

/// The user that PCP's daemons run as (`pmGetUsername`).
pub(super) fn default_user() -> String {
    let mut name = std::ptr::null_mut();
    // SAFETY: pmGetUsername(3) stores a pointer to a C string that libpcp keeps.
    unsafe { sys::pmGetUsername(&raw mut name) };
    super::text::to_string(name).unwrap_or_else(|| "pcp".into())
}

/// Where libpcp_pmda keeps its caches, `$PCP_VAR_DIR/config/pmda`: what must outlive the process
/// goes there.
#[must_use]
pub fn state_dir() -> std::path::PathBuf {
    // SAFETY: as of config_dir.
    let value = unsafe { sys::pmGetConfig(c"PCP_VAR_DIR".as_ptr()) };
    std::path::PathBuf::from(super::text::to_string(value).unwrap_or_else(|| "/var/lib/pcp".into()))
        .join("config/pmda")
}

/// `$PCP_SYSCONF_DIR`, from the environment or /etc/pcp.conf.
#[must_use]
pub fn config_dir() -> std::path::PathBuf {
    // SAFETY: pmGetConfig(3) reads a C string and returns one that libpcp keeps, or ends the
    // process with a message when the variable is nowhere: PCP is not installed then.
    let value = unsafe { sys::pmGetConfig(c"PCP_SYSCONF_DIR".as_ptr()) };
    super::text::to_string(value).unwrap_or_else(|| "/etc/pcp".into()).into()
}

/// CPU time of all threads, in user mode and in the kernel, nanoseconds.
pub(super) fn cpu_time() -> (u64, u64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage(2) fills the structure it is given, or leaves it.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: zeros are a sound rusage.
    let usage = unsafe { usage.assume_init() };
    let nanoseconds = |time: libc::timeval| {
        let part = |n: i64| u64::try_from(n).unwrap_or_default();
        part(time.tv_sec) * 1_000_000_000 + part(time.tv_usec) * 1000
    };
    (nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime))
}
