//! Event records of calls.

pub(super) mod call_record;
pub(super) mod pending;
