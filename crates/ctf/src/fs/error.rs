//! Errors in reading a trace directory.

use std::io;
use std::path::PathBuf;

use crate::error::{MetadataError, PacketError};

/// An error in reading a trace directory, with the affected file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
    /// The metadata of a trace cannot be used.
    #[error("{}: {error}", path.display())]
    Metadata {
        /// The metadata file.
        path: PathBuf,
        /// The first error in it.
        #[source]
        error: MetadataError,
    },
    /// A packet, or the rest of one, cannot be decoded.
    #[error("{}: {error}", path.display())]
    Packet {
        /// The first file of the stream.
        path: PathBuf,
        /// The error.
        #[source]
        error: PacketError,
    },
    /// The directory and those below it contain no file `metadata`.
    #[error("{}: no file `metadata`", path.display())]
    NoTrace {
        /// The directory.
        path: PathBuf,
    },
}
