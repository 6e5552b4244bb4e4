//! What is told while a reading hangs, and what becomes of it.

use std::fs::File;
use std::path::PathBuf;

use super::super::live::{Live, PROCESS};
use super::*;
use crate::contract::Recorded;
use crate::host::Finder as _;
use crate::model::{Charge, Memory, Purpose};
use crate::sources::Source;
use crate::sources::jvm::Jvm;
use crate::sources::jvm::limits;
use crate::sources::jvm::metrics as m;
use crate::sources::jvm::tests::captures;

/// A finder, and the task that reads.
struct Scene {
    finder: Finder,
    live: Live,
    store: Recorded,
    memory: Arc<Memory>,
}

fn who(pid: u32, start: u64) -> Who {
    let comm = "java".to_owned();
    Who { pid, start, command: format!("java {pid}"), comm, ..Who::default() }
}

fn off() -> Access {
    Access::refused("-XX:-UsePerfData")
}

impl Scene {
    fn new() -> Self {
        let host = Host::new(PathBuf::from("/nonexistent"));
        let finder = Finder::new(Arc::clone(&host));
        finder.activate(true);
        let store = Recorded::new(&Jvm::TABLE);
        let memory = Arc::new(Memory::default());
        let charge = Charge::new(Arc::clone(&memory), Purpose::Definitions);
        let mut live = Live::new(host, store.maker(), charge);
        live.configure(&["*".to_owned()], true);
        Self { finder, live, store, memory }
    }

    fn looked(&self, who: Who, access: Access) {
        let program = Program::new(who.command.as_bytes(), None);
        self.finder.0.looked(who, program, access);
    }

    fn found(&self, pid: u32, access: Access) {
        self.looked(who(pid, 7), access);
    }

    /// The reading has come back: returns how many were found, and whether some were not taken.
    fn reads(&mut self) -> (usize, bool) {
        let reports = self.finder.reports().take();
        let told = (reports.found.len(), reports.full);
        self.live.report(reports);
        for pid in self.live.again() {
            self.finder.reports().forget(pid);
        }
        told
    }

    fn shown(&self) -> Vec<String> {
        self.store.log().shown.iter().cloned().collect()
    }
}

#[test]
fn what_ends_while_a_reading_hangs_is_not_shown_for_ever() {
    let mut scene = Scene::new();
    (1..=3).for_each(|pid| scene.found(pid, off()));
    assert_eq!(scene.reads(), (3, false));
    assert_eq!(scene.shown(), ["java:1", "java:2", "java:3"]);
    scene.finder.gone(1, 7);
    // One is told of otherwise, and ends.
    scene.found(2, Access::denied("its user"));
    scene.finder.gone(2, 7);
    for pid in 100..20_000 {
        scene.found(pid, off());
        scene.finder.gone(pid, 7);
    }
    // An id that is used again.
    scene.looked(who(100, 8), off());
    let (found, full) = scene.reads();
    assert!((1..=limits::REPORTS).contains(&found), "{found}");
    assert!(!full, "there was room for all that are there");
    assert_eq!(scene.shown(), ["java:100", "java:3"]);
    scene.finder.gone(100, 8);
    scene.reads();
    assert_eq!(scene.shown(), ["java:3"]);
}

#[test]
fn what_runs_when_it_begins_to_look_is_not_new() {
    let finder = Finder::new(Host::new(PathBuf::from("/proc")));
    let glance = finder.0.host.proc().open(std::process::id()).and_then(Glance::of).unwrap();
    let is_new = || {
        let start = Start { command: &[], environment: &[] };
        finder.0.who(&glance, start).is_new
    };
    // Long ago, as if it had been switched off since.
    finder.0.began.store(0, Ordering::Relaxed);
    assert!(is_new());
    finder.activate(true);
    assert!(!is_new());
    let began = finder.0.began.load(Ordering::Relaxed);
    assert!(began >= glance.stat().start, "{began} {}", glance.stat().start);
    finder.0.began.store(0, Ordering::Relaxed);
    finder.activate(true);
    assert!(is_new(), "it has looked all the time");
}

#[test]
fn what_is_not_taken_is_found_again() {
    let mut scene = Scene::new();
    let all = u32::try_from(limits::REPORTS).unwrap();
    (1..=all + 1).for_each(|pid| scene.found(pid, off()));
    // One that waits may be told of otherwise.
    scene.found(1, Access::denied("its user"));
    assert_eq!(scene.reads(), (limits::REPORTS, true));
    assert_eq!((scene.shown().len(), scene.reads()), (limits::REPORTS, (0, false)));
    scene.finder.gone(1, 7);
    scene.found(all + 1, off());
    assert_eq!(scene.reads(), (1, false));
    scene.finder.gone(all + 1, 7);
    scene.reads();
    assert_eq!(scene.shown().len(), limits::REPORTS - 1);
}

