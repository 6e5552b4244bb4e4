//! Event records of calls.

pub(super) mod call_record;
pub(super) mod entry;
pub(super) mod pending;
pub(super) mod roles;
