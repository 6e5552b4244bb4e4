//! Memory of the process.

/// Limits the growth of the C heap under bursts. It is Rust's too, unless that has jemalloc. Large
/// blocks always get a mapping of their own (by default glibc raises the threshold when the first is
/// freed), and threads share two arenas.
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

/// Returns free memory of the heaps to the system. Called after a large answer and periodically:
/// jemalloc by itself does so only while something is allocated.
pub fn give_memory_back() {
    #[cfg(feature = "jemalloc")]
    {
        let (all_arenas, none) = (c"arena.4096.purge", std::ptr::null_mut());
        // SAFETY: mallctl(3) with this name takes and returns no value, and touches only free memory.
        unsafe { tikv_jemalloc_sys::mallctl(all_arenas.as_ptr(), none, none.cast(), none, 0) };
    }
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

#[cfg(all(test, feature = "jemalloc"))]
mod tests {
    use super::{give_memory_back, resident_memory};

    #[test]
    fn free_memory_of_jemalloc_goes_back() {
        const BLOCK: usize = 4096;
        const BLOCKS: usize = 16 << 10;
        let blocks: Vec<_> = (0..BLOCKS)
            .map(|_| {
                // SAFETY: malloc(3) of jemalloc.
                let block = unsafe { tikv_jemalloc_sys::malloc(BLOCK) };
                assert!(!block.is_null());
                // SAFETY: the block has this size.
                unsafe { block.cast::<u8>().write_bytes(1, BLOCK) };
                block
            })
            .collect();
        let used = resident_memory();
        for block in blocks {
            // SAFETY: jemalloc gave it, and it is freed once.
            unsafe { tikv_jemalloc_sys::free(block) };
        }
        give_memory_back();
        assert!(resident_memory() < used - BLOCK * BLOCKS * 3 / 4);
    }
}
