//! Processes by a scanner and a store that are not there.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Finder, *};
use crate::contract::{Recorded, Refusal};
use crate::host::{Finder as _, Glance, Visit};
use crate::model::{Memory, Purpose};
use crate::sources::Source;
use crate::sources::mono::io::proc::ProcHost;
use crate::sources::mono::process::{Facts, Host, Said, Via};
use crate::sources::mono::{Mono, metrics as m};

struct NoHost;

impl Host for NoHost {
    fn find(&self, _: &Via, _: &Said<'_>) -> Option<Facts> {
        None
    }
}

fn live() -> (Live, Recorded) {
    let store = Recorded::new(&Mono::TABLE).with_lines();
    let charge = Charge::new(Arc::new(Memory::default()), Purpose::Definitions);
    let mut live = Live::new(Processes::new(Arc::new(NoHost)), store.maker(), charge);
    live.configure(&["*".to_owned()]);
    (live, store)
}

fn found(live: &mut Live, pid: u32) {
    begun(live, pid, "a.exe");
}

/// Others than these have ended.
fn ended(live: &mut Live, alive: impl Iterator<Item = u32>) {
    let alive = Some(alive.map(|pid| (pid, 7)).collect());
    live.report(Taken { found: HashMap::new(), alive, full: false });
}

/// A process without an area.
fn begun(live: &mut Live, pid: u32, program: &str) {
    let command = format!("mono\0{program}\0").into_bytes();
    let program = Program::new(&command, None);
    let facts = Facts { pid, start: 7, command, ..Facts::default() };
    let found = Found { facts, access: Access::absent(), area: None, program };
    live.report(Taken { found: [(pid, found)].into(), alive: None, full: false });
}

/// What was told since the last call: names, states, exceptions of the program, answers, ends.
fn told(store: &Recorded) -> Vec<String> {
    let exceptions = m::PROGRAM_EXCEPTIONS;
    let exceptions = format!("row {}.{} ", exceptions.table().index(), exceptions.get());
    let state = format!("set {} U32(", m::STATE.get());
    let words = |line: String| {
        if let Some(name) = line.strip_prefix("identity ") {
            name.split(' ').next().map(str::to_owned)
        } else if let Some(number) = line.strip_prefix(&state) {
            Some(format!("state {}", number.strip_suffix(')')?))
        } else if let Some(row) = line.strip_prefix(&exceptions) {
            Some(format!("{} exceptions", row.split_once(' ')?.1))
        } else if let Some(answer) = line.strip_prefix("answer ") {
            Some(answer.split_once(' ')?.1.to_owned())
        } else {
            line.strip_prefix("end ").map(str::to_owned)
        }
    };
    std::mem::take(&mut store.log_mut().lines).into_iter().filter_map(words).collect()
}

#[test]
fn requests_are_answered_and_the_end_is_told() {
    let (mut live, store) = live();
    found(&mut live, 5);
    assert_eq!(told(&store), ["a.exe:5", "state 5"]);
    store.log_mut().requests.push_back(Control::Request(m::ADD, "GC/*".to_owned()));
    live.tick();
    live.tick();
    assert_eq!(told(&store), [NO_MODULE]);
    ended(&mut live, 0..0);
    assert_eq!(told(&store), ["state 6", ENDED]);
}

#[test]
fn a_process_that_the_store_has_no_room_for_is_tried_again() {
    let (mut live, store) = live();
    store.log_mut().refuses = Some(Refusal::Instances);
    found(&mut live, 5);
    (0..20).for_each(|_| live.tick());
    store.log_mut().refuses = None;
    assert_eq!(told(&store), [""; 0]);
    (0..AGAIN).for_each(|_| live.tick());
    assert_eq!(told(&store), ["a.exe:5", "state 5"]);
}

#[test]
fn a_process_beyond_the_limit_is_reported_again_when_there_is_room() {
    let (mut live, store) = live();
    let last = 1 + u32::try_from(limits::AREAS).unwrap();
    (1..=last).for_each(|pid| found(&mut live, pid));
    assert_eq!((live.again(), live.room()), (Vec::new(), 0));
    ended(&mut live, 2..=last);
    assert_eq!((live.again(), live.again()), (vec![last], Vec::new()));
    drop(told(&store));
    found(&mut live, last);
    assert_eq!(told(&store), [format!("a.exe:{last}"), "state 5".to_owned()]);
}

