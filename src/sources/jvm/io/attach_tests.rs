//! Who is asked, and who is not: processes that are no JVM stay as they are. The other end is a stand-in within this
//! process; qa/141 asks real JVMs.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command};

use super::*;

fn proc() -> ProcFs {
    ProcFs::new("/proc".into())
}

fn target(pid: u32) -> Target {
    let start = proc().open(pid).and_then(|process| process.start()).unwrap();
    Target { pid, start, inner_pid: pid, mapped: ((0, 1), 2) }
}

/// A folder that stands for the /tmp of a process.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("attach-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).unwrap();
    path
}

/// A door as if the process had been proven.
fn door(target: Target, tmp: &Path) -> Door {
    let number = Pid::from_raw(i32::try_from(target.pid).unwrap()).unwrap();
    Door {
        process: proc().open(target.pid).unwrap(),
        pidfd: pidfd_open(number, PidfdFlags::empty()).unwrap(),
        user: geteuid().as_raw(),
        tmp: crate::host::folder(rustix::fs::CWD, tmp).unwrap(),
        socket: format!(".java_pid{}", target.inner_pid),
        target,
    }
}

struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        let child = Self(Command::new("sleep").arg("1000").spawn().unwrap());
        while proc().open(child.0.id()).unwrap().stat().unwrap().comm != b"sleep" {
            sleep(Duration::from_millis(1));
        }
        child
    }

    fn lives(&mut self) -> bool {
        sleep(Duration::from_millis(20));
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_is_no_jvm_is_left_alone() {
    let mut sleeper = Sleeper::new();
    let target = target(sleeper.0.id());
    let error = ask(&proc(), target.clone(), Request::Threads).unwrap_err();
    assert_eq!(error, "it executes another program than the one that was read");
    let another = Target { start: target.start + 1, ..target.clone() };
    assert_eq!(ask(&proc(), another, Request::Threads).unwrap_err(), ENDED);
    // Even if it had been proven: it does not catch the signal.
    let tmp = folder("left-alone");
    let error = door(target, &tmp).knock().unwrap_err();
    assert_eq!(error, "it does not catch SIGQUIT (-Xrs), which would end it");
    assert!(sleeper.lives());
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0, "nothing is left");
    std::fs::remove_dir(tmp).unwrap();
}

#[test]
fn one_that_is_young_is_waited_for() {
    let each = rustix::param::clock_ticks_per_second();
    assert_eq!([0, each, 3 * each, u64::MAX].map(|age| youth(age).as_secs()), [3, 2, 0, 0]);
}

#[test]
fn one_that_has_ended_is_not_asked() {
    let mut sleeper = Sleeper::new();
    let target = target(sleeper.0.id());
    let tmp = folder("ended");
    let door = door(target.clone(), &tmp);
    sleeper.0.kill().unwrap();
    sleeper.0.wait().unwrap();
    assert_eq!(door.knock().unwrap_err(), ENDED);
    assert_eq!(ask(&proc(), target, Request::Threads).unwrap_err(), ENDED);
    std::fs::remove_dir(tmp).unwrap();
}

/// A door at which this process gives one answer to each of so many commands.
fn answers(tmp: &Path, given: Vec<&'static [u8]>) -> (Door, std::thread::JoinHandle<Vec<Vec<u8>>>) {
    let target = target(std::process::id());
    let listener = UnixListener::bind(tmp.join(format!(".java_pid{}", target.pid))).unwrap();
    let thread = std::thread::spawn(move || {
        let answer = |given: &[u8]| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = vec![0; 4096];
            let size = stream.read(&mut asked).unwrap();
            stream.write_all(given).unwrap();
            asked.truncate(size);
            asked
        };
        given.into_iter().map(answer).collect()
    });
    (door(target, tmp), thread)
}

