use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::host::{Glance, Interest, Named, Visit};

/// A folder like /proc.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("apm-host-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("stat"), "btime 1000\n").unwrap();
        Self(path)
    }

    fn process(&self, pid: u32, comm: &str, start: u64, user: u32) {
        let dir = self.0.join(pid.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        let zeros = "0 ".repeat(17);
        std::fs::write(dir.join("stat"), format!("{pid} ({comm}) S {zeros}1 {start} 0 0")).unwrap();
        std::fs::write(dir.join("status"), format!("Uid:\t{user}\t{user}\t0\t0\n")).unwrap();
    }

    fn ends(&self, pid: u32) {
        std::fs::remove_dir_all(self.0.join(pid.to_string())).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Finds processes of this name.
#[derive(Default)]
struct ByName {
    name: &'static str,
    off: AtomicBool,
    looks: AtomicUsize,
    told: Arc<Mutex<Vec<String>>>,
    /// Looks at this user's processes wait for it.
    held: Option<(u32, Arc<Mutex<()>>)>,
}

impl Finder for ByName {
    fn is_active(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    fn look(&self, glance: &Glance, visit: Visit) -> Look {
        self.looks.fetch_add(1, Ordering::Relaxed);
        if let Some((user, held)) = &self.held
            && *user == glance.status().uid
        {
            drop(held.lock());
        }
        if glance.stat().comm != self.name.as_bytes() || visit.number > 1 {
            return Look::default();
        }
        let (pid, told) = (glance.pid(), Arc::clone(&self.told));
        let report = move || told.lock().unwrap().push(format!("found {pid}"));
        Look { interest: Interest::Often, report: Some(Box::new(report)) }
    }

    fn gone(&self, pid: u32, start: u64) {
        self.told.lock().unwrap().push(format!("gone {pid} {start}"));
    }

    fn named(&self, name: &[u8]) -> Option<Named> {
        (name == self.name.as_bytes()).then_some(Named { inner_pid: 5, start: None })
    }
}

fn scanner(root: &Path, finders: &[&Arc<ByName>]) -> Scanner {
    let finders = finders.iter().map(|&finder| Arc::clone(finder) as Arc<dyn Finder>).collect();
    Scanner::new(Host::new(root.to_owned()), finders)
}

fn told(finder: &ByName) -> Vec<String> {
    std::mem::take(&mut *finder.told.lock().unwrap())
}

#[test]
fn each_finder_is_told_of_its_own_processes() {
    let tree = Tree::new("each");
    let [mono, dotnet] =
        ["mono", "dotnet"].map(|name| Arc::new(ByName { name, ..ByName::default() }));
    let mut scanner = scanner(&tree.0, &[&mono, &dotnet]);
    tree.process(5, "mono", 50, 1);
    tree.process(6, "dotnet", 60, 1);
    tree.process(7, "sh", 70, 1);
    assert_eq!(scanner.scan(Duration::ZERO).unwrap(), None);
    assert_eq!((told(&mono), told(&dotnet)), (vec!["found 5".into()], vec!["found 6".into()]));
    tree.ends(5);
    tree.process(6, "dotnet", 61, 1);
    assert_eq!(scanner.scan(Duration::from_secs(1)).unwrap(), None);
    let again = vec!["gone 6 60".to_owned(), "found 6".to_owned()];
    assert_eq!((told(&mono), told(&dotnet)), (vec!["gone 5 50".into()], again));
    // One that is not wanted is not asked.
    mono.off.store(true, Ordering::Relaxed);
    tree.process(8, "mono", 80, 1);
    scanner.scan(Duration::from_secs(2)).unwrap();
    assert!(told(&mono).is_empty());
    mono.off.store(false, Ordering::Relaxed);
    scanner.look_again(Some(0));
    scanner.scan(Duration::from_secs(3)).unwrap();
    assert_eq!(told(&mono), ["found 8"]);
}

#[test]
fn a_process_that_does_not_answer_holds_up_nobody_of_other_users() {
    let tree = Tree::new("held");
    let held = Some((1, Arc::default()));
    let finder = Arc::new(ByName { name: "mono", held, ..ByName::default() });
    let mut scanner = scanner(&tree.0, &[&finder]);
    scanner.aside = Aside::new(Duration::from_millis(50));
    tree.process(5, "mono", 50, 1);
    tree.process(6, "mono", 60, 1);
    tree.process(7, "mono", 70, 2);
    let lock = finder.held.as_ref().map(|held| held.1.lock().unwrap());
    let silent = scanner.scan(Duration::ZERO).unwrap();
    assert_eq!(silent.map(|(_, users)| users), Some(1));
    assert_eq!(told(&finder), ["found 7"]);
    drop(lock);
    // The look that was left behind ends, and its report is not made.
    let mut now = Duration::from_secs(1);
    while told(&finder).is_empty() {
        scanner.scan(now).unwrap();
        now += Duration::from_secs(1);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_process_that_does_not_answer_waits_once_for_all_finders() {
    let tree = Tree::new("once");
    let quick = Arc::new(ByName { name: "mono", ..ByName::default() });
    // What the process has mapped, which these three want to see.
    let maps = Arc::new(Mutex::new(()));
    let [one, two, three] = [(); 3].map(|()| {
        let held = Some((1, Arc::clone(&maps)));
        Arc::new(ByName { name: "mono", held, ..ByName::default() })
    });
    let mut scanner = scanner(&tree.0, &[&quick, &one, &two, &three]);
    let patience = Duration::from_millis(500);
    scanner.aside = Aside::new(patience);
    tree.process(5, "mono", 50, 1);
    let lock = maps.lock().unwrap();
    let began = std::time::Instant::now();
    assert_eq!(scanner.scan(Duration::ZERO).unwrap(), Some((5, 1)), "one place");
    let took = began.elapsed();
    assert!(took >= patience && took < 3 * patience, "{took:?}");
    // The finder that had its answer keeps it.
    assert_eq!(told(&quick), ["found 5"]);
    // Meanwhile no other process of the user is waited for, and those of others are looked at.
    tree.process(6, "mono", 60, 1);
    tree.process(7, "mono", 70, 2);
    let silent = scanner.scan(Duration::from_secs(1)).unwrap();
    assert_eq!(silent.map(|(_, looks)| looks), Some(1));
    for finder in [&quick, &one, &two, &three] {
        assert_eq!(told(finder), ["found 7"]);
    }
    drop(lock);
    let mut now = Duration::from_secs(2);
    while scanner.scan(now).unwrap().is_some() {
        now += Duration::from_secs(1);
        std::thread::sleep(Duration::from_millis(1));
    }
    for finder in [&one, &two, &three] {
        let mut found = told(finder);
        found.sort_unstable();
        assert_eq!(found, ["found 5", "found 6"]);
    }
    assert_eq!(told(&quick), ["found 6"], "it has seen the other at its first look");
}

/// Processes of one user are looked at in one turn.
#[test]
fn those_before_one_that_does_not_answer_have_been_looked_at() {
    let tree = Tree::new("turn");
    let held = Some((9, Arc::default()));
    let finder = Arc::new(ByName { name: "mono", held, ..ByName::default() });
    let mut scanner = scanner(&tree.0, &[&finder]);
    scanner.aside = Aside::new(Duration::from_millis(50));
    let all: Vec<u32> = (1..=20).collect();
    for &pid in &all {
        tree.process(pid, "mono", 50, 1);
    }
    // One that runs with the rights of another user is its starter's.
    std::fs::write(tree.0.join("11/status"), "Uid:\t1\t9\t0\t0\n").unwrap();
    std::fs::remove_dir_all(tree.0.join("3")).unwrap();
    let lock = finder.held.as_ref().map(|held| held.1.lock().unwrap());
    assert_eq!(scanner.scan(Duration::ZERO).unwrap(), Some((11, 1)));
    let found = |pids: &[u32]| pids.iter().map(|pid| format!("found {pid}")).collect::<Vec<_>>();
    let before: Vec<u32> = all[..10].iter().copied().filter(|pid| *pid != 3).collect();
    assert_eq!(told(&finder), found(&before));
    drop(lock);
    while scanner.aside.run(1, || ()).is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The thread that was left behind has looked at none of those that waited in its turn.
    assert_eq!(finder.looks.load(Ordering::Relaxed), 10);
    assert_eq!(scanner.scan(Duration::from_secs(2)).unwrap(), None);
    assert_eq!(told(&finder), found(&all[10..]));
}

#[test]
fn a_finder_whose_looks_hang_does_not_keep_the_others_from_looking() {
    let tree = Tree::new("first");
    let maps = Arc::new(Mutex::new(()));
    let held = Some((1, Arc::clone(&maps)));
    let hangs = Arc::new(ByName { name: "mono", held, ..ByName::default() });
    let quick = Arc::new(ByName { name: "mono", ..ByName::default() });
    let mut scanner = scanner(&tree.0, &[&hangs, &quick]);
    scanner.aside = Aside::new(Duration::from_millis(50));
    tree.process(5, "mono", 50, 1);
    let mut now = Duration::ZERO;
    // Each of its looks hangs for a while.
    while told(&quick).is_empty() {
        let lock = maps.lock().unwrap();
        assert_eq!(scanner.scan(now).unwrap(), Some((5, 1)));
        drop(lock);
        while scanner.aside.run(1, || ()).is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        now += Duration::from_secs(1);
        assert!(now < Duration::from_secs(5), "the other has looked once in two scans");
    }
}

#[test]
fn what_begins_while_this_process_runs_is_new() {
    let host = Host::new("/proc".into());
    let own = host.proc().open(std::process::id()).unwrap().start().unwrap();
    assert!(host.began(own) && host.began(own + 1) && !host.began(own - 1));
}
