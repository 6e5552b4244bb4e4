//! Which process of this host a peer is, and what the host tells of it.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::confine::aside;
use crate::host;
use crate::host::{Holding, ProcDir, Socket, ask, holds, socket};
use crate::sources::mono::process::{Facts, Host, Said, Via};

/// Time that a list of process ids of containers is used.
const LISTED: Duration = Duration::from_millis(100);
/// The same for a process that is not found by it: a program says who it is later than this after its start.
const MISSED: Duration = Duration::from_millis(10);
/// A list is made anew after at least this many times what the last one took, as local peers can ask for one each.
const REST: u32 = 4;
/// Time between the start of a process and that of its stream.
const STARTED: Duration = Duration::from_secs(2);

/// /proc.
#[derive(Clone, Debug)]
pub(super) struct ProcHost {
    host: Arc<host::Host>,
    inner: Arc<Mutex<Option<Inner>>>,
}

/// Processes with another id in their own pid namespace.
#[derive(Debug)]
struct Inner {
    at: Instant,
    /// What it took to make the list.
    took: Duration,
    by_pid: HashMap<u32, Vec<u32>>,
}

impl ProcHost {
    pub(super) fn new(host: Arc<host::Host>) -> Self {
        Self { host, inner: Arc::default() }
    }

    /// What is known of a process; `None`: it has ended.
    pub(super) fn facts(&self, process: &ProcDir) -> Option<Facts> {
        let (stat, status) = (process.stat()?, process.status()?);
        Some(Facts {
            pid: process.pid(),
            start: stat.start,
            started: self.host.proc().started(stat.start),
            inner_pid: status.container_pid.unwrap_or(process.pid()),
            comm: String::from_utf8_lossy(&stat.comm).into_owned(),
            command: process.read_most("cmdline", COMMAND).unwrap_or_default(),
            owner: self.user(status.uid),
            container: host::container(process),
            older: !self.host.began(stat.start),
        })
    }

    /// All processes.
    pub(super) const fn host(&self) -> &Arc<host::Host> {
        &self.host
    }

    /// Name of a user, or the number.
    pub(super) fn user(&self, uid: u32) -> String {
        self.host.user(uid)
    }

    /// The processes that call themselves so, by a list that is at most this old.
    fn called(&self, pid: u32, age: Duration) -> Vec<ProcDir> {
        let calls = |dir: &ProcDir| {
            let status = dir.status()?;
            Some(status.container_pid.unwrap_or(dir.pid()))
        };
        let mut pids = vec![pid];
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let old = |inner: &Inner| inner.at.elapsed() > age.max(inner.took.saturating_mul(REST));
        if inner.as_ref().is_none_or(old) {
            let at = Instant::now();
            let mut by_pid: HashMap<u32, Vec<u32>> = HashMap::new();
            for (host, _) in self.host.proc().list().unwrap_or_default() {
                let other = self.host.proc().open(host).and_then(|dir| calls(&dir));
                if let Some(other) = other.filter(|other| *other != host) {
                    by_pid.entry(other).or_default().push(host);
                }
            }
            // A process that began while the list was made may not be in it.
            *inner = Some(Inner { at, took: at.elapsed(), by_pid });
        }
        if let Some(inner) = &*inner {
            pids.extend(inner.by_pid.get(&pid).into_iter().flatten());
        }
        drop(inner);
        let dirs = pids.into_iter().filter_map(|pid| self.host.proc().open(pid));
        dirs.filter(|dir| calls(dir) == Some(pid)).collect()
    }

    /// The process of this user that says so and has the connection or the file open, as far as a list of this age
    /// has it.
    fn look(
        &self,
        via: &Via,
        what: Holding,
        user: u32,
        said: &Said<'_>,
        age: Duration,
    ) -> Option<Facts> {
        let called = self.called(said.pid, age);
        self.holder(&called, what, user, said).or_else(|| {
            let all = called.iter().filter(|dir| of(dir, user)).filter_map(|dir| self.facts(dir));
            // A file may be closed again.
            let closed = matches!(via, Via::File(_));
            closed.then(|| only(all.filter(|facts| began(facts, said))))?
        })
    }

    /// The process that says so and has the connection or the file open.
    fn holder(
        &self,
        called: &[ProcDir],
        what: Holding,
        user: u32,
        said: &Said<'_>,
    ) -> Option<Facts> {
        let mut hidden = Vec::new();
        for dir in called {
            match holds(dir, what) {
                Some(true) => return self.facts(dir),
                Some(false) => {}
                // What a peer says of itself is no proof: anybody can say what /proc tells.
                None if of(dir, user) => hidden.extend(self.facts(dir)),
                None => {}
            }
        }
        // Files of other users are hidden from a PMDA that is not root. First processes of
        // containers have one id: two that start together cannot be told apart.
        only(hidden.into_iter().filter(|facts| fits(facts, said)))
    }
}

/// The process is one of this user.
fn of(process: &ProcDir, user: u32) -> bool {
    process.status().is_some_and(|status| status.uid == user)
}

/// Bytes of a command line.
const COMMAND: u64 = 4 << 10;

impl Host for ProcHost {
    /// Who decodes may not look himself.
    fn find(&self, via: &Via, said: &Said<'_>) -> Option<Facts> {
        let (this, theirs) = (self.clone(), via.clone());
        let (what, user) = aside::wait(move || this.opened(&theirs))??;
        let (this, via) = (self.clone(), via.clone());
        let (pid, started) = (said.pid, said.started);
        let command = said.command.map(str::to_owned);
        // Who says so pays for the looks at his processes.
        ask(user, move || {
            let said = Said { pid, command: command.as_deref(), started };
            // What is not found now is called otherwise for as long as it is connected: a container that began after
            // the list is looked for again.
            let look = |age| this.look(&via, what, user, &said, age);
            look(LISTED).or_else(|| look(MISSED))
        })?
    }
}

