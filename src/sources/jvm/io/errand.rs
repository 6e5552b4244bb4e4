//! Asks JVMs of other users, where the PMDA has no rights: [`ask`] runs in a process that the opener starts, which becomes
//! the user of the JVM and has no capability then. What it says is read here as what a peer says.
//!
//! ```text
//!  PMDA    "4711 5181983 1 0 26 5 profile 30\n" ──▶  ask
//!          ◀── b'+' or b'-', bytes as u64, bytes
//!          closes its end: the request is stopped
//! ```

use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::geteuid;

use super::attach::{Stop, Target, ask};
use crate::host::opener::Errand;
use crate::host::{Host, ProcFs};
use crate::model::{Charge, Memory, Purpose};
use crate::sources::jvm::limits;
use crate::sources::jvm::metrics::Request;

pub(in crate::sources::jvm) const ERRAND: Errand = ("jvm", run);
/// Bytes of a request.
const LINE: u64 = 256;
const LOST: &str = "the process that asks it was lost";

/// Asks a JVM, in a process of its own where this user may not.
///
/// # Errors
/// Why not, in words for the user.
pub(super) fn asked(
    host: &Host,
    target: Target,
    request: Request,
    stop: &Stop,
    held: &mut Charge,
) -> Result<Vec<u8>, String> {
    let status = host.proc().open(target.pid).and_then(|process| process.status());
    let own = status.is_none_or(|status| status.uid == geteuid().as_raw());
    let Some(opener) = host.proc().opener().filter(|_| !own) else {
        return ask(host.proc(), target, request, stop, held);
    };
    if !opener.grants().others {
        return Err("JVMs of other users need a restart of the PMDA after attach = true: run its Install, or \
                    restart pmcd"
            .to_owned());
    }
    let lost = |_| LOST.to_owned();
    let socket = opener.send(ERRAND.0).map_err(lost)?;
    answered(UnixStream::from(socket), &line(&target, request), stop, held)
}

fn answered(
    mut stream: UnixStream,
    line: &str,
    stop: &Stop,
    held: &mut Charge,
) -> Result<Vec<u8>, String> {
    let lost = |_: Error| LOST.to_owned();
    stream.write_all(line.as_bytes()).map_err(lost)?;
    stream.set_read_timeout(Some(limits::STOP)).map_err(lost)?;
    let mut head = [0; 9];
    fill(&mut stream, &mut head, stop)?;
    let [kind, length @ ..] = head;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    let most = usize::try_from(limits::RECORDING).unwrap_or(usize::MAX);
    if length > most.max(limits::ANSWER) {
        return Err(format!("its answer has {length} bytes: too many"));
    }
    if !held.resize(length, length) {
        return Err("there is no room for its answer (limits.memory)".to_owned());
    }
    let mut bytes = vec![0; length];
    fill(&mut stream, &mut bytes, stop)?;
    if kind == b'+' { Ok(bytes) } else { Err(String::from_utf8_lossy(&bytes).into_owned()) }
}

/// Reads as many bytes, unless it is stopped.
fn fill(stream: &mut UnixStream, mut into: &mut [u8], stop: &Stop) -> Result<(), String> {
    while !into.is_empty() {
        stop.pause(Duration::ZERO)?;
        match stream.read(into) {
            Ok(0) => return Err(LOST.to_owned()),
            Ok(read) => into = into.get_mut(read..).unwrap_or_default(),
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(_) => return Err(LOST.to_owned()),
        }
    }
    Ok(())
}

fn line(target: &Target, request: Request) -> String {
    let Target { pid, start, inner_pid, mapped: ((major, minor), inode) } = target;
    let request = match request {
        Request::Histogram(live) => format!("histogram {}", u8::from(live)),
        Request::Profile(length) => format!("profile {}", length.as_secs()),
        Request::Threads | Request::Reset => "threads 0".to_owned(),
    };
    format!("{pid} {start} {inner_pid} {major} {minor} {inode} {request}\n")
}

