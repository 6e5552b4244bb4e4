//! The protocol, without I/O: tokens from bytes, detection of the dialect, and bytes of requests.

pub(crate) mod detect;
pub(crate) mod requests;
pub(crate) mod wire;
