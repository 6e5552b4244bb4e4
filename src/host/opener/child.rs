//! The process that keeps the rights. It does nothing but start and end workers, and has nothing to wait for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pmda::process::{Child, fork};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{set_name, set_no_new_privs};

use super::HANGING;
use super::message;
use super::names::Names;
use super::rights;
use super::worker::Worker;

/// Time between two looks.
const LOOK: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// The whole life of the opener: standard input is the socket. Its arguments are those of [`Opener::start`]
/// (super::Opener::start). Returns the exit status.
#[must_use]
pub fn main(arguments: &[String], names: Names) -> i32 {
    let _ = set_name(c"pmdaapm-opener");
    let [user, grants @ ..] = arguments else { return 2 };
    let grants = super::granted(grants);
    if let Err(e) = rights::keep(user, grants) {
        let _ = message::send(rustix::stdio::stdin(), e.as_bytes(), None);
        return 1;
    }
    let _ = set_no_new_privs(true);
    serve(rustix::stdio::stdin(), Worker { names, grants });
    0
}

/// Each message brings the socket of a new worker, which takes the place of the last one.
fn serve(socket: BorrowedFd<'_>, work: Worker) {
    let mut workers: Vec<Child> = Vec::new();
    loop {
        let ends = workers.iter().filter_map(|worker| worker.pidfd.as_ref());
        let ends = ends.map(|pidfd| PollFd::new(pidfd, PollFlags::IN));
        let messages = PollFd::from_borrowed_fd(socket, PollFlags::IN);
        let mut files: Vec<_> = std::iter::once(messages).chain(ends).collect();
        // Where the kernel does not tell the end of a process, it is looked for.
        let looks = (files.len() <= workers.len()).then_some(&LOOK);
        match poll(&mut files, looks) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
        drop(files);
        workers.retain_mut(|worker| !worker.has_ended());
        match message::receive(socket) {
            Ok((_, Some(theirs))) => {
                // One that hangs in the kernel ends when it comes back.
                workers.iter().for_each(Child::kill);
                if workers.len() < HANGING {
                    workers.extend(start(theirs, work));
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(_) | Err(_) => break,
        }
    }
    workers.iter().for_each(Child::kill);
}

fn start(theirs: OwnedFd, work: Worker) -> Option<Child> {
    fork(|| {
        // Without its parent nobody would give it up.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        let _ = set_name(c"pmdaapm-opens");
        work.serve(theirs.as_fd());
    })
    .ok()
}
