//! The traces below directories, and their readers.

use std::path::Path;

use super::directory;
use super::error::Error;
use super::files::TraceFiles;
use super::reader::Reader;
use super::records::Records;

/// The traces below one or several directories.
#[derive(Debug, Default)]
pub struct Session {
    traces: Vec<TraceFiles>,
}

impl Session {
    /// Finds the traces in a directory and below it, and compiles their metadata.
    ///
    /// # Errors
    /// [`Error`]: there is no trace, a file cannot be read, or the metadata of a trace cannot be
    /// used.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let (session, errors) = Self::open_all(&[dir])?;
        errors.into_iter().next().map_or(Ok(session), Err)
    }

    /// Finds the traces in and below several directories. Traces with unusable metadata are left
    /// out and returned as errors. Directories with the same UUID are one trace, written one after
    /// the other by the tracer.
    ///
    /// # Errors
    /// [`Error`]: there is no trace at all, or a file cannot be read.
    pub fn open_all(dirs: &[impl AsRef<Path>]) -> Result<(Self, Vec<Error>), Error> {
        let (traces, errors) = directory::traces(dirs)?;
        Ok((Self { traces }, errors))
    }

    /// The traces, in the order of their directories.
    #[must_use]
    pub fn traces(&self) -> &[TraceFiles] {
        &self.traces
    }

    /// A reader of the events of all streams in time order, from the beginning.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(&self.traces)
    }

    /// An iterator over the events of all streams in time order, from the beginning.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        Records::new(self.reader())
    }
}