impl ProcHost {
    /// What the process has open, and whose that is.
    fn opened(&self, via: &Via) -> Option<(Holding, u32)> {
        Some(match via {
            Via::Tcp { peer, ours } => {
                let Socket { inode, user } = socket(self.host.proc(), *peer, *ours)?;
                (Holding::Socket(inode), user)
            }
            Via::File(path) => {
                let file = std::fs::metadata(path).ok()?;
                (Holding::File(file.dev(), file.ino()), file.uid())
            }
        })
    }
}

/// The item, if there is just one: a guess could give a process the values of another.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

/// The command line is the one that the process says.
fn fits(facts: &Facts, said: &Said<'_>) -> bool {
    let Some(command) = said.command else { return began(facts, said) };
    let text = facts.command.strip_suffix(b"\0").unwrap_or(&facts.command);
    let text: Vec<u8> = text.iter().map(|&b| if b == 0 { b' ' } else { b }).collect();
    !text.is_empty() && text.trim_ascii() == command.trim().as_bytes()
}

/// The process began when it says.
fn began(facts: &Facts, said: &Said<'_>) -> bool {
    let started = facts.started.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
    started.zip(said.started).is_some_and(|(host, said)| host.abs_diff(said) < STARTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;

    const BOOT: i64 = 1_000_000;

    /// A /proc with processes that are the first of their containers, one for each start in
    /// seconds after boot, and whose descriptors are hidden.
    fn containers(root: &Path, user: u32, starts: &[u64]) {
        let _ = std::fs::remove_dir_all(root);
        std::fs::create_dir_all(root.join("self/net")).unwrap();
        std::fs::write(root.join("stat"), format!("cpu 1\nbtime {BOOT}\n")).unwrap();
        for table in ["tcp", "tcp6"] {
            let text = std::fs::read(Path::new("/proc/net").join(table)).unwrap();
            std::fs::write(root.join("self/net").join(table), text).unwrap();
        }
        for (host, start) in (500..).zip(starts) {
            let dir = root.join(host.to_string());
            std::fs::create_dir_all(&dir).unwrap();
            let zeros = "0 ".repeat(17);
            std::fs::write(
                dir.join("stat"),
                format!("{host} (mono) S {zeros}1 {} 0 0", start * 100),
            )
            .unwrap();
            let status = format!("Uid:\t0\t{user}\t0\t0\nNSpid:\t{host}\t1\n");
            std::fs::write(dir.join("status"), status).unwrap();
            let cgroup = format!("0::/docker/{}\n", "5eaf00d0".repeat(8));
            std::fs::write(dir.join("cgroup"), cgroup).unwrap();
        }
    }

    /// Looks for the process of a connection among the first ones of containers, of this user or
    /// another.
    fn find(name: &str, listens: &str, other: u32, starts: &[u64]) -> Option<(u32, u32)> {
        let root = std::env::temp_dir().join(format!("apm-mono-{name}-{}", std::process::id()));
        let listener = TcpListener::bind(listens).unwrap();
        let ours = listener.local_addr().unwrap();
        let client = TcpStream::connect(ours).unwrap();
        let via = Via::Tcp { peer: client.local_addr().unwrap(), ours };
        let started = Some(Duration::from_secs(1_000_010));
        let said = Said { pid: 1, command: None, started };
        containers(&root, rustix::process::geteuid().as_raw() + other, starts);
        let found = ProcHost::new(host::Host::new(root.clone())).find(&via, &said);
        std::fs::remove_dir_all(&root).unwrap();
        found.map(|facts| (facts.pid, facts.inner_pid))
    }

    #[test]
    fn first_processes_of_containers_that_start_together_are_not_mixed_up() {
        let found = |starts: &[u64]| find("host", "127.0.0.1:0", 0, starts);
        assert_eq!(found(&[10]), Some((500, 1)));
        assert_eq!(found(&[100, 10]), Some((501, 1)));
        assert_eq!(found(&[10, 11]), None);
    }

    /// Two programs of which the second began when the first one had just been looked for.
    #[test]
    fn a_container_that_began_after_the_list_is_found() {
        let root = std::env::temp_dir().join(format!("apm-mono-late-{}", std::process::id()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let client = TcpStream::connect(ours).unwrap();
        let via = Via::Tcp { peer: client.local_addr().unwrap(), ours };
        let said =
            |started| Said { pid: 1, command: None, started: Some(Duration::from_secs(started)) };
        let user = rustix::process::geteuid().as_raw();
        containers(&root, user, &[10]);
        let host = ProcHost::new(host::Host::new(root.clone()));
        let find = |said| host.find(&via, &said).map(|facts| facts.pid);
        assert_eq!(find(said(1_000_010)), Some(500));
        let container = host.find(&via, &said(1_000_010)).and_then(|facts| facts.container);
        assert_eq!(container.as_deref(), Some("5eaf00d05eaf"));
        containers(&root, user, &[10, 20]);
        host.inner.lock().unwrap().as_mut().unwrap().took = Duration::ZERO;
        std::thread::sleep(MISSED);
        assert_eq!(find(said(1_000_020)), Some(501));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_connection_of_another_user_is_not_that_of_the_process() {
        for listens in ["127.0.0.1:0", "[::1]:0"] {
            assert_eq!(find("user", listens, 0, &[10]), Some((500, 1)), "{listens}");
            assert_eq!(find("user", listens, 1, &[10]), None, "{listens}");
        }
    }
}
