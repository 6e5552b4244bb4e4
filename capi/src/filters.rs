//! Filters of clients: callbacks of the PMDA, each released once.

use std::ffi::c_void;

use pcp_event::QueueError;

use crate::ctypes::{ApplyFilter, ReleaseFilter};
use crate::debug::report;
use crate::fence::try_box;

/// A filter of the PMDA: released when dropped.
pub(crate) struct Filter {
    filter: *mut c_void,
    apply: ApplyFilter,
    release: Option<ReleaseFilter>,
    /// In a list of filters to release.
    next: Option<Box<Self>>,
}

// SAFETY: the PMDA passed the pointer for its callbacks. One thread at a time uses it, as the
// filter is owned by one fetch.
unsafe impl Send for Filter {}

impl Filter {
    /// A filter; without memory the caller keeps its own.
    pub(crate) fn new(
        filter: *mut c_void,
        apply: ApplyFilter,
        release: Option<ReleaseFilter>,
    ) -> Result<Box<Self>, QueueError> {
        try_box(|| Self { filter, apply, release, next: None }).ok_or(QueueError::NoMemory)
    }

    /// Whether the filter keeps the event. The event has a trailing NUL and belongs to this fetch:
    /// the callback may write into it, as in C.
    #[inline(always)]
    pub(crate) fn keeps(&self, event: &mut [u8]) -> bool {
        let len = event.len().saturating_sub(1);
        // SAFETY: pmdaEventApplyFilterCallBack: the PMDA's filter, an event and its size.
        let status = unsafe { (self.apply)(self.filter, event.as_mut_ptr().cast(), len) };
        report!("Clientq filter applied ({status})");
        status == 0
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: pmdaEventReleaseFilterCallBack: the PMDA's filter, which is not used any
            // more.
            unsafe { release(self.filter) }
        }
    }
}

/// Filters to release, in the order of their coming. A list, since what ends must need no memory.
#[derive(Default)]
pub(crate) struct Filters {
    latest: Option<Box<Filter>>,
}

impl Filters {
    pub(crate) fn push(&mut self, mut filter: Box<Filter>) {
        filter.next = self.latest.take();
        self.latest = Some(filter);
    }
}

impl Drop for Filters {
    fn drop(&mut self) {
        let mut first = None;
        while let Some(mut filter) = self.latest.take() {
            self.latest = std::mem::replace(&mut filter.next, first);
            first = Some(filter);
        }
        // Not all at once, which would nest as deep as the list is long. If a callback raises an
        // exception, the others are still called.
        while let Some(mut filter) = first {
            first = filter.next.take();
            drop(filter);
        }
    }
}
