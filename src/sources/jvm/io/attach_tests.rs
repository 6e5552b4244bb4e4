//! Who is asked, and who is not: processes that are no JVM stay as they are. The other end is a stand-in within this
//! process; qa/141 asks real JVMs.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;

use super::*;
use crate::model::{Memory, Purpose};

/// Of tests that stop nothing.
static GOES_ON: Stop = Stop(AtomicBool::new(false));

fn charge(limit: usize) -> Charge {
    let memory = Arc::new(Memory::default());
    memory.set_limits(limit, limit / 5, limit / 10);
    Charge::new(memory, Purpose::Definitions)
}

fn enough() -> Charge {
    charge(64 << 20)
}

/// What is asked by [`ask`].
fn asked(target: &Target) -> Result<Vec<u8>, String> {
    ask(&proc(), target.clone(), Request::Threads, &GOES_ON, &mut enough())
}

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
fn door(target: Target, tmp: &Path) -> Door<'static> {
    let number = Pid::from_raw(i32::try_from(target.pid).unwrap()).unwrap();
    let process = proc().open(target.pid).unwrap();
    Door {
        stop: &GOES_ON,
        maps: maps(&process).unwrap(),
        process,
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
    let error = asked(&target).unwrap_err();
    assert_eq!(error, ANOTHER);
    let another = Target { start: target.start + 1, ..target.clone() };
    assert_eq!(asked(&another).unwrap_err(), ENDED);
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
    assert_eq!(asked(&target).unwrap_err(), ENDED);
    std::fs::remove_dir(tmp).unwrap();
}

/// A door at which this process gives one answer to each of so many commands.
fn answers(
    tmp: &Path,
    given: Vec<&'static [u8]>,
) -> (Door<'static>, std::thread::JoinHandle<Vec<Vec<u8>>>) {
    let target = target(std::process::id());
    let listener = UnixListener::bind(tmp.join(format!(".java_pid{}", target.pid))).unwrap();
    let thread = std::thread::spawn(move || {
        let answer = |given: &[u8]| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = vec![0; 4096];
            let size = stream.read(&mut asked).unwrap();
            // Who asks may go before the end.
            let _ = stream.write_all(given);
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
    assert_eq!(door.command("Thread.print", &GOES_ON, &mut enough()).unwrap(), b"all\nis well\n");
    let errors = [(); 4].map(|()| door.command("Other", &GOES_ON, &mut enough()).unwrap_err());
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
    let error = other.command("Thread.print", &GOES_ON, &mut enough()).unwrap_err();
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
        vec![
            b"0\nStarted recording 1.\n",
            b"0\nStopped recording\n",
            b"0\nCould not start\n",
            b"1\nNo\n",
        ],
    );
    let folder = tmp.join(format!(".pmdaapm-{}-{}", door.target.inner_pid, door.target.start));
    // One that was left behind.
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join(RECORDING), "old").unwrap();
    let error = door.record(Duration::ZERO, &mut enough()).unwrap_err();
    assert!(error.starts_with("its recording cannot be opened"), "the old one is gone: {error}");
    assert_eq!(door.record(Duration::ZERO, &mut enough()).unwrap_err(), "it says: Could not start");
    assert!(!folder.exists());
    let asked = thread.join().unwrap();
    let start = String::from_utf8_lossy(&asked[0]).into_owned();
    let path = format!(
        "filename=/tmp/.pmdaapm-{0}-{1}/recording.jfr ",
        door.target.inner_pid, door.target.start
    );
    assert!(start.contains(&path) && start.contains("settings=none"), "{start}");
    let stop = String::from_utf8_lossy(&asked[3]).into_owned();
    assert!(stop.contains("JFR.stop"), "also of one that may have begun: {stop}");
    std::fs::remove_dir_all(tmp).unwrap();
}

#[test]
fn a_recording_is_stopped_before_its_time() {
    let tmp = folder("stopped");
    let (mut door, thread) =
        answers(&tmp, vec![b"0\nStarted recording 1.\n", b"0\nStopped recording\n"]);
    let stop: &Stop = Box::leak(Box::default());
    door.stop = stop;
    let folder = tmp.join(format!(".pmdaapm-{}-{}", door.target.inner_pid, door.target.start));
    let begun = folder.clone();
    std::thread::spawn(move || {
        while !begun.exists() {
            sleep(Duration::from_millis(1));
        }
        stop.set();
    });
    // It would last for an hour.
    let seen = door.record(Duration::from_secs(3600), &mut enough()).unwrap_err();
    assert_eq!(seen, STOPPED);
    assert!(!folder.exists());
    drop(thread);
    std::fs::remove_dir_all(tmp).unwrap();
}

#[test]
fn an_answer_has_a_limit_and_room() {
    let tmp = folder("room");
    let large: &'static [u8] = Box::leak([b"0\n", &vec![b'x'; limits::ANSWER][..]].concat().into());
    let (door, thread) = answers(&tmp, vec![large, b"0\nwell", large]);
    let error = door.command("Thread.print", &GOES_ON, &mut enough()).unwrap_err();
    assert_eq!(error, "its answer has more than 16 MiB");
    let mut held = charge(1 << 20);
    assert_eq!(door.command("Thread.print", &GOES_ON, &mut held).unwrap(), b"well");
    assert!(held.bytes() >= 6, "it is charged");
    let error = door.command("Thread.print", &GOES_ON, &mut held).unwrap_err();
    assert_eq!(error, "there is no room for its answer (limits.memory)");
    drop(thread);
    std::fs::remove_dir_all(tmp).unwrap();
}

#[test]
fn another_program_of_the_process_is_noticed() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "read line; exec sleep 1000"]).stdin(std::process::Stdio::piped());
    let mut child = Sleeper(shell.spawn().unwrap());
    let pid = child.0.id();
    let is = |name: &[u8]| proc().open(pid).unwrap().stat().unwrap().comm == name;
    while !is(b"sh") {
        sleep(Duration::from_millis(1));
    }
    let tmp = folder("another-program");
    let door = door(target(pid), &tmp);
    assert_eq!(door.is_same(), Ok(()));
    child.0.stdin.take().unwrap().write_all(b"\n").unwrap();
    while !is(b"sleep") {
        sleep(Duration::from_millis(1));
    }
    assert_eq!(door.is_same().unwrap_err(), ANOTHER);
    std::fs::remove_dir_all(tmp).unwrap();
}

#[test]
fn texts_of_a_jvm_are_cut() {
    let text = format!("1\n{}\nmore", "é\u{1b}".repeat(500));
    let error = result(text.into_bytes()).unwrap_err();
    assert_eq!(error, format!("it refuses (1): {}", "é".repeat(200)));
    let cut = "it has cut the connection without an answer";
    assert_eq!(result(b"12345678901\nx".to_vec()).unwrap_err(), cut);
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
