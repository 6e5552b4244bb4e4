//! Follows files that agents write (`address=file://PATH`), from the start; a truncated or replaced
//! file is read from the start again. A plain thread, since file reads block.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use pmda::process::leaves_reserve;
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::ledger::{Full, Ledger};
use super::listener::SharedThrottle;
use super::peers::Peers;
use crate::clock::now;
use crate::contract::{Control, Peer, Refusal, Session, SessionError};
use crate::model::{Departure, Now};
use crate::read::glob;
use crate::store::RequestQueue;

/// Time between two polls of the files.
const POLL: Duration = Duration::from_millis(250);
/// Time between two ticks of a session.
const TICK: Duration = Duration::from_secs(1);
/// A file that a limit has turned away is read again after this: there may be room then.
const AGAIN: Duration = Duration::from_secs(10);
/// Bytes read at once, and per file in one round: a large file must not delay the others.
const READ: usize = 64 << 10;
const ROUND: usize = 4 << 20;
/// Bytes at the start of a file by which one that was begun anew is told: its length does not show
/// it when it has grown again between two polls.
const HEAD: usize = 64;
const NOT_A_FILE: &str = "not a regular file";
/// Most files followed at once.
const FILES_MAX: usize = 1024;

/// Makes the session for a file, from the peer's address (`file:PATH`) and the instance name for a
/// peer that gives none.
pub type FileFactory = Arc<dyn Fn(String, String) -> Box<dyn Session> + Send + Sync>;

/// Follows all files that match the patterns.
pub(super) struct Tail {
    pub(super) peers: Peers,
    pub(super) factory: FileFactory,
    pub(super) patterns: Arc<Mutex<Vec<PathBuf>>>,
    pub(super) stop: CancellationToken,
}

/// A followed file.
struct Followed {
    file: File,
    identity: (u64, u64),
    offset: u64,
    /// The first bytes, at most [`HEAD`] of those read.
    head: Vec<u8>,
    input: BytesMut,
    session: Box<dyn Session>,
    peer: Peer,
    ledger: Ledger,
    requests: Arc<RequestQueue>,
    /// Time of the last tick.
    ticked: Duration,
    /// Faults since the file was truncated or replaced. The first may come from a truncation
    /// between two polls that the file's length did not show: the file is read once more from the
    /// start. After the second the file is ignored.
    faults: u8,
    /// The file is read again from the start at this time: after its first fault, or when a limit has
    /// turned it away. Until then it is left alone.
    again: Option<Duration>,
}

impl Tail {
    /// Runs until the PMDA stops.
    pub(super) fn run(self) {
        let throttled = SharedThrottle::default();
        let mut followed: BTreeMap<PathBuf, Followed> = BTreeMap::new();
        while !self.stop.is_cancelled() {
            let patterns = self.patterns.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let paths = matching(&patterns);
            followed.retain(|path, f| {
                let keep = paths.contains(path);
                if !keep {
                    f.end(false, Departure::regular("the file is not followed any more"));
                }
                keep
            });
            for path in paths {
                if let Err(fault) = self.follow(&path, &mut followed, now()) {
                    throttled.write(&format!("{}: {fault}", path.display()));
                }
            }
            std::thread::sleep(POLL);
        }
        let stop = || Departure::regular("the PMDA stopped");
        followed.values_mut().for_each(|f| f.end(false, stop()));
    }

