//! The signal from the program's thread that ends the module's: a deadline, and a wake-up from any
//! wait.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::os::descriptor::Descriptor;
use crate::os::sys::{self, Ready};

/// A stop, requested at most once, from any thread, and awaited by one thread.
#[derive(Debug)]
pub(crate) struct Stop {
    deadline: OnceLock<Instant>,
    waker: Descriptor<UnixStream>,
    woken: Descriptor<UnixStream>,
    resolving: AtomicBool,
}

impl Stop {
    /// A stop that is not requested yet.
    pub(crate) fn new() -> io::Result<Self> {
        let (waker, woken) = UnixStream::pair()?;
        Ok(Self {
            deadline: OnceLock::new(),
            waker: Descriptor::new(waker)?,
            woken: Descriptor::new(woken)?,
            resolving: AtomicBool::new(false),
        })
    }

    /// Requests that the thread ends within `time`.
    pub(crate) fn request(&self, time: Duration) {
        if self.deadline.set(Instant::now() + time).is_ok()
            && let Ok(mut waker) = self.waker.get()
        {
            // One byte always fits into an empty socket.
            let _ = waker.write(&[1]);
        }
    }

    /// Runs `resolve`, from which nothing wakes the thread up.
    pub(crate) fn while_resolving<T>(&self, resolve: impl FnOnce() -> T) -> T {
        self.resolving.store(true, Ordering::SeqCst);
        let result = resolve();
        self.resolving.store(false, Ordering::SeqCst);
        result
    }

    /// Whether the thread is within [`Self::while_resolving`].
    pub(crate) fn is_resolving(&self) -> bool {
        self.resolving.load(Ordering::SeqCst)
    }

    /// The deadline of the thread; `None` until a stop is requested.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline.get().copied()
    }

    /// Waits until `fd` is ready, `time` has passed, or a stop is requested (also before the call).
    /// Returns whether `fd` is ready.
    pub(crate) fn wait(
        &self,
        fd: Option<(BorrowedFd<'_>, Ready)>,
        time: Duration,
    ) -> io::Result<bool> {
        // The wake-up byte is never read, so a request between a check and a wait is not lost. A
        // descriptor that is the program's now would never wake anybody.
        let woken = Some((self.woken.get()?.as_fd(), Ready::Read));
        let [ready, woken] = sys::poll([fd, woken], time)?;
        if woken && self.deadline().is_none() {
            // The program has closed descriptors of this module; without this check every wait
            // would end at once.
            return Err(io::Error::other("the program has closed this module's descriptors"));
        }
        Ok(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_the_wait_and_only_the_first_counts() {
        let stop = Stop::new().unwrap();
        assert_eq!(stop.deadline(), None);
        assert!(!stop.wait(None, Duration::from_millis(1)).unwrap());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let begin = Instant::now();
                stop.wait(None, Duration::from_secs(60)).unwrap();
                begin.elapsed()
            });
            stop.request(Duration::from_secs(1));
            assert!(waiting.join().unwrap() < Duration::from_secs(30));
        });
        let first = stop.deadline();
        stop.request(Duration::from_secs(9));
        assert_eq!(stop.deadline(), first);
        let begin = Instant::now();
        stop.wait(None, Duration::from_secs(60)).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
}
