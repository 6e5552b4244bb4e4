//! Persistent instance numbers: libpcp_pmda's instance domain cache, pmdaCache(3).

use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::ptr;

use pcp_sys as sys;

use crate::cstring;
use crate::error::Error;
use crate::ids::InDom;

/// Instance numbers of one domain by name. A hidden name keeps its number, also over restarts of
/// the PMDA once [`save`](Self::save) has written the numbers to
/// `$PCP_VAR_DIR/config/pmda/DOMAIN.SERIAL`.
///
/// Not `Send`: libpcp_pmda has no locks. Two values for one domain share the same cache.
#[derive(Debug)]
pub struct InstanceCache {
    indom: sys::pmInDom,
    not_send: PhantomData<*mut ()>,
}

impl InstanceCache {
    /// The cache of a domain, empty until [`load`](Self::load) or [`show`](Self::show).
    #[must_use]
    pub const fn new(indom: InDom) -> Self {
        Self { indom: indom.0, not_send: PhantomData }
    }

    fn operate(&mut self, operation: u32) -> Result<u32, Error> {
        // SAFETY: pmdaCacheOp(3) takes two numbers; this thread is the one of libpcp_pmda.
        let sts = unsafe { sys::pmdaCacheOp(self.indom, operation.cast_signed()) };
        Error::of_status(sts).map_or(Ok(sts.cast_unsigned()), Err)
    }

    fn store(&mut self, flag: u32, name: &str) -> Result<u32, Error> {
        let name = CString::new(name).map_err(|_| Error::INST)?;
        let (flag, private) = (flag.cast_signed(), ptr::null_mut());
        // SAFETY: pmdaCacheStore(3) copies the name; there is no private data.
        let sts = unsafe { sys::pmdaCacheStore(self.indom, flag, name.as_ptr(), private) };
        Error::of_status(sts).map_or(Ok(sts.cast_unsigned()), Err)
    }

    /// Loads the numbers saved by an earlier run; all names are hidden.
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    pub fn load(&mut self) -> Result<(), Error> {
        self.operate(sys::PMDA_CACHE_LOAD).map(drop)
    }

    /// Saves the numbers if they have changed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&mut self) -> Result<(), Error> {
        self.operate(sys::PMDA_CACHE_SAVE).map(drop)
    }

    /// Makes an instance visible. Returns its number, a new one for a new name.
    ///
    /// # Errors
    /// The name contains a NUL, or equals another up to its first space.
    pub fn show(&mut self, name: &str) -> Result<u32, Error> {
        self.store(sys::PMDA_CACHE_ADD, name)
    }

    /// Hides an instance.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn hide(&mut self, name: &str) -> Result<(), Error> {
        self.store(sys::PMDA_CACHE_HIDE, name).map(drop)
    }

    /// Hides all instances.
    pub fn hide_all(&mut self) {
        // An empty cache has nothing to hide.
        let _ = self.operate(sys::PMDA_CACHE_INACTIVE);
    }

    /// Name of a visible instance.
    #[must_use]
    pub fn name(&self, inst: u32) -> Option<String> {
        let mut name = ptr::null_mut();
        let (inst, private) = (inst.cast_signed(), ptr::null_mut::<*mut c_void>());
        // SAFETY: pmdaCacheLookup(3) stores a pointer to the cache's own name.
        let sts = unsafe { sys::pmdaCacheLookup(self.indom, inst, &raw mut name, private) };
        if sts != sys::PMDA_CACHE_ACTIVE.cast_signed() {
            return None;
        }
        // SAFETY: on success the name is a C string that lives until the cache changes.
        unsafe { cstring::copy(name) }
    }

    /// Numbers and names of the visible instances, in the order of the cache.
    pub fn visible(&mut self) -> Vec<(u32, String)> {
        let mut all = Vec::new();
        if self.operate(sys::PMDA_CACHE_WALK_REWIND).is_err() {
            return all;
        }
        loop {
            // SAFETY: as of `operate`; -1 marks the end.
            let inst =
                unsafe { sys::pmdaCacheOp(self.indom, sys::PMDA_CACHE_WALK_NEXT.cast_signed()) };
            if inst < 0 {
                return all;
            }
            let inst = inst.cast_unsigned();
            all.extend(self.name(inst).map(|name| (inst, name)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut cache = InstanceCache::new(InDom::new(253, 9999));
        assert!(cache.visible().is_empty());
        let first = cache.show("sec").expect("room");
        let second = cache.show("min").expect("room");
        cache.hide_all();
        assert!(cache.visible().is_empty());
        assert_eq!(cache.show("min"), Ok(second));
        assert_eq!(cache.visible(), [(second, "min".to_owned())]);
        assert_ne!(first, second);
        assert!(cache.show("a\0b").is_err());
    }
}