    fn follow(
        &self,
        path: &Path,
        followed: &mut BTreeMap<PathBuf, Followed>,
        at: Now,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let metadata = match std::fs::metadata(path) {
            Ok(m) if m.is_file() => m,
            Ok(_) => return Err(NOT_A_FILE.into()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        if followed.get(path).is_some_and(|f| f.restarted(&metadata))
            && let Some(mut old) = followed.remove(path)
        {
            old.end(false, Departure::regular("the file was replaced"));
        }
        let faults = match followed.get(path) {
            None => Some(0),
            Some(f) => f.again.is_some_and(|again| again <= at.monotonic).then_some(f.faults),
        };
        if let Some(faults) = faults {
            followed.insert(path.to_path_buf(), self.open(path, faults)?);
        }
        match followed.get_mut(path) {
            Some(f) => f.read(at),
            None => Ok(()),
        }
    }

    fn open(&self, path: &Path, faults: u8) -> std::io::Result<Followed> {
        let (file, metadata) = open(path)?;
        if !leaves_reserve(&file) {
            return Err(Errno::MFILE.into());
        }
        let requests = Arc::new(RequestQueue::new(|| ()));
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        Ok(Followed {
            identity: (metadata.dev(), metadata.ino()),
            offset: 0,
            head: Vec::new(),
            input: BytesMut::new(),
            session: (self.factory)(format!("file:{}", path.display()), stem),
            peer: self.peers.peer(&requests),
            ledger: Ledger::new(self.peers.memory()),
            requests,
            ticked: now().monotonic,
            faults,
            again: None,
            file,
        })
    }
}

/// Opens a regular file only, checked after the open: a named pipe in the file's place would block
/// this thread until somebody writes into it, and so block all other files.
fn open(path: &Path) -> std::io::Result<(File, Metadata)> {
    let file =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata)) } else { Err(std::io::Error::other(NOT_A_FILE)) }
}

impl Followed {
    fn restarted(&self, now: &Metadata) -> bool {
        (now.dev(), now.ino()) != self.identity
            || now.len() < self.offset
            || (now.len() > self.offset && self.is_begun_anew())
    }

    /// The start of the file is not what was read of it.
    fn is_begun_anew(&self) -> bool {
        let mut head = [0; HEAD];
        let Ok(read) = self.file.read_at(&mut head, 0) else { return false };
        !head.get(..read).unwrap_or_default().starts_with(&self.head)
    }

    /// Reads the bytes written since the last round, at most [`ROUND`].
    fn read(&mut self, at: Now) -> Result<(), Box<dyn std::error::Error>> {
        self.peer.set_now(at);
        let mut out = BytesMut::new();
        let requests: Vec<Control> = self.requests.take();
        let mut result = Ok(());
        for request in &requests {
            result = result.and(self.session.control(at, request, &mut out, &mut self.peer));
        }
        let mut left = ROUND;
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut refused = false;
        while left > 0 && !self.is_left_alone() && result.is_ok() {
            let filled = self.input.len();
            self.input.resize(filled + READ, 0);
            let n = self.file.read(self.input.get_mut(filled..).unwrap_or_default())?;
            self.input.truncate(filled + n);
            if n == 0 {
                break;
            }
            left = left.saturating_sub(n);
            if self.offset < HEAD as u64 {
                let read = self.input.get(filled..).unwrap_or_default();
                self.head.extend(read.iter().take(HEAD - self.head.len()));
            }
            self.offset += n as u64;
            self.peer.count_io(n, 0);
            result = self.session.feed(at, &mut self.input, &mut out, &mut self.peer);
            while result.is_ok() && self.session.unfinished() {
                result = self.session.feed(at, &mut self.input, &mut out, &mut self.peer);
            }
            self.peer.flush();
            if let Err(full) =
                self.ledger.settle(false, self.input.capacity(), self.session.held(), &self.peer)
            {
                log::debug!("{full}");
                refused = matches!(full, Full::All);
                result =
                    Err(SessionError::Closed("limits.memory or limits.peer_memory is reached"));
            }
            if self.peer.refused() {
                refused = true;
                result = Err(SessionError::Closed(match self.peer.refusal() {
                    Some(Refusal::Memory) => "limits.memory is reached",
                    _ => "limits.instances is reached",
                }));
            }
        }
        if result.is_ok()
            && !self.is_left_alone()
            && at.monotonic.saturating_sub(self.ticked) >= TICK
        {
            self.ticked = at.monotonic;
            result = self.session.tick(at, &mut out, &mut self.peer);
            self.peer.flush();
        }
        if let Err(fault) = result {
            if refused {
                self.again = Some(at.monotonic + AGAIN);
            } else {
                self.faults += 1;
                self.again = (self.faults == 1 && self.offset > 0).then_some(at.monotonic);
            }
            self.end(!matches!(fault, SessionError::Closed(_)), fault.departure());
            return Err(fault.into());
        }
        Ok(())
    }

