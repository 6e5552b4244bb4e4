//! Safe framework for agents (PMDAs) of Performance Co-Pilot.
#![allow(
    unsafe_code,
    reason = "the C boundary of libpcp_pmda; each block names the contract it relies on"
)]

pub mod process;
