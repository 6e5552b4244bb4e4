//! The opener, its worker in a thread of the test.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;

use super::worker::Worker;
use super::*;
use crate::host::files::{ProcDir, ProcFs};
use crate::host::known::Mapped;

const NAMES: Names = Names(&[&["data_*/#"], &["*/door-#"]]);

/// An opener whose workers are threads.
fn opener(grants: Grants) -> Opener {
    with_keeper(move |theirs| {
        thread::spawn(move || Worker { names: NAMES, grants }.serve(theirs.as_fd()));
    })
}

/// One whose keeper does this with each socket of a worker.
fn with_keeper(start: impl Fn(OwnedFd) + Send + 'static) -> Opener {
    let (ours, theirs) = pair().unwrap();
    thread::spawn(move || {
        loop {
            let _ = poll(&mut [PollFd::new(&theirs, PollFlags::IN)], None);
            let Ok((_, passed)) = message::receive(theirs.as_fd()) else { return };
            let Some(worker) = passed.into_iter().next() else { return };
            start(worker);
        }
    });
    Opener::with(ours, None, Grants::default())
}

struct Scene {
    child: Child,
    dir: ProcDir,
    process: Process,
    folder: PathBuf,
}

impl Scene {
    /// A process, and a folder for its files.
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("apm-opener-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("data_x")).unwrap();
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .env("APM_OPENER", name)
            .spawn()
            .unwrap();
        while fs::read(format!("/proc/{}/comm", child.id())).unwrap() != b"cat\n" {
            assert!(child.try_wait().unwrap().is_none());
            thread::yield_now();
        }
        let dir = ProcFs::new("/proc".into()).open(child.id()).unwrap();
        let process = Process { pid: child.id(), inode: dir.inode().unwrap() };
        Self { child, dir, process, folder }
    }

    fn ask(&self, opener: &Opener, request: &Request) -> Answer {
        opener.ask(self.process, 7, request)
    }

