//! Counters as metrics: the counters of a connection, their types and units in PCP's terms, their
//! values, the identity of the process, and what is said of the peer.

pub(crate) mod counters;
pub(crate) mod identity;
mod known;
pub(crate) mod mapping;
pub(crate) mod pattern;
pub(crate) mod spec;
pub(crate) mod total;
pub(crate) mod updates;
pub(crate) mod user;
mod values;
pub(crate) mod watched;