#[test]
fn a_region_that_waits_is_not_lost() {
    let mut scene = Scene::new();
    let path = std::env::temp_dir().join(format!("apm-jvm-region-{}", std::process::id()));
    let (_, region, _) = captures().swap_remove(0);
    std::fs::write(&path, region).unwrap();
    let file = ((0, 26), 5);
    let kept = |owner: &str| Who { owner: owner.to_owned(), ..who(5, 7) };
    let opens = || Access::Open(Region::of(File::open(&path).unwrap(), "file", file));
    scene.found(5, opens());
    // Its user has a name by now.
    scene.looked(kept("www-data"), Access::Kept(file));
    assert_eq!(scene.reads(), (1, false));
    assert_eq!((scene.shown().len(), scene.store.count(m::STATE)), (1, 3), "it is read");
    assert_eq!(scene.store.text(m::OWNER).unwrap(), "www-data");
    // One that has ended is read too.
    scene.finder.gone(5, 7);
    scene.reads();
    scene.store.log_mut().values.clear();
    scene.looked(who(5, 8), opens());
    scene.finder.gone(5, 8);
    assert_eq!(scene.reads(), (1, false));
    assert_eq!((scene.shown(), scene.store.count(m::STATE)), (vec![], 6));
    // What was open for a look that is told late is not open any more.
    scene.looked(kept("root"), Access::Kept(file));
    assert_eq!(scene.reads(), (0, false));
    std::fs::remove_file(&path).unwrap();
}

/// A process with a library of this name, its threads but one gone or not there yet.
#[test]
fn a_child_of_a_jvm_is_none() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let Some(from) =
        maps.lines().find_map(|line| line.split(' ').find(|w| w.ends_with("/libc.so.6")))
    else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("apm-jvm-child-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libjvm.so");
    std::fs::copy(from, &library).unwrap();
    let finder = Finder::new(Host::new(PathBuf::from("/proc")));
    let look = |pid| {
        let glance = finder.0.host.proc().open(pid).and_then(Glance::of).unwrap();
        let located = locate(glance.maps().unwrap(), pid);
        assert!(located.library.is_some(), "{located:?}");
        finder.look(&glance, Visit { number: STARTED, settled: false })
    };
    let mut child = std::process::Command::new("sleep")
        .arg("1000")
        .env("LD_PRELOAD", &library)
        .spawn()
        .unwrap();
    let begins = || {
        let stat = finder.0.host.proc().open(child.id()).and_then(|process| process.stat());
        stat.is_none_or(|stat| stat.comm != b"sleep")
            || !std::fs::read_to_string(format!("/proc/{}/maps", child.id()))
                .unwrap()
                .contains("/libjvm.so")
    };
    while begins() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let found = look(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((found.interest, found.report.is_some()), (Interest::Often, false));
}

#[test]
fn programs_that_differ_late_in_their_command_lines_are_two() {
    let mut scene = Scene::new();
    let path = format!("java\0-cp\0{}", "x.jar:".repeat(1_000));
    let of = |class: &str| Who { comm: class.to_owned(), ..who(5, 7) };
    for class in ["a", "a", "b"] {
        let program = Program::new(format!("{path}\0{class}").as_bytes(), None);
        scene.finder.0.looked(of(class), program, off());
        scene.reads();
    }
    assert_eq!(scene.shown(), ["b:5"]);
}

#[test]
fn what_a_program_is_called_is_decided_again_when_it_can_be_told() {
    let mut scene = Scene::new();
    let begins = Who { command: String::new(), ..who(5, 7) };
    scene.looked(begins, off());
    scene.reads();
    assert_eq!(scene.shown(), ["java:5"]);
    let (command, service) = ("java -jar app.jar".to_owned(), Some("shop".to_owned()));
    scene.looked(Who { command, service, comm: "app".to_owned(), ..who(5, 7) }, off());
    scene.reads();
    assert_eq!(scene.shown(), ["app:5"]);
    assert_eq!(scene.store.text(m::COMMAND).unwrap(), "java -jar app.jar");
}

#[test]
fn what_processes_take_is_charged() {
    let mut scene = Scene::new();
    (1..=100).for_each(|pid| scene.found(pid, off()));
    scene.reads();
    scene.live.tick();
    assert!(scene.memory.used() > 100 * PROCESS, "{}", scene.memory.used());
}
