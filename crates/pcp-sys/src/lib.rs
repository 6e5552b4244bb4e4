//! Bindings made by build.rs from pmapi.h and pmda.h, and the few names that bindgen misses.
#![allow(
    unsafe_code,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::missing_safety_doc,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::use_self,
    unsafe_op_in_unsafe_fn,
    reason = "generated code"
)]

include!(concat!(env!("OUT_DIR"), "/pcp.rs"));

/// The version of the PCP whose headers these are: `6.3.8`.
pub const PCP_VERSION: &str = env!("PCP_SYS_VERSION");

/// `pmdaResult`: the values of a fetch or store. From PCP 7 on a macro for `pmResult_v2`.
#[cfg(pcp_result_v2)]
pub type PmdaResult = pmResult_v2;
/// `pmdaResult`: the values of a fetch or store. Up to PCP 6 it is `pmResult`.
#[cfg(not(pcp_result_v2))]
pub type PmdaResult = pmResult;

/// `PCP_ATTR_*` keys that pmcd passes on (libpcp.h, which the -dev package of PCP 6.0.3 does not
/// ship).
pub const PCP_ATTR_USERNAME: i32 = 5;
pub const PCP_ATTR_USERID: i32 = 11;
pub const PCP_ATTR_GROUPID: i32 = 12;
pub const PCP_ATTR_PROCESSID: i32 = 14;

/// Times of results and archives.
#[cfg(pcp_result_v2)]
pub type Stamp = timespec;
/// Times of results and archives. From PCP 7 on nanoseconds.
#[cfg(not(pcp_result_v2))]
pub type Stamp = timeval;

/// A time of libpcp as seconds and nanoseconds.
#[must_use]
pub const fn stamp_parts(stamp: &Stamp) -> (i64, i64) {
    #[cfg(pcp_result_v2)]
    return (stamp.tv_sec, stamp.tv_nsec);
    #[cfg(not(pcp_result_v2))]
    return (stamp.tv_sec, stamp.tv_usec * 1000);
}

/// A time of libpcp; `nanoseconds` of the second are cut to what it has.
#[must_use]
pub const fn stamp(seconds: i64, nanoseconds: i64) -> Stamp {
    #[cfg(pcp_result_v2)]
    return Stamp { tv_sec: seconds, tv_nsec: nanoseconds };
    #[cfg(not(pcp_result_v2))]
    return Stamp { tv_sec: seconds, tv_usec: nanoseconds / 1000 };
}

/// When an archive starts.
#[must_use]
pub const fn label_start(label: &pmLogLabel) -> Stamp {
    #[cfg(pcp_result_v2)]
    return label.start;
    #[cfg(not(pcp_result_v2))]
    return label.ll_start;
}

/// Where the next fetch of an archive begins; no interval, because records are read as they are.
///
/// # Safety
/// As pmSetMode(3).
pub unsafe fn set_mode(mode: i32, when: &Stamp) -> i32 {
    #[cfg(pcp_result_v2)]
    return pmSetMode(mode, when, &stamp(0, 0));
    #[cfg(not(pcp_result_v2))]
    return pmSetMode(mode, when, 0);
}
