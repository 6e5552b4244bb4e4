//! One kit for the tests and benches of pmdaapm: captured sessions, agents that replay them, and
//! observers that compare what was decoded.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    missing_docs,
    reason = "a kit of tests fails by panics, and its names are its documentation"
)]

use std::sync::{Arc, LazyLock};

use pmdaapm::catalogue::Catalogue;

pub mod dotnet;
pub mod lttng;
pub mod profiler;
pub mod zorka;

/// The catalogue of all sources, made once: no part of what a bench measures.
pub fn catalogue() -> Arc<Catalogue> {
    static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(pmdaapm::sources::catalogue);
    Arc::clone(&CATALOGUE)
}
