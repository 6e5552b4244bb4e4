//! A decoder made to run wild: it opens nothing, connects nowhere, sees no other process and starts none. Filters stay
//! for good, so a process of its own has them: this test program, started again.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test")]

use std::fs::File;
use std::io::{self, Error, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use pmdaapm::confine::{Confine, aside};
use pmdaapm::net::Supervisor;
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process};

const WILD: &str = "APM_TEST_WILD";
const ALL: Confine = Confine { seccomp: true, landlock: true };

/// Where the wild ones try to get to: the parent, and its port and socket.
fn places() -> (Pid, u16, String) {
    let text = std::env::var(WILD).unwrap();
    let mut words = text.splitn(3, ' ');
    let mut next = || words.next().unwrap();
    let parent = Pid::from_raw(next().parse().unwrap()).unwrap();
    (parent, next().parse().unwrap(), next().to_owned())
}

fn killed(pid: Pid) -> io::Result<()> {
    kill_process(pid, Signal::TERM).map_err(Error::from)
}

/// Each thing that succeeds though it should not.
fn succeeds(reads_files: bool) -> Vec<&'static str> {
    let (parent, port, socket) = places();
    let status = format!("/proc/{}/status", parent.as_raw_nonzero());
    let root = format!("/proc/{}/root", parent.as_raw_nonzero());
    let made = format!("{socket}.made");
    let tried: [(&str, bool); 14] = [
        ("open", !reads_files && File::open("/etc/passwd").is_ok()),
        ("status", !reads_files && std::fs::read(status).is_ok()),
        ("stat", !reads_files && std::fs::metadata("/etc/passwd").is_ok()),
        ("root", std::fs::read_link(root).is_ok()),
        ("create", File::create(&made).is_ok()),
        ("remove", std::fs::remove_file(&socket).is_ok()),
        ("tcp", TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()),
        ("listen", TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok()),
        ("unix", UnixStream::connect(&socket).is_ok()),
        ("kill", killed(Pid::INIT).is_ok()),
        ("kill parent", killed(parent).is_ok()),
        ("start", Command::new("/bin/true").spawn().is_ok()),
        ("thread", std::thread::Builder::new().spawn(|| ()).is_ok()),
        (
            "pidfd",
            rustix::process::pidfd_open(parent, rustix::process::PidfdFlags::empty()).is_ok(),
        ),
    ];
    tried.into_iter().filter_map(|(what, succeeded)| succeeded.then_some(what)).collect()
}

/// What the wild process does, by its kind. It is called by the tests below only.
#[test]
#[ignore = "a process that a test starts"]
fn wild() {
    let kind = std::env::args().next_back().unwrap();
    match kind.as_str() {
        "worker" => {
            ALL.process().unwrap();
            assert_eq!(getrlimit(Resource::Core).maximum, Some(1));
            let (supervisor, given) = Supervisor::confined(10, 10, ALL, |_| ()).unwrap();
            assert_eq!(given.fault(ALL), None);
            let runtime = supervisor.net().runtime();
            // Twice as many as workers: each has one.
            for _ in 0..4 {
                let wild = runtime.spawn(async {
                    let here = succeeds(false);
                    let there = aside::spawn_blocking(|| File::open("/etc/passwd").is_ok()).await;
                    let (_, port, _) = places();
                    let connected =
                        aside::run(async move { tokio_connect(port).await.is_ok() }).await;
                    (here, there.unwrap(), connected.unwrap())
                });
                assert_eq!(runtime.block_on(wild).unwrap(), (Vec::new(), true, true));
            }
            // What all threads have given up, those that open files too.
            let refused = rustix::process::chroot("/").unwrap_err();
            assert_eq!(refused, rustix::io::Errno::NOSYS);
            supervisor.stop();
        }
        "files" => {
            assert_eq!(ALL.files().fault(ALL), None);
            assert_eq!(succeeds(true), Vec::<&str>::new());
            let mut text = String::new();
            File::open("/etc/passwd").unwrap().read_to_string(&mut text).unwrap();
            assert!(text.contains("root:"));
        }
        "guard" => {
            ALL.guard();
            assert_eq!(succeeds(false), Vec::<&str>::new());
        }
        _ => return,
    }
    println!("confined");
    // Not by way of the harness, which may need what was given up.
    io::stdout().flush().unwrap();
    std::process::exit(0);
}

async fn tokio_connect(port: u16) -> io::Result<()> {
    let connect = move || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop);
    aside::spawn_blocking(connect).await.map_err(Error::other)?
}

/// Starts a wild process, and tells what it says.
fn run(kind: &str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let dir = std::env::temp_dir().join(format!("apm-wild-{}-{kind}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("socket");
    let _socket = UnixListener::bind(&path).unwrap();
    let place = format!(
        "{} {} {}",
        std::process::id(),
        listener.local_addr().unwrap().port(),
        path.display()
    );
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "wild", "--nocapture", "--test-threads=1", kind])
        .env(WILD, place)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(path.exists(), "nothing removes what is another's");
    std::fs::remove_dir_all(dir).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(child.status.success(), "{}\n{}", text(&child.stdout), text(&child.stderr));
    text(&child.stdout)
}

#[test]
fn a_worker_that_runs_wild_reaches_nothing_and_has_work_done_aside() {
    assert!(run("worker").contains("confined"));
}

#[test]
fn who_decodes_files_reads_them_and_nothing_else() {
    assert!(run("files").contains("confined"));
}

#[test]
fn the_guard_reaches_nothing() {
    assert!(run("guard").contains("confined"));
}
