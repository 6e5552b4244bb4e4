//! A process that goes on with this one's code and rights.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

/// A child of this process. It goes on when this is dropped.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    /// Ready when it has ended; `None` before Linux 5.3.
    pub pidfd: Option<OwnedFd>,
    ended: bool,
}

/// Starts a process that does this and ends.
///
/// # Errors
/// This process has several threads, of which one may hold a lock that the child would wait for, or there are too many
/// processes.
pub fn fork(work: impl FnOnce()) -> io::Result<Child> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("this process has several threads"));
    }
    // SAFETY: fork(2) in a process of one thread: the child has all that it had.
    let pid = unsafe { libc::fork() };
    match pid {
        ..0 => Err(io::Error::last_os_error()),
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // SAFETY: _exit(2). What the parent has for its end, as buffers to write, is not done twice.
            unsafe { libc::_exit(done.is_err().into()) }
        }
        pid => {
            let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no process id"))?;
            let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok();
            Ok(Child { pid, pidfd, ended: false })
        }
    }
}

impl Child {
    /// Ends it, as soon as the kernel can.
    pub fn kill(&self) {
        // Until it was waited for its id is nobody else's.
        if !self.ended {
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }

    /// Whether it has ended. Its entry in the list of processes is gone then.
    pub fn has_ended(&mut self) -> bool {
        self.ended |= !matches!(waitpid(Some(self.pid), WaitOptions::NOHANG), Ok(None));
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_one_thread_is_forked() {
        let other = std::thread::spawn(std::thread::park);
        assert!(fork(|| ()).is_err());
        other.thread().unpark();
        other.join().expect("ours");
    }
}