    const fn is_left_alone(&self) -> bool {
        self.faults > 1 || self.again.is_some()
    }

    fn end(&mut self, fault: bool, departure: Departure) {
        let at = now();
        self.peer.set_now(at);
        self.session.close(at, &mut BytesMut::new(), &mut self.peer);
        self.peer.finish(fault, departure);
    }
}

/// The files that match: `*` in a last component is expanded; a plain path is returned even if no
/// such file exists.
fn matching(patterns: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for pattern in patterns {
        let name =
            pattern.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if !name.contains('*') {
            paths.push(pattern.clone());
            continue;
        }
        let Some(Ok(entries)) = pattern.parent().map(std::fs::read_dir) else { continue };
        paths.extend(entries.filter_map(Result::ok).map(|e| e.path()).filter(|p| {
            p.file_name().is_some_and(|n| glob(name.as_bytes(), n.as_encoded_bytes()))
        }));
    }
    paths.sort();
    paths.dedup();
    paths.truncate(FILES_MAX);
    paths
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::catalogue::test_kit::{self, TOY};
    use crate::contract::Identity;
    use crate::store::{Limits, Store};

    #[test]
    fn a_named_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("apm-tail-{}.fifo", std::process::id()));
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        // Without a writer a plain open(2) would wait here for ever.
        let error = open(&path).expect_err("no file").to_string();
        assert_eq!(error, NOT_A_FILE);
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "x").expect("written");
        let (_, metadata) = open(&path).expect("a file");
        assert_eq!(metadata.len(), 1);
        std::fs::remove_file(&path).expect("removed");
        assert!(open(Path::new("/dev/null")).is_err());
    }

    /// A peer of one byte.
    struct OneByte;

    impl Session for OneByte {
        fn feed(
            &mut self,
            _: Now,
            input: &mut BytesMut,
            _: &mut BytesMut,
            peer: &mut Peer,
        ) -> Result<(), SessionError> {
            input.clear();
            peer.is(Identity { name: "file".to_owned(), ..Identity::default() });
            Ok(())
        }

        fn tick(&mut self, _: Now, _: &mut BytesMut, _: &mut Peer) -> Result<(), SessionError> {
            Ok(())
        }

        fn control(
            &mut self,
            _: Now,
            _: &Control,
            _: &mut BytesMut,
            _: &mut Peer,
        ) -> Result<(), SessionError> {
            Ok(())
        }

        fn close(&mut self, _: Now, _: &mut BytesMut, _: &mut Peer) {}

        fn established(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_file_that_a_limit_has_turned_away_is_read_when_there_is_room() {
        let path = std::env::temp_dir().join(format!("apm-tail-refused-{}", std::process::id()));
        std::fs::write(&path, b"x").expect("written");
        let full = Limits { instances: 1, ..Limits::default() };
        let store = Store::new(test_kit::catalogue(), 400, full, 1 << 20);
        let mut other = store.peer_of(TOY, &Arc::new(RequestQueue::new(|| ())));
        other.is(Identity { name: "other".to_owned(), ..Identity::default() });
        let tail = Tail {
            peers: Peers::new(&store, TOY, "toy"),
            factory: Arc::new(|_, _| Box::new(OneByte)),
            patterns: Arc::default(),
            stop: CancellationToken::new(),
        };
        let (mut followed, start) = (BTreeMap::new(), now());
        let mut follow = |seconds| {
            let monotonic = start.monotonic + Duration::from_secs(seconds);
            tail.follow(&path, &mut followed, Now { monotonic, ..start }).map_err(|e| e.to_string())
        };
        let refused = Err("closed: limits.instances is reached".to_owned());
        // More often than a file may have faults.
        for second in [0, 10, 20, 30] {
            assert_eq!((follow(second), follow(second + 9)), (refused.clone(), Ok(())));
        }
        store.set_limits(Limits::default());
        assert_eq!(follow(40), Ok(()));
        assert!(store.peers().iter().any(|peer| peer.name == "file"));
        std::fs::remove_file(&path).expect("removed");
    }
}
