//! The PMDA's own name space (pmdaTree), so that pmcd needs no more than `apm 400:*:*`.

use std::ffi::{CString, c_char, c_int};

use super::sys;
use crate::model::Pmid;

/// Owns a `pmdaNameSpace`.
#[derive(Debug)]
pub(super) struct NameSpace {
    tree: *mut sys::pmdaNameSpace,
    names: c_int,
}

impl NameSpace {
    pub(super) fn new() -> Result<Self, String> {
        let mut tree = std::ptr::null_mut();
        // SAFETY: pmdaTreeCreate(3) stores a new tree or fails.
        let sts = unsafe { sys::pmdaTreeCreate(&raw mut tree) };
        if sts < 0 { Err(super::text::error(sts)) } else { Ok(Self { tree, names: 0 }) }
    }

    /// Adds a name; visible after [`NameSpace::rebuild`].
    pub(super) fn insert(&mut self, pmid: Pmid, name: &str) -> Result<(), String> {
        let text = CString::new(name).map_err(|_| format!("{name:?} holds a NUL"))?;
        // SAFETY: the tree is ours and alive; pmdaTreeInsert(3) copies the name.
        let sts = unsafe { sys::pmdaTreeInsert(self.tree, pmid.0, text.as_ptr()) };
        if sts < 0 {
            return Err(format!("{name}: {}", super::text::error(sts)));
        }
        self.names += 1;
        Ok(())
    }

    /// Makes the hash from PMIDs to names again.
    pub(super) fn rebuild(&mut self) {
        // SAFETY: the tree is ours and alive.
        unsafe { sys::pmdaTreeRebuildHash(self.tree, self.names) };
    }

    /// pmdaTreePMID(3). `name` and `pmid` are what libpcp_pmda gave the callback.
    pub(super) fn pmid(&self, name: *const c_char, pmid: *mut sys::pmID) -> c_int {
        // SAFETY: the tree is alive; the caller passes on the pointers of libpcp_pmda's own
        // request.
        unsafe { sys::pmdaTreePMID(self.tree, name, pmid) }
    }

    /// pmdaTreeName(3). The list is allocated for the caller of the callback.
    pub(super) fn name(&self, pmid: sys::pmID, names: *mut *mut *mut c_char) -> c_int {
        // SAFETY: as above.
        unsafe { sys::pmdaTreeName(self.tree, pmid, names) }
    }

    /// pmdaTreeChildren(3). The lists are allocated for the caller of the callback.
    pub(super) fn children(
        &self,
        name: *const c_char,
        traverse: c_int,
        kids: *mut *mut *mut c_char,
        status: *mut *mut c_int,
    ) -> c_int {
        // SAFETY: as above.
        unsafe { sys::pmdaTreeChildren(self.tree, name, traverse, kids, status) }
    }
}

impl Drop for NameSpace {
    fn drop(&mut self) {
        // SAFETY: the tree is ours, and no callback runs while the state that owns it is dropped.
        unsafe { sys::pmdaTreeRelease(self.tree) };
    }
}