fn parse(line: &str) -> Option<(Target, Request)> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let start = words.next()?.parse().ok()?;
    let inner_pid = words.next()?.parse().ok()?;
    let device = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let mapped = (device, words.next()?.parse().ok()?);
    let (kind, number) = (words.next()?, words.next()?.parse::<u32>().ok()?);
    let request = match kind {
        "histogram" => Request::Histogram(number != 0),
        "threads" => Request::Threads,
        "profile" => Request::Profile(Duration::from_secs(number.into())),
        _ => return None,
    };
    Some((Target { pid, start, inner_pid, mapped }, request))
}

/// The whole life of the process.
fn run(socket: OwnedFd) {
    let mut stream = UnixStream::from(socket);
    let mut text = Vec::new();
    while text.last() != Some(&b'\n') {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) if (text.len() as u64) < LINE => text.push(byte[0]),
            _ => return,
        }
    }
    let Some((target, request)) = std::str::from_utf8(&text).ok().and_then(parse) else { return };
    let stop = Arc::new(Stop::default());
    if let Ok(mut ends) = stream.try_clone() {
        let stop = Arc::clone(&stop);
        // The PMDA says nothing more: it closes its end.
        let wait = move || {
            let _ = ends.read(&mut [0]);
            stop.set();
        };
        let _ = thread::Builder::new().spawn(wait);
    }
    // The PMDA counts what it takes.
    let mut held = Charge::new(Arc::new(Memory::default()), Purpose::Definitions);
    let proc = ProcFs::new("/proc".into());
    let (kind, bytes) = match ask(&proc, target, request, &stop, &mut held) {
        Ok(bytes) => (b'+', bytes),
        Err(why) => (b'-', why.into_bytes()),
    };
    let mut head = vec![kind];
    head.extend((bytes.len() as u64).to_le_bytes());
    let _ = stream.write_all(&head).and_then(|()| stream.write_all(&bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_were_written() {
        let target = Target { pid: 4711, start: 1 << 40, inner_pid: 1, mapped: ((8, 1), u64::MAX) };
        for request in [
            Request::Histogram(true),
            Request::Histogram(false),
            Request::Threads,
            Request::Profile(Duration::from_secs(60)),
        ] {
            let text = line(&target, request);
            assert!(text.len() as u64 <= LINE);
            let (read, asked) = parse(&text).unwrap();
            assert_eq!((read.pid, read.start, read.inner_pid), (4711, 1 << 40, 1));
            assert_eq!((read.mapped, asked), (target.mapped, request));
        }
        for wrong in ["", "1 2 3", "1 2 3 4 5 6 dump 0", "x 2 3 4 5 6 threads 0"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    fn charge() -> Charge {
        let memory = Memory::default();
        memory.set_limits(1 << 20, 1 << 10, 1 << 20);
        Charge::new(Arc::new(memory), Purpose::Definitions)
    }

    #[test]
    fn answers_are_bounded_and_stopped() {
        let answer = |bytes: &[u8], stop: &Stop| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(bytes).unwrap();
            let kept = theirs.try_clone().unwrap();
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            let answer = answered(ours, "x\n", stop, &mut charge());
            drop(kept);
            answer
        };
        let of = |kind: u8, length: u64| [&[kind][..], &length.to_le_bytes(), b"text"].concat();
        let goes_on = Stop::default();
        assert_eq!(answer(&of(b'+', 4), &goes_on).unwrap(), b"text");
        assert_eq!(answer(&of(b'-', 4), &goes_on).unwrap_err(), "text");
        assert_eq!(answer(&of(b'+', 5), &goes_on).unwrap_err(), LOST);
        assert_eq!(answer(&[], &goes_on).unwrap_err(), LOST);
        assert!(answer(&of(b'+', u64::MAX), &goes_on).unwrap_err().contains("too many"));
        assert!(answer(&of(b'+', 2 << 20), &goes_on).unwrap_err().contains("no room"));
        let stopped = Stop::default();
        stopped.set();
        assert!(answer(&of(b'+', 4), &stopped).unwrap_err().contains("stopped"));
    }

    #[test]
    fn the_process_says_why_it_asks_nobody() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let runs = thread::spawn(move || run(theirs.into()));
        ours.write_all(b"4194304 1 1 0 0 0 threads 0\n").unwrap();
        let mut said = [0; 30];
        ours.read_exact(&mut said).unwrap();
        assert_eq!(said[..9], [b'-', 21, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(said[9..], b"the process has ended"[..]);
        runs.join().unwrap();
    }
}