    fn file(&self, name: &str) -> (PathBuf, Mapped) {
        let path = self.folder.join(name);
        fs::write(&path, name).unwrap();
        let found = crate::host::Found::named(&self.dir, &path).unwrap().file();
        (path, found)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn text(answer: Answer) -> String {
    let mut text = Vec::new();
    let file = opened(answer);
    File::from(file).take(1 << 16).read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

fn opened(answer: Answer) -> OwnedFd {
    let (_, passed) = answer.unwrap();
    let [file] = <[OwnedFd; 1]>::try_from(passed).unwrap();
    file
}

fn error(answer: Answer) -> Errno {
    answer.map(|_| ()).unwrap_err()
}

#[test]
fn files_of_proc_are_those_of_the_very_process() {
    let (scene, opener) = (Scene::new("proc"), opener(Grants::default()));
    assert!(text(scene.ask(&opener, &Request::Open(Part::Maps.into()))).contains("/cat"));
    assert!(
        text(scene.ask(&opener, &Request::Open(Part::Environ.into()))).contains("APM_OPENER=proc")
    );
    let root = opened(scene.ask(&opener, &Request::Open(Part::Root.into())));
    assert_eq!(rustix::fs::fstat(root).unwrap().st_ino, fs::metadata("/").unwrap().ino());
    // Memory only where a source is to read it.
    assert_eq!(error(scene.ask(&opener, &Request::Open(Part::Memory.into()))), Errno::PERM);
    // Another process with its id.
    let other = Process { inode: scene.process.inode + 1, ..scene.process };
    assert_eq!(error(opener.ask(other, 7, &Request::Open(Part::Maps.into()))), Errno::SRCH);
}

#[test]
fn files_of_several_processes_are_opened_by_one_message() {
    let scene = Scene::new("ahead");
    let opener = Arc::new(opener(Grants::default()));
    let wanted = Parts::default().with(Part::Maps).with(Part::Environ).with(Part::Root);
    let (number, passed) = scene.ask(&opener, &Request::Open(wanted)).unwrap();
    assert_eq!((Parts::of(number), passed.len()), (wanted, 3));
    let memory = Request::Open(wanted.with(Part::Memory));
    assert_eq!(error(scene.ask(&opener, &memory)), Errno::PERM, "it is not granted");

    // Of several processes, whether they are there or not.
    let gone = Process { inode: scene.process.inode + 1, ..scene.process };
    let all = [(scene.process, wanted), (gone, wanted), (scene.process, Part::Auxv.into())];
    let parts =
        |opened: &Vec<(Part, OwnedFd)>| opened.iter().map(|(part, _)| *part).collect::<Vec<_>>();
    let opened = opener.ask_for_files(&all, 7);
    let expected = [vec![Part::Maps, Part::Environ, Part::Root], vec![], vec![Part::Auxv]];
    assert_eq!(opened.iter().map(parts).collect::<Vec<_>>(), expected);
    assert!(opener.ask_for_files(&[], 7).is_empty());
    let every = [(scene.process, Parts::of(u64::MAX)); 4];
    assert!(
        opener.ask_for_files(&every, 7).iter().all(Vec::is_empty),
        "more than a message passes"
    );
    // What was opened ahead is used once, and the opener is not asked for this user's own.
    let proc = ProcFs::new("/proc".into()).with_opener(Some(Arc::clone(&opener)));
    let taken = |process: &ProcDir| {
        ProcDir::open_ahead(&[(process, wanted)]);
        [Part::Maps, Part::Auxv, Part::Maps].map(|part| process.opened_ahead(part).is_some())
    };
    let own = proc.open(scene.process.pid).unwrap();
    own.status().unwrap();
    assert_eq!(taken(&own), [false; 3]);
    if rustix::process::geteuid().is_root() {
        let mut other = Command::new("sleep").arg("60").uid(65534).spawn().unwrap();
        let process = proc.open(other.id()).unwrap();
        while process.status().unwrap().real != 65534 {
            thread::yield_now();
        }
        assert_eq!(taken(&proc.open(other.id()).unwrap()), [false; 3], "whose it is was not read");
        let process = proc.open(other.id()).unwrap();
        process.status().unwrap();
        assert_eq!(taken(&process), [true, false, false]);
        other.kill().and_then(|()| other.wait()).unwrap();
    }
}

#[test]
fn memory_is_opened_where_it_is_granted() {
    let scene = Scene::new("memory");
    let opener = opener(Grants { memory: true, ..Grants::default() });
    let memory = opened(scene.ask(&opener, &Request::Open(Part::Memory.into())));
    let mut byte = [0; 1];
    rustix::io::pread(&memory, &mut byte, 0).unwrap_err();
}

#[test]
fn files_are_regular_of_its_user_of_one_name_and_those_that_were_looked_at() {
    let (scene, opener) = (Scene::new("files"), opener(Grants::default()));
    let read =
        |path: &Path, file| scene.ask(&opener, &Request::Read(Place::Path(path.to_owned()), file));
    let (path, file) = scene.file("data_x/17");
    assert_eq!(text(read(&path, file)), "data_x/17");
    let find = Request::Find(Place::Path(path.clone()));
    let found = opened(scene.ask(&opener, &find));
    // It is found, and not open for reading.
    assert_eq!(rustix::io::read(&found, &mut [0; 1]).unwrap_err(), Errno::BADF);
    let ((major, minor), inode) = file;
    assert_eq!(error(read(&path, ((major, minor), inode + 1))), Errno::PERM);
    assert_eq!(error(read(&path, ((major, minor + 1), inode))), Errno::PERM);
    let (other, file) = scene.file("data_x/secret");
    assert_eq!(error(read(&other, file)), Errno::PERM, "no source reads it");
    let find = Request::Find(Place::Path(other.clone()));
    assert_eq!(error(scene.ask(&opener, &find)), Errno::PERM);
    // A link is not followed, whatever name it has.
    symlink(&other, scene.folder.join("data_x/18")).unwrap();
    assert_eq!(error(read(&scene.folder.join("data_x/18"), file)), Errno::PERM);
    // Nor is a second name enough.
    fs::hard_link(&other, scene.folder.join("data_x/19")).unwrap();
    assert_eq!(error(read(&scene.folder.join("data_x/19"), file)), Errno::PERM);
    let fifo = scene.folder.join("data_x/20");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let file = crate::host::Found::named(&scene.dir, &fifo).unwrap().file();
    assert_eq!(error(read(&fifo, file)), Errno::PERM);
    if rustix::process::geteuid().is_root() {
        let (path, file) = scene.file("data_x/21");
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        assert_eq!(error(read(&path, file)), Errno::PERM, "of another user");
    }
    // Above the root of a process there is nothing.
    let above = PathBuf::from(format!("/../../{}", scene.folder.join("data_x/17").display()));
    assert_eq!(text(read(&above, scene.file("data_x/17").1)), "data_x/17");
}

#[test]
fn a_socket_of_its_user_is_connected_to() {
    let (scene, opener) = (Scene::new("sockets"), opener(Grants::default()));
    let path = scene.folder.join("door-5");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let connect = |path: &Path| scene.ask(&opener, &Request::Connect(path.to_owned()));
    let stream = std::os::unix::net::UnixStream::from(opened(connect(&path)));
    listener.accept().unwrap();
    drop(stream);
    drop(listener);
    assert_eq!(error(connect(&path)), Errno::CONNREFUSED);
    assert_eq!(error(connect(&scene.folder.join("other"))), Errno::PERM);
    let (file, _) = scene.file("door-6");
    assert_eq!(error(connect(&file)), Errno::PERM, "no socket");
}

#[test]
fn what_a_process_holds_is_told() {
    let (scene, opener) = (Scene::new("holds"), opener(Grants::default()));
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let own = rustix::fs::fstat(&socket).unwrap().st_ino;
    assert_eq!(scene.ask(&opener, &Request::Holds(vec![own, own + 1])).unwrap().0, 0);
    let this = ProcFs::new("/proc".into()).open(std::process::id()).unwrap();
    let this = Process { pid: std::process::id(), inode: this.inode().unwrap() };
    let held = opener.ask(this, 7, &Request::Holds(vec![own + 1_000_000, own])).unwrap();
    assert_eq!(held.0, 0b10);
    let null = fs::metadata("/dev/null").unwrap();
    let request = Request::HoldsFile(null.dev(), null.ino());
    assert_eq!(scene.ask(&opener, &request).unwrap().0, 1);
    let request = Request::HoldsFile(null.dev(), null.ino() + 1);
    assert_eq!(scene.ask(&opener, &request).unwrap().0, 0);
}

/// A worker that hangs costs its user's processes some time, and nobody else.
#[test]
fn one_that_hangs_is_given_up() {
    let scene = Scene::new("hangs");
    let (held, sockets) = mpsc::channel();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let opener = with_keeper(move |theirs| {
        if count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            held.send(theirs).unwrap();
            return;
        }
        let work = Worker { names: NAMES, grants: Grants::default() };
        thread::spawn(move || work.serve(theirs.as_fd()));
    });
    let request = Request::Open(Part::Maps.into());
    let began = Instant::now();
    assert_eq!(error(opener.ask(scene.process, 7, &request)), Errno::TIMEDOUT);
    assert!(began.elapsed() >= PATIENCE);
    sockets.recv().unwrap();
    // That user's are not asked for, and others are.
    assert_eq!(error(opener.ask(scene.process, 7, &request)), Errno::TIMEDOUT);
    assert!(text(opener.ask(scene.process, 8, &request)).contains("/cat"));
    let state = || opener.state();
    assert_eq!(state().paused.get(&7).map(|paused| paused.1), Some(PAUSE));
    let mut now = Instant::now();
    let lengths: Vec<_> = (0..40).map(|_| state().pause(9, now).as_secs()).collect();
    assert_eq!((&lengths[..4], lengths[39]), (&[60, 120, 240, 480][..], LONGEST.as_secs()));
    // A year later nobody remembers it.
    now += LONGEST * 365;
    assert_eq!(state().pause(9, now), PAUSE);
    for user in 10..3_000 {
        state().pause(user, now);
    }
    assert!(state().paused.len() <= USERS);
    state().paused.clear();
    assert!(text(opener.ask(scene.process, 7, &request)).contains("/cat"));
}

#[test]
fn a_worker_that_ended_is_replaced_and_a_keeper_is_not() {
    let scene = Scene::new("ends");
    let request = Request::Open(Part::Maps.into());
    let lost = with_keeper(drop);
    assert_eq!(error(lost.ask(scene.process, 7, &request)), Errno::TIMEDOUT);
    assert_eq!(error(lost.ask(scene.process, 8, &request)), Errno::TIMEDOUT);
    let (ours, theirs) = pair().unwrap();
    send_with(theirs.as_fd(), b"no capability can be kept", &[]).unwrap();
    drop(theirs);
    let over = Opener::with(ours, None, Grants::default());
    assert!(over.ask(scene.process, 7, &request).is_err());
    assert_eq!(error(over.ask(scene.process, 7, &request)), Errno::TIMEDOUT);
}

/// Whoever has taken over the PMDA says what he likes.
#[test]
fn what_is_no_request_is_refused() {
    let (ours, theirs) = pair().unwrap();
    let served = thread::spawn(move || {
        Worker { names: NAMES, grants: Grants::default() }.serve(theirs.as_fd());
    });
    let ask = |bytes: &[u8]| {
        send_with(ours.as_fd(), bytes, &[]).unwrap();
        answer(&ours).unwrap().unwrap().map(|_| ()).unwrap_err()
    };
    let mut seed = 1_u64;
    for length in 1..2_000 {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed.to_le_bytes()[7]
            })
            .collect();
        let errno = ask(&bytes);
        assert!([Errno::INVAL, Errno::SRCH].contains(&errno), "{errno}");
    }
    assert_eq!(ask(b"o"), Errno::INVAL);
    drop(ours);
    served.join().unwrap();
}