#[test]
fn a_command_has_its_answer() {
    let tmp = folder("answers");
    let given: Vec<&[u8]> =
        vec![b"0\nall\nis well\n", b"1\nUnknown diagnostic command\nx", b"", b"0", b"101\n"];
    let (door, thread) = answers(&tmp, given);
    assert_eq!(door.open(), Ok(()), "its socket is there: nothing is signalled");
    assert_eq!(door.command("Thread.print").unwrap(), b"all\nis well\n");
    let errors = [(); 4].map(|()| door.command("Other").unwrap_err());
    let cut = "it has cut the connection without an answer";
    assert_eq!(
        errors,
        ["it refuses (1): Unknown diagnostic command", cut, cut, "it refuses (101): "]
    );
    let asked = thread.join().unwrap();
    assert_eq!(asked[0], b"1\0jcmd\0Thread.print\0\0\0");
    std::fs::remove_dir_all(tmp).unwrap();
}

#[test]
fn another_listener_is_told_nothing() {
    let tmp = folder("listener");
    let sleeper = Sleeper::new();
    let (own, thread) = answers(&tmp, vec![b""]);
    let listener = tmp.join(&own.socket);
    let mut other = door(target(sleeper.0.id()), &tmp);
    std::fs::rename(&listener, tmp.join(&other.socket)).unwrap();
    assert_eq!(other.open(), Ok(()));
    let error = other.command("Thread.print").unwrap_err();
    assert_eq!(error, format!("another process listens on /tmp/{}", other.socket));
    assert_eq!(thread.join().unwrap(), [b""], "it was told nothing");
    // What is no socket of the user is none of the process.
    other.user += 1;
    assert!(other.open().unwrap_err().ends_with("is not its socket"));
    other.user -= 1;
    std::fs::remove_file(tmp.join(&other.socket)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", tmp.join(&other.socket)).unwrap();
    assert!(other.open().unwrap_err().ends_with("is not its socket"));
    std::fs::remove_dir_all(tmp).unwrap();
}

#[test]
fn a_recording_is_read_and_removed() {
    let tmp = folder("recording");
    let (door, thread) = answers(
        &tmp,
        vec![b"0\nStarted recording 1.\n", b"0\nStopped recording\n", b"0\nCould not start\n"],
    );
    let folder = tmp.join(format!(".pmdaapm-{}-{}", door.target.inner_pid, door.target.start));
    // One that was left behind.
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join(RECORDING), "old").unwrap();
    let error = door.record(Duration::ZERO).unwrap_err();
    assert!(error.starts_with("its recording cannot be opened"), "the old one is gone: {error}");
    assert_eq!(door.record(Duration::ZERO).unwrap_err(), "it says: Could not start");
    assert!(!folder.exists());
    let asked = thread.join().unwrap();
    let start = String::from_utf8_lossy(&asked[0]).into_owned();
    let path = format!(
        "filename=/tmp/.pmdaapm-{0}-{1}/recording.jfr ",
        door.target.inner_pid, door.target.start
    );
    assert!(start.contains(&path) && start.contains("settings=none"), "{start}");
    std::fs::remove_dir_all(tmp).unwrap();
}

#[test]
fn ids_and_signals_of_a_status() {
    let text = |uid: &str, caught: &str| {
        format!("Name:\tjava\nUid:\t{uid}\nGid:\t7\t7\t7\t7\nSigCgt:\t{caught}\n")
    };
    let parse = |uid, caught| Status::parse(text(uid, caught).as_bytes());
    let status = |catches| Some(Status { user: (5, 7), catches });
    assert_eq!(parse("5\t5\t5\t5", "2000000181005ccf"), status(true));
    assert_eq!(parse("5\t5\t5\t5", "0000000000000003"), status(false));
    assert_eq!(parse("5\t0\t5\t5", "2000000181005ccf"), None, "of two users");
    assert_eq!(parse("5\t5\t5\t5", "none"), None);
    assert_eq!(Status::parse(b""), None);
}
