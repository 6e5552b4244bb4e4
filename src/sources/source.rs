//! How a source is started: [`Source`] is one protocol, [`Running`] a started source, [`Context`]
//! everything that a source may use.
//!
//! A source may do any I/O: listen, connect, poll files or run a program. A source whose peers are
//! byte streams implements a [`Session`](crate::contract::Session) and lets [`net`](crate::net) drive it.

#[cfg(feature = "agent")]
use std::path::PathBuf;
#[cfg(feature = "agent")]
use std::sync::Arc;

use super::SourceTable;
#[cfg(feature = "agent")]
use super::foreign::ForeignReaders;
use crate::config::Section;
#[cfg(feature = "agent")]
use crate::host::Host;
#[cfg(feature = "agent")]
use crate::host::opener::Errand;
use crate::model::{Grants, Listening};
#[cfg(feature = "agent")]
use crate::net::{Net, Peers};

/// One protocol: a unit struct.
pub trait Source {
    /// The section `[<name>]` of `apm.toml`. Every key has a default:
    /// [`section!`](crate::section) declares it.
    type Config: Section;

    /// Name, ids, metrics, event kinds and tables, as PCP shows them.
    const TABLE: SourceTable;

    /// The effects of a configuration, for `--check`: one fact a line, without the source's name,
    /// for example `listens on 127.0.0.1:8888`.
    fn describe(config: &Self::Config) -> Vec<String>;

    /// The addresses that it listens on, by keys of its section.
    fn listens(config: &Self::Config) -> Vec<(&'static str, Listening)>;

    /// Files and sockets of processes that it reads, which the opener opens where this user may not: patterns of
    /// [`Names`](crate::host::opener::Names).
    const OPENED: &'static [&'static str] = &[];

    /// What the opener may do for it besides, by its section.
    #[must_use]
    fn grants(_config: &Self::Config) -> Grants {
        Grants::default()
    }

    /// What it has done in a process of its own.
    #[cfg(feature = "agent")]
    const ERRAND: Option<Errand> = None;

    /// Starts the source's tasks and returns at once.
    ///
    /// # Errors
    /// A thread cannot be started. An address in use or an absent peer is no error: the source
    /// retries and logs it.
    #[cfg(feature = "agent")]
    fn start(
        config: Self::Config,
        context: Context,
    ) -> std::io::Result<Box<dyn Running<Self::Config>>>;
}

/// A source that was started. It ends with the stop token of [`Net`].
#[cfg(feature = "agent")]
pub trait Running<C>: Send + Sync {
    /// Applies a new configuration as far as that is possible at run time. Returns the changed keys
    /// of the section that need a restart.
    fn reconfigure(&self, new: &C) -> Vec<&'static str>;
}

/// The arguments of [`Source::start`].
#[cfg(feature = "agent")]
#[derive(Clone, Debug)]
pub struct Context {
    /// Where the source's peers are registered.
    pub peers: Peers,
    /// Sockets, files, tasks.
    pub net: Net,
    /// Directory of files that outlive the process. A source names its files `apm.<source>.*`.
    pub state_dir: PathBuf,
    /// Processes of this host.
    pub host: Arc<Host>,
    /// Readers of events that another source receives.
    pub foreign: ForeignReaders,
}
