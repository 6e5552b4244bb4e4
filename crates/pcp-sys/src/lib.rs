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
