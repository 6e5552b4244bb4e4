use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{FileType, Mode};
use rustix::process::{getpid, getuid};

use super::*;
use crate::host::{Finder as _, ProcFs};
use crate::sources::dotnet::discovery::Via;

/// A tree like /proc, in a directory of its own.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("apm-dn-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("stat"), "cpu 1\nbtime 1000\n").expect("a file");
        Self(path)
    }

    /// A process with its own root.
    fn process(&self, pid: u32, inner: u32, start: u64, environ: &[u8]) -> PathBuf {
        let dir = self.0.join(pid.to_string());
        fs::create_dir_all(dir.join("root/tmp")).expect("a folder");
        let stat = format!("{pid} (dotnet) S 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 {start} 1\n");
        fs::write(dir.join("stat"), stat).expect("a file");
        let uid = getuid().as_raw();
        let status = format!("Uid:\t{uid}\t{uid}\t0\t0\nNSpid:\t{pid}\t{inner}\n");
        fs::write(dir.join("status"), status).expect("a file");
        fs::write(dir.join("environ"), environ).expect("a file");
        fs::write(dir.join("cmdline"), b"dotnet\0/x/app.dll\0").expect("a file");
        let mounts = fs::read("/proc/self/mountinfo").expect("a file");
        fs::write(dir.join("mountinfo"), mounts).expect("a file");
        dir
    }

    fn look(&self, pid: u32, directories: &[&str]) -> Option<Look> {
        let directories: Vec<PathBuf> = directories.iter().map(PathBuf::from).collect();
        Some(look(&Glance::of(ProcFs::new(self.0.clone()).open(pid)?)?, &directories, true))
    }

    fn socket(&self, pid: u32, directories: &[&str]) -> Socket {
        self.look(pid, directories).expect("a process").socket
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const OPEN: Socket = Socket::Present { open: true };

#[test]
fn sockets_are_in_the_directories_of_their_process() {
    let tree = Tree::new("dirs");
    let name = "dotnet-diagnostic-1-500-socket";
    let dir = tree.process(70, 1, 500, b"TMPDIR=/own/tmp\0");
    assert_eq!(tree.socket(70, &["/tmp"]), Socket::Absent);
    fs::create_dir_all(dir.join("root/own/tmp")).expect("a folder");
    let _first = UnixListener::bind(dir.join("root/own/tmp").join(name)).expect("a socket");
    assert_eq!(tree.socket(70, &["/tmp"]), OPEN);
    // Another directory of the configuration, as the process sees it.
    let dir = tree.process(71, 1, 500, b"");
    fs::create_dir_all(dir.join("root/var/sockets")).expect("a folder");
    let _second = UnixListener::bind(dir.join("root/var/sockets").join(name)).expect("a socket");
    assert_eq!(
        (tree.socket(71, &["/tmp"]), tree.socket(71, &["/var/sockets"])),
        (Socket::Absent, OPEN)
    );
    // Of an earlier process with this id: another start time.
    tree.process(71, 1, 501, b"");
    assert_eq!(tree.socket(71, &["/var/sockets"]), Socket::Absent);
}

#[test]
fn a_link_leads_to_nowhere_outside_of_the_root() {
    let tree = Tree::new("links");
    let dir = tree.process(70, 1, 500, b"");
    let outside = tree.0.join("outside");
    fs::create_dir_all(&outside).expect("a folder");
    let name = "dotnet-diagnostic-1-500-socket";
    let _socket = UnixListener::bind(outside.join(name)).expect("a socket");
    fs::remove_dir(dir.join("root/tmp")).expect("gone");
    for link in [outside.clone(), PathBuf::from("../../outside")] {
        symlink(link, dir.join("root/tmp")).expect("a link");
        assert_eq!(tree.socket(70, &["/tmp"]), Socket::Absent);
        fs::remove_file(dir.join("root/tmp")).expect("gone");
    }
    // An absolute link counts from the root of the process.
    fs::create_dir_all(dir.join("root/real")).expect("a folder");
    symlink("/real", dir.join("root/tmp")).expect("a link");
    let _inside = UnixListener::bind(dir.join("root/real").join(name)).expect("a socket");
    assert_eq!(tree.socket(70, &["/tmp"]), OPEN);
}

/// Who has started a set-uid program may have listened before.
#[test]
fn a_socket_of_who_started_a_program_of_another_user_is_not_its_own() {
    let tree = Tree::new("setuid");
    let dir = tree.process(70, 1, 500, b"");
    let path = dir.join("root/tmp/dotnet-diagnostic-1-500-socket");
    let _own = UnixListener::bind(&path).expect("a socket");
    let uid = getuid().as_raw();
    let (real, effective) = if uid == 0 { (4242, 0) } else { (uid, uid + 1) };
    std::os::unix::fs::chown(&path, Some(real), None).expect("its owner");
    let status = |real, effective| {
        let status = format!("Uid:\t{real}\t{effective}\t0\t0\nNSpid:\t70\t1\n");
        fs::write(dir.join("status"), status).expect("a file");
        tree.socket(70, &[])
    };
    assert_eq!(status(real, effective), Socket::Fake { owner: real });
    assert!(matches!(status(effective, real), Socket::Present { .. }));
}

#[test]
fn files_that_are_no_sockets_are_not_used() {
    let tree = Tree::new("fakes");
    let dir = tree.process(70, 1, 500, b"");
    let path = dir.join("root/tmp/dotnet-diagnostic-1-500-socket");
    let fake = Socket::Fake { owner: getuid().as_raw() };
    fs::write(&path, "").expect("a file");
    assert_eq!(tree.socket(70, &[]), fake);
    fs::remove_file(&path).expect("gone");
    fs::create_dir(&path).expect("a folder");
    assert_eq!(tree.socket(70, &[]), fake);
    fs::remove_dir(&path).expect("gone");
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
    assert_eq!(tree.socket(70, &[]), fake);
    fs::remove_file(&path).expect("gone");
    let real = UnixListener::bind(tree.0.join("s")).expect("a socket");
    symlink(tree.0.join("s"), &path).expect("a link");
    assert_eq!(tree.socket(70, &[]), fake);
    drop(real);
}

#[test]
fn each_file_may_be_absent_or_odd() {
    let tree = Tree::new("odd");
    for file in ["stat", "status", "environ", "cmdline", "maps", "root"] {
        let dir = tree.process(70, 1, 500, b"");
        let path = dir.join(file);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        let _ = tree.look(70, &["/tmp"]);
        // A FIFO must not hold up the scan.
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
        let _ = tree.look(70, &["/tmp"]);
        fs::remove_file(&path).expect("gone");
        symlink("/dev/zero", &path).expect("a link");
        let _ = tree.look(70, &["/tmp"]);
        fs::remove_dir_all(&dir).expect("gone");
    }
    assert_eq!(tree.look(70, &["/tmp"]), None);
    let dir = tree.process(70, 1, 500, b"");
    fs::write(dir.join("maps"), "7f00-7f01 r-xp 0 0 0 /usr/share/dotnet/libcoreclr.so\n")
        .expect("maps");
    assert_eq!(tree.look(70, &[]).expect("a process").runtime, Some(true));
    let zombie = "70 (dotnet) Z 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 500 1\n";
    fs::write(dir.join("stat"), zombie).expect("stat");
    assert_eq!(tree.look(70, &[]), None);
}

#[test]
fn twenty_containers_have_the_same_ids_inside() {
    let tree = Tree::new("containers");
    let mut sockets = Vec::new();
    for pid in 100..120 {
        let dir = tree.process(pid, 1, u64::from(pid) * 10, b"");
        let name = format!("root/tmp/dotnet-diagnostic-1-{}-socket", pid * 10);
        sockets.push(UnixListener::bind(dir.join(name)).expect("a socket"));
        let cgroup = format!("0::/docker/{}\n", format!("{pid:08x}").repeat(8));
        fs::write(dir.join("cgroup"), cgroup).expect("a file");
    }
    let mut list = ProcFs::new(tree.0.clone()).list().expect("a list");
    list.sort_unstable();
    assert_eq!(list.iter().map(|l| l.0).collect::<Vec<_>>(), (100..120).collect::<Vec<_>>());
    for (pid, _) in list {
        let look = tree.look(pid, &["/tmp"]).expect("a process");
        assert_eq!(look.socket, OPEN);
    }
    let host = Host::new(tree.0.clone());
    let of = |pid| target(&host, &host.proc().open(pid)?, b"dotnet\0/x/app.dll\0");
    let container = |pid| of(pid)?.container;
    assert_eq!(
        [container(100), container(119)].map(Option::unwrap),
        ["000000640000", "000000770000"]
    );
    let proc = ProcFs::new(tree.0.clone());
    let found = of(100).expect("a process");
    assert_eq!((&*found.name, &*found.command), ("app", "dotnet /x/app.dll"));
    let ticks = i64::try_from(rustix::param::clock_ticks_per_second()).expect("ticks");
    assert_eq!(proc.started(1000), Some(1_000_000 + 1_000_000 / ticks));
}

#[test]
fn this_process_is_found_in_the_real_tree() {
    let proc = ProcFs::new(PathBuf::from("/proc"));
    let pid = getpid().as_raw_nonzero().get().cast_unsigned();
    assert!(proc.list().expect("a list").iter().any(|l| l.0 == pid));
    let dir = proc.open(pid).expect("this process");
    let look = look(&Glance::of(dir).expect("this process"), &[], true);
    assert_eq!(
        (look.uid, look.socket, look.runtime),
        (getuid().as_raw(), Socket::Absent, Some(false))
    );
}

/// A finder in a tree, and what it tells of the process 70: the name of what is found, empty for nothing more.
fn finder(tree: &Tree) -> (Finder, impl Fn() -> Option<String>) {
    let host = Host::new(tree.0.clone());
    let finder = Finder::new(&host, watch::channel(Arc::default()).1);
    finder.reports().activate(true);
    let looks = {
        let finder = finder.clone();
        move || {
            let glance = Glance::of(host.proc().open(70)?)?;
            if let Some(report) = finder.look(&glance, Visit { number: 1, settled: true }).report {
                report();
            }
            let found = finder.reports().take().found.remove(&70)?;
            if found.over { Some(String::new()) } else { found.target.map(|target| target.name) }
        }
    };
    (finder, looks)
}

#[test]
fn a_process_that_executes_another_program_is_found_again() {
    let tree = Tree::new("exec");
    let dir = tree.process(70, 1, 500, b"");
    let executes = |command: &str, library: &str| {
        fs::write(dir.join("cmdline"), command).expect("a file");
        fs::write(dir.join("maps"), format!("7f00-7f01 r-xp 0 0 0 /x/{library}\n"))
            .expect("a file");
    };
    let name = dir.join("root/tmp/dotnet-diagnostic-1-500-socket");
    let _socket = UnixListener::bind(name).expect("a socket");
    let (_finder, looks) = finder(&tree);
    // Between exec and the end of it: what it is called is decided again.
    executes("", "libcoreclr.so");
    assert_eq!((looks(), looks()), (Some("dotnet".to_owned()), None));
    executes("dotnet\0/x/app.dll\0", "libcoreclr.so");
    assert_eq!((looks(), looks()), (Some("app".to_owned()), None));
    // The socket stays when it executes one that has none.
    executes("sh\0-c\0x\0", "libc.so");
    assert_eq!(looks(), None);
    executes("dotnet\0/x/other.dll\0", "libcoreclr.so");
    assert_eq!((looks(), looks()), (Some("other".to_owned()), None));
}

#[test]
fn a_program_is_another_by_what_the_kernel_gave_it() {
    let tree = Tree::new("vector");
    let dir = tree.process(70, 1, 500, b"");
    let executes = |vector: &str, command: &str, library: &str| {
        let maps = format!("7f00-7f01 r-xp 0 0 0 /x/{library}\n");
        for (file, text) in [("auxv", vector), ("cmdline", command), ("maps", &maps)] {
            fs::write(dir.join(file), text).expect("a file");
        }
    };
    let name = dir.join("root/tmp/dotnet-diagnostic-1-500-socket");
    let _socket = UnixListener::bind(name).expect("a socket");
    let (_finder, looks) = finder(&tree);
    // One that is compiled ahead of time has no runtime to be seen, and writes over its arguments.
    executes("1", "native\0", "libc.so");
    assert_eq!((looks(), looks()), (Some("native".to_owned()), None));
    executes("1", "working\0", "libc.so");
    assert_eq!(looks(), None);
    // The socket stays, and nobody listens on it.
    executes("2", "working\0", "libc.so");
    assert_eq!((looks(), looks()), (Some(String::new()), None));
    executes("3", "dotnet\0/x/app.dll\0", "libcoreclr.so");
    assert_eq!((looks(), looks()), (Some("app".to_owned()), None));
    executes("4", "dotnet\0/x/app.dll\0", "libcoreclr.so");
    assert_eq!((looks(), looks()), (Some("app".to_owned()), None), "the same once more");
    executes("5", "sh\0", "libc.so");
    assert_eq!((looks(), looks()), (Some(String::new()), None));
    executes("6", "cat\0", "libc.so");
    assert_eq!((looks(), looks()), (Some(String::new()), None));
}

#[test]
fn what_is_not_taken_is_found_again() {
    let tree = Tree::new("full");
    let dir = tree.process(70, 1, 500, b"");
    let _socket = UnixListener::bind(dir.join("root/tmp/dotnet-diagnostic-1-500-socket"));
    let (finder, looks) = finder(&tree);
    let (access, program) = (Access::Open(Via::Socket), Program::default());
    let (runtime, had_socket, again, over) = (None, true, false, false);
    let told = Told { program, runtime, had_socket, again, over, access };
    for pid in 1_000..=1_000 + u32::try_from(limits::REPORTS).expect("a number") {
        let glance = finder.0.host.proc().open(70).expect("a process");
        finder.0.looked(pid, 500, told.clone(), target(&finder.0.host, &glance, b"app"));
    }
    let taken = finder.reports().take();
    assert_eq!((taken.found.len(), taken.full), (limits::REPORTS, true));
    assert_eq!(looks(), Some("app".to_owned()));
    assert!(!finder.reports().take().full);
}
