//! Session control with the real lttng: a private session daemon and relay daemon, each killed in
//! turn.
//!
//! The test runs as root in a private mount namespace, so that the daemons of the machine are not
//! affected. It needs lttng-tools, unshare(1), gcc and liblttng-ust-dev, and fails without them.
#![cfg(feature = "agent")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a test"
)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pmdaapm::sources::lttng::control::{
    Blocking, Buffers, Code, Command, Notice, Report, SessionPhase, SessionSpec, Verb,
};
use pmdaapm::sources::lttng::io::{ControlOptions, SessionControl};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const CONTROL: u16 = 17_442;
const LIVE: u16 = 17_444;

fn installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|p| p.join(program).exists()))
}

/// Runs `inside` in a namespace without the machine's session daemons.
#[test]
fn sessions_survive_whatever_dies() {
    for program in ["lttng", "lttng-sessiond", "lttng-relayd", "unshare", "gcc"] {
        assert!(installed(program), "{program} is not installed");
    }
    let private =
        "mkdir -p /run/lttng && mount -t tmpfs none /run/lttng && mount -t tmpfs none /dev/shm";
    let unshare = |script: &str| {
        let mut process = Process::new("unshare");
        process
            .args(["-m", "--propagation", "private", "sh", "-c", script, "sh"])
            .arg(std::env::current_exe().unwrap());
        process
    };
    let made = unshare(private).status().is_ok_and(|status| status.success());
    assert!(made, "no mount namespace can be made: this test needs root");
    let script =
        format!("{private} && exec \"$1\" inside --exact --ignored --nocapture --test-threads=1");
    let output = unshare(&script).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    println!("{text}");
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// A daemon; terminated, then killed, when dropped.
struct Daemon(Child);

impl Daemon {
    fn start(home: &Path, program: &str, args: &[&str]) -> Self {
        let mut process = Process::new(program);
        process
            .args(args)
            .env("LTTNG_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(process.spawn().unwrap())
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = Process::new("kill").arg(self.0.id().to_string()).stderr(Stdio::null()).status();
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct World {
    home: PathBuf,
    runtime: tokio::runtime::Runtime,
    tasks: TaskTracker,
    stop: CancellationToken,
    control: Option<SessionControl>,
    reports: Arc<Mutex<Vec<Report>>>,
}

impl World {
    fn relayd(&self) -> Daemon {
        let url = |port: u16| format!("tcp://127.0.0.1:{port}");
        let (control, data, live) = (url(CONTROL), url(CONTROL + 1), url(LIVE));
        let traces = self.home.join("relay");
        let daemon = Daemon::start(
            &self.home,
            "lttng-relayd",
            &["-C", &control, "-D", &data, "-L", &live, "-o", traces.to_str().unwrap()],
        );
        wait("the relay daemon", || TcpStream::connect(("127.0.0.1", LIVE)).is_ok());
        daemon
    }

    fn sessiond(&self) -> Daemon {
        Daemon::start(&self.home, "lttng-sessiond", &["--no-kernel", "--agent-tcp-port", "17445"])
    }

    fn start(&mut self, sessions: Vec<SessionSpec>) {
        self.stop = CancellationToken::new();
        self.tasks = TaskTracker::new();
        let options = ControlOptions {
            program: "lttng".into(),
            state_file: self.home.join("state.json"),
            sessions,
        };
        self.control = Some(SessionControl::start(
            self.runtime.handle(),
            &self.tasks,
            self.stop.clone(),
            options,
            Arc::default(),
        ));
        let mut changes = self.control.as_ref().unwrap().reports();
        let reports = Arc::clone(&self.reports);
        self.runtime.spawn(async move {
            while changes.changed().await.is_ok() {
                let new = changes.borrow_and_update().clone();
                new.iter().for_each(|r| println!("  {} {:?} {}", r.name, r.phase, r.diagnosis));
                *reports.lock().unwrap() = new;
            }
        });
    }

    fn end(&mut self) {
        self.stop.cancel();
        self.tasks.close();
        self.runtime.block_on(self.tasks.wait());
    }

    fn until(&self, name: &str, codes: &[Code]) -> Report {
        let mut found = None;
        wait(&format!("{name} {codes:?}"), || {
            found = self
                .reports
                .lock()
                .unwrap()
                .iter()
                .find(|r| r.name == name && codes.contains(&r.diagnosis.code))
                .cloned();
            found.is_some()
        });
        found.unwrap()
    }

    fn ask(&self, verb: Verb, text: &str) -> Result<String, String> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let command = Command::parse(verb, text).unwrap();
        self.control
            .as_ref()
            .unwrap()
            .request(command, Box::new(move |result| drop(sender.send(result))));
        receiver.recv_timeout(Duration::from_secs(60)).expect("an answer")
    }

    fn notice(&self, notice: Notice) {
        self.control.as_ref().unwrap().session_watch().notice(notice);
    }
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "{what} has not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Names of the sessions that the relay daemon has for viewers.
fn viewable() -> Vec<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", LIVE)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let header = |command: u32, size: u64| {
        [&size.to_be_bytes()[..], &command.to_be_bytes(), &[0; 4]].concat()
    };
    let mut hello = header(1, 20);
    for word in [0u32, 0, 2, 4, 1] {
        hello.extend(word.to_be_bytes());
    }
    stream.write_all(&hello).unwrap();
    stream.read_exact(&mut [0; 20]).unwrap();
    stream.write_all(&header(2, 0)).unwrap();
    let mut count = [0; 4];
    stream.read_exact(&mut count).unwrap();
    let mut names = Vec::new();
    for _ in 0..u32::from_be_bytes(count) {
        let mut entry = [0; 20 + 64 + 255];
        stream.read_exact(&mut entry).unwrap();
        let name = &entry[84..];
        names.push(
            String::from_utf8_lossy(&name[..name.iter().position(|b| *b == 0).unwrap()])
                .into_owned(),
        );
    }
    names
}

fn lttng(home: &Path, args: &[&str]) -> String {
    let output = Process::new("lttng").args(args).env("LTTNG_HOME", home).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn spec(name: &str) -> SessionSpec {
    let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    SessionSpec {
        url: format!("net://127.0.0.1:{CONTROL}:{}", CONTROL + 1),
        live_timer: 200_000,
        events: owned(&["apm:*", "other:tick"]),
        contexts: owned(&["vpid", "vtid", "procname"]),
        ..SessionSpec::new(name)
    }
}

#[test]
#[ignore = "run by the test above, in a namespace"]
fn inside() {
    let home = std::env::temp_dir().join(format!("apm-lttng-real-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut w =
        World { home: home.clone(), runtime, tasks, stop, control: None, reports: Arc::default() };
    let running = [Code::Ok, Code::NoApplication];

    println!("no session daemon, then no relay daemon, then both");
    let one = SessionSpec {
        filter: Some("$ctx.vpid > 0".into()),
        loglevel: Some("TRACE_DEBUG".into()),
        ..spec("one")
    };
    w.start(vec![one.clone()]);
    w.until("one", &[Code::NoSessiond]);
    let sessiond = w.sessiond();
    w.until("one", &[Code::RelaydUnreachable]);
    let relayd = w.relayd();
    // No program runs, and the diagnosis reports that.
    assert_eq!(w.until("one", &[Code::NoApplication]).phase, SessionPhase::Active);
    wait("the session in the relay daemon", || lttng(&home, &["list"]).contains("[active]"));

    println!("everything that can be configured");
    let two = SessionSpec {
        subbuf_size: Some(16384),
        num_subbuf: Some(8),
        buffers: Some(Buffers::Pid),
        blocking_timeout: Some(Blocking::Micros(100)),
        loglevel_only: Some("TRACE_INFO".into()),
        ..spec("two")
    };
    let jul = SessionSpec {
        domain: pmdaapm::sources::lttng::control::Domain::Jul,
        contexts: vec!["$app.prov:ctx".into()],
        ..spec("jul")
    };
    assert!(w.control.as_ref().unwrap().configure(vec![one.clone(), two, jul]));
    w.until("two", &[Code::NoApplication]);
    w.until("jul", &[Code::NoApplication]);
    let list = lttng(&home, &["list", "two"]);
    for part in [
        "apm:*",
        "other:tick",
        "loglevel == TRACE_INFO",
        "scheme: per-process",
        "16384 bytes",
        "67108864 bytes",
        "100 us",
    ] {
        assert!(list.contains(part), "{part} is not in {list}");
    }
    assert!(lttng(&home, &["list", "jul"]).contains("apm:*"));
    // The configuration has two sessions less.
    assert!(w.control.as_ref().unwrap().configure(vec![one.clone()]));
    wait("their end", || !lttng(&home, &["list"]).contains("two"));

    println!("a user's session, step by step");
    let url = &one.url;
    assert!(w.ask(Verb::Session, &format!("create mine url={url} live_timer=100ms")).is_ok());
    assert!(w.ask(Verb::Enable, "mine apm:*").is_ok());
    assert!(w.ask(Verb::Enable, "mine apm:*,more:*").is_ok());
    assert!(w.ask(Verb::Context, "mine vpid").is_ok());
    let refused = w.ask(Verb::Context, "mine nosuch").expect_err("no such context");
    assert!(refused.contains("Unknown context type nosuch"), "{refused}");
    assert_eq!(w.ask(Verb::Start, "mine"), Ok("done: session mine is recording".into()));
    assert!(w.ask(Verb::Context, "mine vtid").expect_err("too late").contains("started once"));
    let refused = w
        .ask(Verb::Session, &format!("create bad url={url} events=a start=true filter=a =="))
        .expect_err("no filter");
    assert!(refused.contains("Invalid filter"), "{refused}");
    wait("the bad one's end", || !lttng(&home, &["list"]).contains("bad"));

    println!("sessions of others");
    assert!(
        lttng(&home, &["create", "theirs", "--live", &format!("--set-url={url}")])
            .contains("created")
    );
    let no = w.ask(Verb::Session, &format!("create theirs url={url} events=a")).expect_err("taken");
    assert!(no.contains("left alone"), "{no}");
    assert!(lttng(&home, &["list"]).contains("theirs"));

    println!("the PMDA is started again");
    w.end();
    let before = lttng(&home, &["list"]);
    w.reports.lock().unwrap().clear();
    w.start(vec![one.clone()]);
    w.until("one", &running);
    wait("the end of what was refused", || {
        !w.reports.lock().unwrap().iter().any(|r| r.name == "theirs")
    });
    assert_eq!(w.until("mine", &running).phase, SessionPhase::Active);
    assert_eq!(lttng(&home, &["list"]), before, "nothing was made anew");

    println!("somebody destroys ours, somebody stops ours");
    lttng(&home, &["destroy", "one"]);
    lttng(&home, &["stop", "mine"]);
    wait("both again", || lttng(&home, &["list"]).matches("[active]").count() == 2);

    println!("the relay daemon is killed and started again");
    relayd.kill();
    std::thread::sleep(Duration::from_millis(500));
    let relayd = w.relayd();
    assert!(viewable().is_empty(), "it knows no session");
    assert!(
        lttng(&home, &["list"]).contains("[active]"),
        "and the session daemon does not know it"
    );
    std::thread::sleep(Duration::from_secs(5));
    let made = |name: &str| {
        w.reports.lock().unwrap().iter().find(|r| r.name == name).map_or(0, |r| r.made)
    };
    let before = [made("one"), made("mine")];
    for name in ["one", "mine"] {
        w.notice(Notice::Lost(name.into()));
    }
    wait("both made anew", || made("one") > before[0] && made("mine") > before[1]);
    w.until("one", &running);
    w.until("mine", &running);
    // The relay daemon lists a session that has a stream; it has one when a program runs.
    println!("viewers see {:?}", viewable());

    println!("the session daemon is killed and started again");
    sessiond.kill();
    w.until("one", &[Code::NoSessiond]);
    assert!(w.ask(Verb::Start, "mine").is_err());
    let sessiond = w.sessiond();
    w.until("one", &running);
    w.until("mine", &running);

    println!("why no events come");
    {
        let app = application(&home);
        // An event at once, the next one a quarter of an hour later.
        let child =
            Process::new(&app).args(["2", "0.001", "tick"]).stdout(Stdio::null()).spawn().unwrap();
        let mut child = Daemon(child);
        wait("its tracepoints", || lttng(&home, &["list", "--userspace"]).contains("apm:tick"));
        w.notice(Notice::Silent("mine".into()));
        w.notice(Notice::Silent("one".into()));
        let none = w.until("one", &[Code::NoEvent]);
        assert!(none.diagnosis.text.starts_with("other:tick: fits none"), "{}", none.diagnosis);
        wait("the session in the relay daemon", || viewable().contains(&"one".to_owned()));
        child.0.kill().unwrap();
    }

    println!("the end");
    assert!(w.ask(Verb::Session, "destroy mine").is_ok());
    assert!(w.control.as_ref().unwrap().configure(vec![]));
    wait("ours are gone", || !["one", "mine"].iter().any(|n| lttng(&home, &["list"]).contains(n)));
    w.end();
    drop((sessiond, relayd));
    std::fs::remove_dir_all(&home).unwrap();
}

/// A small program with tracepoints.
fn application(home: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/peers");
    let (main, program) = (source.join("lttng_app.c"), home.join("lttng_app"));
    let mut compiler = Process::new("gcc");
    compiler.arg("-I").arg(&source).arg("-o").arg(&program).arg(&main);
    let built = compiler.args(["-llttng-ust", "-ldl"]).status().is_ok_and(|s| s.success());
    assert!(built, "{} cannot be built: gcc, liblttng-ust-dev?", main.display());
    program
}
