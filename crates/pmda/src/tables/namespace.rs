//! The PMDA's own name space (pmdaTree); pmcd's name space needs only `NAME DOMAIN:*:*`.

use std::ffi::{CString, c_char, c_int};

use pcp_event::Pmid;
use pcp_sys as sys;

use crate::error::Error;

/// Owns a `pmdaNameSpace`.
#[derive(Debug)]
pub(crate) struct NameSpace {
    tree: *mut sys::pmdaNameSpace,
    names: c_int,
}

impl NameSpace {
    pub(super) fn new() -> Result<Self, Error> {
        let mut tree = std::ptr::null_mut();
        // SAFETY: pmdaTreeCreate(3) stores a new tree or fails.
        let sts = unsafe { sys::pmdaTreeCreate(&raw mut tree) };
        Error::of_status(sts).map_or(Ok(Self { tree, names: 0 }), Err)
    }

    /// Adds a name; visible after [`NameSpace::rebuild`].
    pub(super) fn insert(&mut self, pmid: Pmid, name: &str) -> Result<(), Error> {
        let text = CString::new(name).map_err(|_| Error::NAME)?;
        // SAFETY: the tree is ours and alive; pmdaTreeInsert(3) copies the name.
        let sts = unsafe { sys::pmdaTreeInsert(self.tree, pmid.0, text.as_ptr()) };
        if let Some(error) = Error::of_status(sts) {
            return Err(error);
        }
        self.names += 1;
        Ok(())
    }

    /// Rebuilds the hash from PMIDs to names.
    pub(super) fn rebuild(&mut self) {
        // SAFETY: the tree is ours and alive.
        unsafe { sys::pmdaTreeRebuildHash(self.tree, self.names) };
    }

    /// pmdaTreePMID(3).
    ///
    /// # Safety
    /// `name` and `pmid` must be those that libpcp_pmda gave the callback.
    pub(crate) unsafe fn pmid(&self, name: *const c_char, pmid: *mut sys::pmID) -> c_int {
        // SAFETY: the tree is alive; the pointers are as the caller promises.
        unsafe { sys::pmdaTreePMID(self.tree, name, pmid) }
    }

    /// pmdaTreeName(3). The list is allocated for the caller of the callback.
    ///
    /// # Safety
    /// `names` must be what libpcp_pmda gave the callback.
    pub(crate) unsafe fn name(&self, pmid: sys::pmID, names: *mut *mut *mut c_char) -> c_int {
        // SAFETY: the tree is alive; the pointer is as the caller promises.
        unsafe { sys::pmdaTreeName(self.tree, pmid, names) }
    }

    /// pmdaTreeChildren(3). The lists are allocated for the caller of the callback.
    ///
    /// # Safety
    /// The pointers must be those that libpcp_pmda gave the callback.
    pub(crate) unsafe fn children(
        &self,
        name: *const c_char,
        traverse: c_int,
        kids: *mut *mut *mut c_char,
        status: *mut *mut c_int,
    ) -> c_int {
        // SAFETY: the tree is alive; the pointers are as the caller promises.
        unsafe { sys::pmdaTreeChildren(self.tree, name, traverse, kids, status) }
    }
}

impl Drop for NameSpace {
    fn drop(&mut self) {
        // SAFETY: the tree is ours, and no callback runs while its owner is dropped.
        unsafe { sys::pmdaTreeRelease(self.tree) };
    }
}