#[test]
fn what_was_left_out_is_forgotten_when_nobody_looks() {
    let (mut live, store) = live();
    live.configure(&["b*".to_owned()]);
    found(&mut live, 5);
    live.end("mono.discover is false");
    // It ends meanwhile, of which nobody tells.
    assert_eq!(live.configure(&["*".to_owned()]), [0; 0]);
    assert_eq!((told(&store), live.room()), (vec![], limits::AREAS));
}

/// A folder like /proc with one process, and its area.
struct Tree {
    root: PathBuf,
    area: PathBuf,
    page: Vec<u8>,
}

/// The process as the host sees it, and as the page of the capture has it.
const PID: u32 = 4000;
const INNER: u32 = 23_907;
/// Mapped here.
const RANGE: &str = "7f00-8f00";

impl Tree {
    fn new(name: &str) -> Self {
        let name = format!("apm-areas-{name}-{}", std::process::id());
        let (root, area) = (std::env::temp_dir().join(&name), PathBuf::from("/dev/shm").join(name));
        let _ = std::fs::remove_dir_all(&root);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/qa/corpus/mono/shm/shm-exc.bin");
        let tree = Self { root, area, page: std::fs::read(file).unwrap() };
        std::fs::create_dir_all(tree.process().join("map_files")).unwrap();
        std::fs::write(tree.root.join("stat"), "btime 1000\n").unwrap();
        let (zeros, user) = ("0 ".repeat(17), rustix::process::geteuid().as_raw());
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        for (file, text) in [
            ("stat", format!("{PID} (mono) S {zeros}1 50 0 0")),
            ("status", format!("Uid:\t1\t{user}\t0\t0\nNSpid:\t{PID}\t{INNER}\n")),
            ("mountinfo", mounts),
        ] {
            std::fs::write(tree.process().join(file), text).unwrap();
        }
        std::os::unix::fs::symlink(&tree.area, tree.process().join("map_files").join(RANGE))
            .unwrap();
        tree
    }

    fn process(&self) -> PathBuf {
        self.root.join(PID.to_string())
    }

    fn command(&self, program: &str) {
        std::fs::write(self.process().join("cmdline"), format!("mono\0{program}\0")).unwrap();
    }

    /// It executes a program that has not come to its area yet.
    fn begins(&self, program: &str) {
        self.command(program);
        let map = "7f00-8f00 r-xp 00000000 08:01 7 /usr/bin/mono-sgen\n";
        std::fs::write(self.process().join("maps"), map).unwrap();
    }

    /// It executes a program, which makes its area anew.
    fn executes(&self, program: &str, exceptions: u32) {
        self.command(program);
        let _ = std::fs::remove_file(&self.area);
        let mut page = self.page.clone();
        page[32 + 16..][..4].copy_from_slice(&exceptions.to_le_bytes());
        std::fs::write(&self.area, page).unwrap();
        let stat = std::fs::metadata(&self.area).unwrap();
        let (major, minor) = (rustix::fs::major(stat.dev()), rustix::fs::minor(stat.dev()));
        let map = format!(
            "{RANGE} rw-s 00000000 {major:02x}:{minor:02x} {} /dev/shm/mono.{INNER}\n",
            stat.ino()
        );
        std::fs::write(self.process().join("maps"), map).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = (std::fs::remove_dir_all(&self.root), std::fs::remove_file(&self.area));
    }
}

#[test]
fn a_process_that_executes_another_program_is_another() {
    let tree = Tree::new("exec");
    let host = crate::host::Host::new(tree.root.clone());
    let finder = Finder::new(Arc::new(ProcHost::new(Arc::clone(&host))));
    finder.reports().activate(true);
    let (mut live, store) = live();
    let mut look = || {
        let glance = Glance::of(host.proc().open(PID).unwrap()).unwrap();
        finder.look(&glance, Visit { number: 1, settled: false }).report.unwrap()();
        live.report(finder.reports().take());
        live.tick();
        told(&store)
    };
    let name = |program: &str| format!("{program}:{PID}");
    tree.executes("a.exe", 5);
    assert_eq!(look(), [&name("a.exe"), "state 0", "5 exceptions", "state 3"]);
    // Its area stays open when its name is gone, and one that writes over its arguments is the same.
    std::fs::remove_file(&tree.area).unwrap();
    assert_eq!(look(), [""; 0]);
    tree.command("a.exe\0working");
    assert_eq!(look(), [""; 0]);
    tree.executes("b.exe", 3);
    let begins = [&name("b.exe"), "state 0", "3 exceptions", "state 3"];
    assert_eq!(look(), [&["state 6", ANOTHER][..], &begins].concat());
    // The same program once more, of which all counts too.
    tree.executes("b.exe", 2);
    let begins = [&name("b.exe"), "state 0", "2 exceptions", "state 3"];
    assert_eq!(look(), [&["state 6", ANOTHER][..], &begins].concat());
    // And once more with other arguments, seen before it has an area: it counts fewer, and all of them count.
    tree.begins("b.exe\0again");
    assert_eq!(look(), ["state 6", ANOTHER, &name("b.exe"), "state 5"]);
    tree.executes("b.exe\0again", 1);
    assert_eq!(look(), ["1 exceptions", "state 3"]);
}

