//! The C types and status codes of pcp/pmapi.h and pcp/pmda.h that the calls use, declared here so
//! that the build needs no PCP header (sizes and values: docs/protocols/pcp-events.md section 1).

use std::ffi::{c_char, c_int, c_void};

use pcp_event::{ArrayError, QueueError};

/// `pmAtomValue`
#[repr(C)]
#[derive(Clone, Copy)]
pub union AtomValue {
    /// 32-bit signed
    pub l: i32,
    /// 32-bit unsigned
    pub ul: u32,
    /// 64-bit signed
    pub ll: i64,
    /// 64-bit unsigned
    pub ull: u64,
    /// 32-bit float
    pub f: f32,
    /// 64-bit float
    pub d: f64,
    /// string
    pub cp: *mut c_char,
    /// aggregate, event array
    pub vbp: *mut c_void,
}

impl std::fmt::Debug for AtomValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("pmAtomValue")
    }
}

/// `pmdaEventDecodeCallBack`: array, event, its size, its time, the caller's data; records added,
/// or a negative status.
pub type Decode = unsafe extern "C-unwind" fn(
    c_int,
    *mut c_void,
    usize,
    *mut libc::timeval,
    *mut c_void,
) -> c_int;
/// As [`Decode`] with nanoseconds, for `pmdaEventQueueHighResRecords`.
pub type HighResDecode = unsafe extern "C-unwind" fn(
    c_int,
    *mut c_void,
    usize,
    *mut libc::timespec,
    *mut c_void,
) -> c_int;
/// `pmdaEventApplyFilterCallBack`: filter, event, its size; 0 keeps the event.
pub type ApplyFilter = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, usize) -> c_int;
/// `pmdaEventReleaseFilterCallBack`
pub type ReleaseFilter = unsafe extern "C-unwind" fn(*mut c_void);

pub(crate) const PMDA_FETCH_NOVALUES: c_int = 0;
pub(crate) const PMDA_FETCH_STATIC: c_int = 1;

pub(crate) const PM_ERR_GENERIC: c_int = -12345;
pub(crate) const PM_ERR_CONV: c_int = -12362;
pub(crate) const PM_ERR_NOCONTEXT: c_int = -12376;
pub(crate) const PM_ERR_TYPE: c_int = -12397;
pub(crate) const PM_ERR_TOOBIG: c_int = -12444;

/// Invalid arguments or order of calls, which make libpcp_pmda corrupt memory.
pub(crate) const EINVAL: c_int = -libc::EINVAL;

pub(crate) fn array_status(result: Result<(), ArrayError>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(ArrayError::TooBig) => PM_ERR_TOOBIG,
        Err(ArrayError::NoRecord | ArrayError::Invalid) => EINVAL,
        Err(ArrayError::NoMemory) => -libc::ENOMEM,
        Err(_) => PM_ERR_GENERIC,
    }
}

pub(crate) const fn queue_status(error: QueueError) -> c_int {
    match error {
        QueueError::Invalid => EINVAL,
        QueueError::Exists => -libc::EEXIST,
        QueueError::NotFound => -libc::ESRCH,
        QueueError::NoMemory => -libc::ENOMEM,
        _ => PM_ERR_GENERIC,
    }
}
