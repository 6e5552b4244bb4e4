//! The files of traces and streams.

use std::path::{Path, PathBuf};

use crate::trace::Trace;

/// A trace and its data streams.
#[derive(Debug)]
#[non_exhaustive]
pub struct TraceFiles {
    /// The metadata, compiled.
    pub trace: Trace,
    /// The data streams, in the order of their names.
    pub streams: Vec<StreamFiles>,
}

/// The files of a data stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamFiles {
    /// The files in the order of time; at least one.
    pub paths: Vec<PathBuf>,
}

impl StreamFiles {
    /// The first file of the stream.
    #[must_use]
    pub fn name(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), PathBuf::as_path)
    }
}
