//! Event records of calls.

pub(super) mod call_record;
mod pack;
pub(super) mod pending;
