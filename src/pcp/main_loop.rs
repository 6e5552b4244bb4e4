//! The PMDA thread: waits for pmcd and for our own wake-ups, answers one, applies the other.

use std::time::Duration;

use super::agent::Agent;
use super::wake::Wake;

/// What the rest of the program does on this thread.
pub trait Hooks {
    /// Called after each wake-up and at least once a second; `false` ends the loop.
    fn turn(&mut self) -> bool;
}

/// Longest wait.
const TURN: Duration = Duration::from_secs(1);

/// Runs until pmcd closes the pipe or a hook says stop.
pub fn run(agent: &mut Agent, wake: &Wake, hooks: &mut dyn Hooks) {
    let pmcd = agent.fd();
    let interest = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut turned = std::time::Instant::now();
    loop {
        let mut fds = [interest(pmcd), interest(wake.fd())];
        let timeout = i32::try_from(TURN.as_millis()).unwrap_or(1000);
        // SAFETY: poll(2) writes the revents of the two structures it is given.
        let n = unsafe { libc::poll(fds.as_mut_ptr(), 2, timeout) };
        if n < 0 && std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            log::error!("poll: {}", std::io::Error::last_os_error());
            return;
        }
        let [from_pmcd, from_us] = fds.map(|f| n > 0 && f.revents != 0);
        if from_us {
            wake.clear();
        }
        agent.apply_changes();
        if from_pmcd && !agent.answer() {
            log::info!("pmcd has closed the connection");
            return;
        }
        if from_us || turned.elapsed() >= TURN {
            turned = std::time::Instant::now();
            if !hooks.turn() {
                return;
            }
        }
    }
}
