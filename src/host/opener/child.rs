//! The process that keeps the rights. It does nothing but start and end others, and has nothing to wait for.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use pmda::process::{Child, fork, send_with};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::set_name;

use super::message;
use super::names::Names;
use super::rights;
use super::worker::Worker;
use super::{Errand, HANGING, WORKER};
use crate::confine::Confine;

/// Time between two looks.
const LOOK: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// The whole life of the opener: standard input is the socket. Its arguments are those of
/// [`Opener::start`](super::Opener::start). Returns the exit status.
#[must_use]
pub fn main(arguments: &[String], names: Names, errands: &[Errand]) -> i32 {
    let _ = set_name(c"pmdaapm-opener");
    let [user, grants @ ..] = arguments else { return 2 };
    let (confine, grants) = (Confine::of(grants), super::granted(grants));
    if let Err(e) = rights::keep(user, grants) {
        let _ = send_with(rustix::stdio::stdin(), e.as_bytes(), &[]);
        return 1;
    }
    // The socket stays open as long as a thread of the PMDA hangs; its main thread, which has started this, ends.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    confine.keeper();
    serve(rustix::stdio::stdin(), (Worker { names, grants }, confine), errands);
    0
}

/// Each message brings a socket: of a new worker, which takes the place of the last one, or of an errand.
fn serve(socket: BorrowedFd<'_>, (work, confine): (Worker, Confine), errands: &[Errand]) {
    let (mut workers, mut others): (Vec<Child>, Vec<Child>) = (Vec::new(), Vec::new());
    loop {
        let all = workers.iter().chain(&others);
        let ends = all.clone().filter_map(|child| child.pidfd.as_ref());
        let ends = ends.map(|pidfd| PollFd::new(pidfd, PollFlags::IN));
        let messages = PollFd::from_borrowed_fd(socket, PollFlags::IN);
        let mut files: Vec<_> = std::iter::once(messages).chain(ends).collect();
        // Where the kernel does not tell the end of a process, it is looked for.
        let looks = (files.len() <= all.count()).then_some(&LOOK);
        match poll(&mut files, looks) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
        drop(files);
        workers.retain_mut(|worker| !worker.has_ended());
        others.retain_mut(|other| !other.has_ended());
        let received = message::receive(socket);
        match received.map(|(what, passed)| (what, passed.into_iter().next())) {
            Ok((what, Some(theirs))) if what != WORKER => {
                let errand = errands.iter().find(|(name, _)| name.as_bytes() == what);
                if let Some((_, run)) = errand.filter(|_| others.len() < HANGING) {
                    others.extend(started(c"pmdaapm-errand", || run(theirs)));
                }
            }
            Ok((_, Some(theirs))) => {
                // One that hangs in the kernel ends when it comes back.
                workers.iter().for_each(Child::kill);
                if workers.len() < HANGING {
                    workers.extend(started(c"pmdaapm-opens", || {
                        // Without its parent nobody would give it up.
                        let _ = set_parent_process_death_signal(Some(Signal::KILL));
                        confine.opener();
                        work.serve(theirs.as_fd());
                    }));
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(_) | Err(_) => break,
        }
    }
    workers.iter().for_each(Child::kill);
}

fn started(name: &CStr, work: impl FnOnce()) -> Option<Child> {
    fork(|| {
        let _ = set_name(name);
        work();
    })
    .ok()
}
