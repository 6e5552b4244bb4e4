//! The protocol, pure: bytes to tokens, which dialect they are of, and requests to bytes.

pub(crate) mod detect;
pub(crate) mod requests;
pub(crate) mod wire;
