//! Instance domains and name tables on pmdaCache(3): ids that stay the same over restarts.

use super::sys;
use super::text::to_string;
use std::ffi::{CString, c_int};
use std::time::Duration;

/// A cache file; `$PCP_VAR_DIR/config/pmda/<domain>.<serial>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cache {
    indom: sys::pmInDom,
}

/// Flags and operations are small positive numbers.
const fn code(c: u32) -> c_int {
    c.cast_signed()
}

impl Cache {
    /// As `pmInDom_build(3)`: domain 9 bits, serial 22 bits.
    pub(super) const fn new(domain: u32, serial: u32) -> Self {
        Self { indom: (domain & 0x1ff) << 22 | serial & 0x3f_ffff }
    }

    pub(super) const fn indom(self) -> sys::pmInDom {
        self.indom
    }

    fn op(self, op: u32) -> c_int {
        // SAFETY: pmdaCacheOp(3) takes numbers only; all caches are used on this thread only.
        unsafe { sys::pmdaCacheOp(self.indom, code(op)) }
    }

    /// Reads the file, if there is one, and gives all entries in the order of their ids; they are active afterwards.
    /// Entries that have been inactive for longer than `forget` are dropped.
    pub(super) fn load(self, forget: Option<Duration>) -> Vec<(u32, String)> {
        self.op(sys::PMDA_CACHE_LOAD);
        if let Some(forget) = forget {
            let seconds = sys::time_t::try_from(forget.as_secs()).unwrap_or(sys::time_t::MAX);
            // SAFETY: as above.
            unsafe { sys::pmdaCachePurge(self.indom, seconds) };
        }
        self.op(sys::PMDA_CACHE_ACTIVE);
        self.op(sys::PMDA_CACHE_WALK_REWIND);
        let mut entries = Vec::new();
        while let Ok(id) = u32::try_from(self.op(sys::PMDA_CACHE_WALK_NEXT)) {
            entries.extend(self.name(id).map(|name| (id, name)));
        }
        entries
    }

    fn name(self, id: u32) -> Option<String> {
        let mut name = std::ptr::null_mut();
        // SAFETY: on success pmdaCacheLookup(3) stores a pointer to a C string that the cache keeps while the entry lives.
        let sts = unsafe { sys::pmdaCacheLookup(self.indom, id.cast_signed(), &raw mut name, std::ptr::null_mut()) };
        if sts < 0 { None } else { to_string(name) }
    }

    /// Adds a name or makes it active again; its id.
    pub(super) fn add(self, name: &str) -> Result<u32, String> {
        self.store(sys::PMDA_CACHE_ADD, name)
    }

    /// Takes a name out of sight. Its id stays its own, unless the cache has grown beyond `keep` entries.
    pub(super) fn remove(self, name: &str, keep: usize) -> Result<u32, String> {
        let large = usize::try_from(self.op(sys::PMDA_CACHE_SIZE)).is_ok_and(|n| n > keep);
        self.store(if large { sys::PMDA_CACHE_CULL } else { sys::PMDA_CACHE_HIDE }, name)
    }

    fn store(self, flags: u32, name: &str) -> Result<u32, String> {
        let text = CString::new(name).map_err(|_| format!("{name:?} holds a NUL"))?;
        // SAFETY: pmdaCacheStore(3) copies the C string; no private data is attached.
        let sts = unsafe { sys::pmdaCacheStore(self.indom, code(flags), text.as_ptr(), std::ptr::null_mut()) };
        u32::try_from(sts).map_err(|_| format!("{name:?}: {}", super::text::error(sts)))
    }

    /// Writes the file if something has changed.
    pub(super) fn save(self) -> Result<(), String> {
        let sts = self.op(sys::PMDA_CACHE_SAVE);
        if sts < 0 { Err(super::text::error(sts)) } else { Ok(()) }
    }
}
