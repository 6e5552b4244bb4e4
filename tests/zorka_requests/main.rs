//! The Zorka collector from requests to values in the store, without sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

mod browsers;
mod dialogues;
mod hostile;
mod kit;
mod legacy;
mod names;
mod random;
mod records;
mod renamed;
mod replay;
mod speed;
mod trees;
