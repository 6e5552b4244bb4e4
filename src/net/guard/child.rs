//! The second process.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_name};

use super::message::{self, Message};
use super::{BEAT, SILENT};
use crate::confine::Confine;

/// The whole life of the second process: standard input is the socket, and its arguments are those of
/// [`Confine::words`]. Returns the exit status.
#[must_use]
pub fn main(arguments: &[String]) -> i32 {
    // Who looks for pmdaapm by its name looks for the other one.
    let _ = set_name(c"pmdaapm-guard");
    let none = CapabilitySet::empty();
    // It needs no rights at all: it only has what it is given.
    let _ = set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    );
    Confine::of(arguments).guard();
    serve(rustix::stdio::stdin(), BEAT);
    0
}

/// Holds connections until the PMDA ends. One look each `step`, while there are any.
pub(super) fn serve(socket: BorrowedFd<'_>, step: Duration) {
    let step = Timespec::try_from(step).ok();
    let mut held: HashMap<u64, OwnedFd> = HashMap::new();
    let mut silent = 0;
    loop {
        let timeout = step.as_ref().filter(|_| !held.is_empty());
        match poll(&mut [PollFd::from_borrowed_fd(socket, PollFlags::IN)], timeout) {
            Ok(0) => {
                silent += 1;
                if silent >= SILENT {
                    cut(&mut held);
                    silent = 0;
                    let _ = message::send(socket, Message::Cut, None);
                }
                continue;
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
        match message::receive(socket) {
            Ok(Some((message, passed))) => {
                silent = 0;
                match (message, passed) {
                    (Message::Hold(id), Some(connection)) => {
                        held.insert(id, connection);
                    }
                    (Message::Release(id), _) => end(held.remove(&id)),
                    _ => {}
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(None) | Err(_) => break,
        }
    }
    cut(&mut held);
}

/// Ends all connections.
fn cut(held: &mut HashMap<u64, OwnedFd>) {
    std::mem::take(held).into_values().for_each(|connection| end(Some(connection)));
}

fn end(connection: Option<OwnedFd>) {
    if let Some(connection) = connection {
        let _ = shutdown(connection, Shutdown::Both);
    }
}
