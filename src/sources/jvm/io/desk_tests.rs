//! What may run at the same time, and who waits for what hangs.

use std::sync::mpsc::{Sender, channel};

use super::*;
use crate::sources::jvm::metrics::{DUMP, HISTOGRAM};

const DUMP_OF_NONE: &[u8] = b"Full thread dump\n";

fn desk() -> Desk {
    let memory = Arc::new(Memory::default());
    memory.set_limits(1 << 20, 1 << 18, 1 << 17);
    Desk::new(memory)
}

/// A request that ends when it is told to.
fn ask(desk: &mut Desk, pid: u32, owner: &str) -> Result<Sender<()>, String> {
    let (end, ends) = channel();
    let answer = move |_: &Stop, _: &mut Charge| {
        let _ = ends.recv();
        Ok(DUMP_OF_NONE.to_vec())
    };
    desk.run((DUMP, Request::Threads), pid, owner, answer).map(|()| end)
}

fn wait(desk: &mut Desk) -> Vec<Done> {
    loop {
        let done = desk.done(Instant::now());
        if !done.is_empty() {
            return done;
        }
        std::thread::yield_now();
    }
}

#[test]
fn some_run_at_a_time_each_of_another_process() {
    let mut desk = desk();
    let mut ends: Vec<_> = (0..4).map(|pid| ask(&mut desk, pid, "shop").unwrap()).collect();
    let again = ask(&mut desk, 3, "shop").unwrap_err();
    assert_eq!(again, "refused: it is being asked already");
    let more = ask(&mut desk, 4, "shop").unwrap_err();
    assert_eq!(more, "refused: 4 processes are being asked");
    assert_eq!((desk.owes(3), desk.owes(4)), (Some(DUMP), None));
    ends.pop();
    let done = wait(&mut desk);
    assert!(matches!(&done[..], [Done { pid: 3, control: DUMP, outcome: Ok(_), .. }]));
    assert_eq!(desk.owes(3), None);
    assert!(desk.is_busy());
}

#[test]
fn one_that_hangs_is_of_its_user_only() {
    let mut desk = desk();
    let end = ask(&mut desk, 1, "shop").unwrap();
    let late = Instant::now() + limits::PATIENCE;
    let done = desk.done(late);
    assert!(
        matches!(&done[..], [Done { outcome: Err(why), .. }] if why == "it does not come back")
    );
    let refused = ask(&mut desk, 2, "shop").unwrap_err();
    assert_eq!(refused, "refused: a JVM of shop has not come back from a request");
    let others: Vec<_> = (3..7).map(|pid| ask(&mut desk, pid, "web").unwrap()).collect();
    assert!(desk.done(Instant::now()).is_empty(), "it is told once");
    drop((end, others));
    while !desk.running.iter().all(|one| one.thread.is_finished()) {
        std::thread::yield_now();
    }
    assert_eq!(desk.done(Instant::now()).len(), 4);
    assert!(ask(&mut desk, 2, "shop").is_ok(), "it has come back");
}

#[test]
fn what_is_forgotten_has_no_answer() {
    let mut desk = desk();
    let stops = |stop: &Stop, _: &mut Charge| {
        stop.pause(limits::PATIENCE)?;
        Ok(DUMP_OF_NONE.to_vec())
    };
    desk.run((HISTOGRAM, Request::Histogram(true)), 1, "shop", stops).unwrap();
    desk.run((DUMP, Request::Threads), 2, "shop", stops).unwrap();
    assert_eq!((desk.forget(1), desk.forget(1), desk.forget(9)), (Some(HISTOGRAM), None, None));
    desk.stop();
    let done = wait(&mut desk);
    assert!(
        matches!(&done[..], [Done { pid: 2, outcome: Err(why), .. }] if why.contains("stopped"))
    );
    while desk.is_busy() {
        std::thread::yield_now();
    }
    assert!(desk.done(Instant::now()).is_empty());
}
