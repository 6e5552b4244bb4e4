//! The thread of the PMDA: waits for pmcd and for wake-ups, answers requests, runs a turn.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::agent::Pmda;
use crate::handler::Handler;
use crate::process::thread_time;
use crate::wake::Wake;

/// Longest time between two turns.
const TURN: Duration = Duration::from_secs(1);

impl<H: Handler> Pmda<H> {
    /// Answers pmcd until it closes the connection, or `turn` returns `false`. `turn` is called
    /// after each wake-up and at least once a second.
    pub fn run(&mut self, wake: &Wake, mut turn: impl FnMut(&mut H) -> bool) {
        let timeout = Timespec { tv_sec: 1, tv_nsec: 0 };
        let mut turned = Instant::now();
        loop {
            let mut begun = thread_time();
            let (from_pmcd, woken) = {
                let pmcd = self.fd();
                let mut fds = [
                    PollFd::from_borrowed_fd(pmcd, PollFlags::IN),
                    PollFd::from_borrowed_fd(wake.fd(), PollFlags::IN),
                ];
                match poll(&mut fds, Some(&timeout)) {
                    Ok(_) => fds.map(|fd| !fd.revents().is_empty()).into(),
                    Err(Errno::INTR) => (false, false),
                    Err(e) => return log::error!("poll: {e}"),
                }
            };
            if woken {
                wake.clear();
                self.update();
                begun = thread_time();
            }
            if from_pmcd && !self.answer(begun) {
                return log::info!("pmcd has closed the connection");
            }
            if !woken {
                // For the next request: behind this one no client waits.
                self.update();
            }
            if woken || turned.elapsed() >= TURN {
                turned = Instant::now();
                if !turn(&mut self.handler()) {
                    return;
                }
            }
        }
    }

    /// [`run`](Self::run) without wake-ups, until pmcd closes the connection.
    ///
    /// # Errors
    /// From eventfd(2).
    pub fn run_alone(&mut self) -> std::io::Result<()> {
        self.run(&Wake::new()?, |_| true);
        Ok(())
    }
}
