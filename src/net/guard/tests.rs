//! A child that is a thread.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::*;

/// Short, so that a test takes no time; long enough that a busy machine is not taken for silence.
const STEP: Duration = Duration::from_millis(150);
/// Nobody looks within a test.
const NEVER: Duration = Duration::from_secs(3600);

/// A guard whose children are threads; each says when it ends.
fn guard(step: Duration) -> (Arc<Guard>, Receiver<()>) {
    let guard = Arc::new(Guard::default());
    let (ended, ends) = channel();
    guard.arm(move |socket| {
        let ended = ended.clone();
        thread::spawn(move || {
            child::serve(socket.as_fd(), step);
            let _ = ended.send(());
        });
        Ok(None)
    });
    (guard, ends)
}

/// A connection that is held: ours and the program's end.
fn held(guard: &Arc<Guard>) -> (Guarded, UnixStream) {
    let (ours, program) = UnixStream::pair().unwrap();
    let hold = guard.hold(&ours);
    assert!(hold.is_some());
    (Guarded::new(ours, hold), program)
}

/// Writes as a runtime does, until it cannot any more.
fn write_until_it_fails(mut program: UnixStream) {
    while program.write_all(&[7; 4096]).is_ok() {}
}

#[test]
fn a_program_that_waits_for_who_stands_still_goes_on() {
    let (guard, _) = guard(STEP);
    let (mut ours, program) = held(&guard);
    // Nobody reads and nobody beats.
    write_until_it_fails(program);
    let mut all = Vec::new();
    ours.read_to_end(&mut all).unwrap();
    assert!(!all.is_empty() && all.iter().all(|byte| *byte == 7), "what was sent is still read");
    while !ours.was_cut() {
        thread::yield_now();
    }
    // The same child has the next connection.
    let (next, program) = held(&guard);
    assert!(!next.was_cut() && guard.number() == 1);
    write_until_it_fails(program);
}

#[test]
fn who_beats_is_not_disturbed() {
    // A thread of a busy machine may sleep some seconds longer than it wants.
    let step = Duration::from_secs(1);
    let (guard, _) = guard(step);
    let (ours, mut program) = held(&guard);
    for _ in 0..2 * SILENT {
        guard.beat();
        thread::sleep(step * 2 / 3);
    }
    assert!(!ours.was_cut());
    program.write_all(b"x").unwrap();
}

#[test]
fn when_the_pmda_has_ended_so_have_its_connections() {
    let (guard, ends) = guard(NEVER);
    let (ours, program) = held(&guard);
    // As by kill -9: nothing is closed but by the kernel.
    guard.stop();
    write_until_it_fails(program);
    ends.recv().unwrap();
    drop(ours);
}

#[test]
fn a_connection_that_is_closed_is_closed_for_the_program() {
    let (guard, _) = guard(NEVER);
    let ((ours, mut program), (other, mut second)) = (held(&guard), held(&guard));
    drop(ours);
    assert_eq!(program.read(&mut [0]).unwrap(), 0);
    // Before it was one of the standard library.
    let (raw, mut third) = UnixStream::pair().unwrap();
    let hold = guard.hold(&raw);
    drop((raw, hold));
    assert_eq!(third.read(&mut [0]).unwrap(), 0);
    second.write_all(b"x").unwrap();
    assert!(!other.was_cut());
}

#[test]
fn another_child_takes_the_connections_of_one_that_is_lost() {
    let guard = Arc::new(Guard::default());
    let (started, starts) = channel();
    guard.arm(move |socket| {
        started.send(socket).unwrap();
        Ok(None)
    });
    let (mut ours, mut program) = held(&guard);
    drop(starts.recv().unwrap());
    guard.beat();
    assert_eq!(guard.number(), 0);
    ours.keep(&guard);
    assert_eq!(guard.number(), 2);
    let second = starts.recv().unwrap();
    let message = message::receive(second.as_fd()).unwrap().unwrap();
    assert!(matches!(message, (Message::Hold(_), Some(_))));
    program.write_all(b"x").unwrap();
    assert!(!ours.was_cut());
    // One that takes nothing any more: its socket is full.
    while guard.number() == 2 {
        guard.beat();
    }
    assert!(matches!(message::receive(second.as_fd()), Ok(Some((Message::Beat, None)))));
}

#[test]
fn one_that_cannot_be_started_is_not_tried_at_once() {
    let guard = Arc::new(Guard::default());
    let (ours, _program) = UnixStream::pair().unwrap();
    assert!(guard.hold(&ours).is_none(), "nobody has said how");
    let (tried, tries) = channel();
    guard.arm(move |_| {
        tried.send(()).unwrap();
        Err(io::Error::other("no memory"))
    });
    let mut ours = Guarded::from(ours);
    for _ in 0..10 {
        ours.keep(&guard);
    }
    assert_eq!(tries.try_iter().count(), 1);
    guard.beat();
    guard.stop();
}
