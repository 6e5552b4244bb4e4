//! Memory and open files of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limits the growth of the C heap, which is Rust's too, under bursts. Large blocks always get a
/// mapping of their own (by default glibc raises the threshold when the first is freed), and
/// threads share two arenas.
pub(crate) fn set_up_heap() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 256 << 10;
        for (what, value) in [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_ARENA_MAX, 2)] {
            // SAFETY: mallopt(3) takes two numbers; no other thread runs yet.
            unsafe { libc::mallopt(what, value) };
        }
    }
}

/// Returns free memory of the C heap to the system. Called after a large answer and periodically.
pub fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) only touches free memory.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Resident memory of the process in bytes; 0 if /proc is not mounted.
#[must_use]
pub fn resident_memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<usize>().ok());
    pages.unwrap_or_default().saturating_mul(rustix::param::page_size())
}

/// Raises the limit of open files to its maximum: each connection needs one.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // On failure the limit stays as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
