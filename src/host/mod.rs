//! The processes of this host and of its containers, for all sources: who is there, since when, whose it is, and
//! what it has open. One scan of /proc, one inotify instance and one list of users serve all of them.
//!
//! ```text
//!  /proc ─▶ scanner ─▶ table: which to look at ─▶ glance ─▶ finder of each source ─▶ its own reports
//!  inotify ─▶ watches ──▲  (young often, others seldom)      (one look for all)
//! ```
//!
//! All of it that reads /proc blocks; [`Host::run`] does that on other threads.
//!
//! A source adds a [`Finder`]: `examples/toy/io.rs` has the smallest one.

mod aside;
mod discovery;
mod files;
mod finder;
mod found;
mod known;
mod lent;
mod library;
pub mod limits;
mod maps;
pub mod opener;
mod scanner;
mod sockets;
mod table;
mod text;
mod turn;
mod usage;
mod users;
mod watches;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::CWD;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub use aside::{Aside, ask};
use discovery::Discovery;
pub use files::{ProcDir, ProcFs, age, connect, folder, path_of, read_at, ticks};
pub use finder::{Finder, Glance, Interest, Look, Named, Visit};
pub use found::{Found, folder_in};
pub use known::{Known, Mapped, Program, Reports, Taken};
pub use lent::Lent;
pub use library::{Library, Memory, element};
pub use maps::{Line, Mapping, lines};
use opener::Opener;
pub use sockets::{Holding, Socket, holds, owners, socket};
pub use text::{ProcStat, ProcStatus, file_system};
pub use usage::cgroup::{Limits as CgroupLimits, container, limits as cgroup_limits};
pub use usage::{ProcessorTime, Usage, most_files, open_files, usage};
use users::Users;
use watches::Watches;

/// The host, for all sources.
pub struct Host {
    proc: ProcFs,
    /// Start of this process in clock ticks since boot.
    began: u64,
    users: Users,
    watches: Option<Arc<Watches>>,
    /// Until [`Self::run`] has them: they hold the host.
    finders: Mutex<Vec<Arc<dyn Finder>>>,
    /// Some source looks for processes.
    looks: AtomicBool,
    commands: UnboundedSender<Command>,
    receiver: Mutex<Option<UnboundedReceiver<Command>>>,
}

/// What a source asks of the task that looks for processes.
#[derive(Clone, Copy, Debug)]
enum Command {
    /// Look at a process as if it were new.
    Again(usize, u32),
    /// Look at all processes; `None`: every source does.
    LookAgain(Option<usize>),
}

/// The place of a source's [`Finder`] at the host.
#[derive(Clone, Debug)]
pub struct Place {
    number: usize,
    commands: UnboundedSender<Command>,
}

impl Host {
    /// The host whose processes are below `root`, which is `/proc`.
    #[must_use]
    pub fn new(root: PathBuf) -> Arc<Self> {
        Self::with_opener(root, None)
    }

    /// The same, with what opens files that this user may not open.
    #[must_use]
    pub fn with_opener(root: PathBuf, opener: Option<Arc<Opener>>) -> Arc<Self> {
        let (commands, receiver) = unbounded_channel();
        let watches = Watches::new()
            .inspect_err(|e| log::warn!("processes: new ones are seen late: inotify: {e}"))
            .ok();
        let proc = ProcFs::new(root).with_opener(opener);
        let own = proc.open(std::process::id()).and_then(|own| own.start());
        Arc::new(Self {
            proc,
            began: own.unwrap_or_default(),
            users: Users::default(),
            watches: watches.map(Arc::new),
            finders: Mutex::default(),
            looks: AtomicBool::new(true),
            commands,
            receiver: Mutex::new(Some(receiver)),
        })
    }

    /// Files of processes.
    #[must_use]
    pub const fn proc(&self) -> &ProcFs {
        &self.proc
    }

    /// A process with this start began while this PMDA ran.
    #[must_use]
    pub const fn began(&self, start: u64) -> bool {
        start >= self.began
    }

    /// Some source looks for processes.
    #[must_use]
    pub fn is_looking(&self) -> bool {
        self.looks.load(Ordering::Relaxed)
    }

    /// Name of a user, or the number.
    #[must_use]
    pub fn user(&self, uid: u32) -> String {
        self.users.name(uid)
    }

    /// Adds a finder, before [`run`](Self::run). `watched`: a directory whose files tell of its processes.
    pub fn add(&self, finder: Arc<dyn Finder>, watched: Option<&str>) -> Place {
        let directory = watched.and_then(|path| folder(CWD, Path::new(path)).ok());
        if let (Some(directory), Some(watches)) = (directory, &self.watches) {
            watches.add(&directory);
        }
        let mut finders = self.lock();
        debug_assert!(finders.len() < limits::FINDERS, "limits::FINDERS");
        finders.push(finder);
        Place { number: finders.len() - 1, commands: self.commands.clone() }
    }

    /// Looks for processes, for ever. The second call does nothing.
    pub async fn run(self: Arc<Self>) {
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(commands) = receiver {
            let finders = std::mem::take(&mut *self.lock());
            Discovery::new(self, finders, commands).run().await;
        }
    }

    fn watches(&self) -> Option<Arc<Watches>> {
        self.watches.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<dyn Finder>>> {
        self.finders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

impl Place {
    /// Looks at a process as if it were new: what was told of it was not taken.
    pub fn again(&self, pid: u32) {
        let _ = self.commands.send(Command::Again(self.number, pid));
    }

    /// Takes what was told. What was not taken is looked for again.
    pub fn take<K: Clone + PartialEq, T>(&self, reports: &Reports<K, T>) -> Taken<T> {
        let taken = reports.take();
        if taken.full {
            self.look_again();
        }
        taken
    }

    /// Looks at all processes: the configuration has changed.
    pub fn look_again(&self) {
        let _ = self.commands.send(Command::LookAgain(Some(self.number)));
    }
}

/// What is private here, for `fuzz/fuzz_targets/proc_texts.rs`.
#[cfg(fuzzing)]
pub mod fuzzing {
    use std::net::SocketAddr;

    use rustix::io::Errno;

    use super::{Socket, sockets};

    /// The socket of a line of /proc/PID/net/tcp.
    #[must_use]
    pub fn connection(line: &[u8], local: SocketAddr) -> Option<Socket> {
        let (ends, socket) = sockets::connection(line)?;
        (ends.0 == sockets::canonical(local)).then_some(socket)
    }

    /// Whether it is a request to the opener.
    #[must_use]
    pub fn request(bytes: &[u8]) -> bool {
        super::opener::is_request(bytes)
    }

    /// An answer of sock_diag(7).
    ///
    /// # Errors
    /// As the kernel says, or it is no answer.
    pub fn answer(bytes: &[u8]) -> Result<Option<Socket>, Errno> {
        sockets::diag::read(bytes)
    }
}
