//! What the PMDA keeps, against simple models of all of it. They are long in an optimised build, as in qa/check --all.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a test"
)]

mod budget;
mod random;
mod stream;
mod tables;