#[test]
fn a_program_without_an_area_is_known_by_its_command_line() {
    let (mut live, store) = live();
    found(&mut live, 5);
    found(&mut live, 5);
    assert_eq!(told(&store), ["a.exe:5", "state 5"]);
    begun(&mut live, 5, "b.exe");
    assert_eq!(told(&store), ["state 6", ANOTHER, "b.exe:5", "state 5"]);
    let configure = |live: &mut Live, pattern: &str| live.configure(&[pattern.to_owned()]);
    assert_eq!(configure(&mut live, "b*"), [0; 0]);
    begun(&mut live, 5, "c.exe");
    assert_eq!(told(&store), ["state 6", ANOTHER]);
    // What was left out is told again when others are wanted.
    assert_eq!(configure(&mut live, "c*"), [5]);
    begun(&mut live, 5, "c.exe");
    assert_eq!(told(&store), ["c.exe:5", "state 5"]);
    begun(&mut live, 5, "d.exe");
    assert_eq!(told(&store), ["state 6", ANOTHER]);
    // And when it executes one that is wanted.
    begun(&mut live, 5, "c.exe");
    assert_eq!((told(&store), live.left_out.len()), (vec!["c.exe:5".into(), "state 5".into()], 0));
}

#[test]
fn what_a_program_is_called_is_decided_again_when_it_can_be_told() {
    let tree = Tree::new("named");
    let host = crate::host::Host::new(tree.root.clone());
    let finder = Finder::new(Arc::new(ProcHost::new(Arc::clone(&host))));
    finder.reports().activate(true);
    let (mut live, store) = live();
    let mut look = || {
        let glance = Glance::of(host.proc().open(PID).unwrap()).unwrap();
        finder.look(&glance, Visit { number: 2, settled: false }).report.unwrap()();
        live.report(finder.reports().take());
        live.tick();
        told(&store)
    };
    tree.executes("a.exe", 5);
    // As between exec and the end of it.
    std::fs::write(tree.process().join("cmdline"), "").unwrap();
    let unnamed = format!("mono:{PID}");
    assert_eq!(look(), [&unnamed, "state 0", "5 exceptions", "state 3"]);
    tree.command("a.exe");
    // Nothing of it counts twice.
    assert_eq!(look(), ["state 6", RENAMED, &format!("a.exe:{PID}"), "state 0", "state 3"]);
    assert_eq!(look(), [""; 0]);
}

#[test]
fn reports_are_bounded_and_what_is_lost_is_found_again() {
    let host = crate::host::Host::new(PathBuf::from("/nonexistent"));
    let finder = Finder::new(Arc::new(ProcHost::new(host)));
    finder.reports().activate(true);
    let (mut live, _store) = live();
    let last = 1 + u32::try_from(limits::REPORTS).unwrap();
    let looked = |pid| {
        let facts = Facts { pid, start: 7, comm: "mono".to_owned(), ..Facts::default() };
        let sight = Sight { access: Access::absent(), file: None, area: None };
        finder.0.looked(facts, Program::new(b"", None), sight);
    };
    (1..=last).for_each(looked);
    let reports = finder.reports().take();
    assert_eq!((reports.found.len(), reports.full), (limits::REPORTS, true));
    live.report(reports);
    looked(last);
    let reports = finder.reports().take();
    assert_eq!((reports.found.contains_key(&last), reports.full), (true, false));
}

#[test]
fn what_processes_take_is_charged() {
    let (mut live, _store) = live();
    (1..=100).for_each(|pid| found(&mut live, pid));
    live.tick();
    let read = live.charge.bytes();
    assert!(read > 100 * size_of::<Process>(), "{read}");
    live.configure(&["b*".to_owned()]);
    (101..=200).for_each(|pid| found(&mut live, pid));
    live.tick();
    let left_out = live.charge.bytes() - read;
    assert!(left_out > 100 * size_of::<LeftOut>(), "{left_out}");
}
