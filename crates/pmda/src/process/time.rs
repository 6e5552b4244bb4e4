//! CPU times, and time limits.

use std::mem::MaybeUninit;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread.
#[must_use]
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// CPU time of this thread plus a tenth of the time passed. Work limited by it to 100 ms ends after
/// a second at most, even if the thread gets hardly any CPU. pmcd waits 5 s.
#[must_use]
pub fn work_time() -> Duration {
    work_time_with(thread_time())
}

/// [`work_time`] if the CPU time of this thread is known.
pub(crate) fn work_time_with(thread: Duration) -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    thread + START.elapsed() / 10
}

/// CPU time of all threads of this process, in user mode and in the kernel.
#[must_use]
pub fn cpu_time() -> (Duration, Duration) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage(2) fills the structure it is given, or leaves it.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: zeros are a sound rusage.
    let usage = unsafe { usage.assume_init() };
    let duration = |time: libc::timeval| {
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
        seconds + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default())
    };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

/// The time limit of one request that calls back for each instance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    began: Duration,
    calls: u32,
    over: bool,
}

impl Allowance {
    /// Limit of the thread's CPU time for one request.
    const TIME: Duration = Duration::from_millis(100);
    /// Calls between two readings of the clock.
    const LOOK: u32 = 64;

    /// The limit for a request that begins when the thread has worked for `now`.
    pub(crate) fn begin(now: Duration) -> Self {
        Self { began: now, calls: 0, over: false }
    }

    /// What [`begin`](Self::begin) was given.
    pub(crate) const fn began(self) -> Duration {
        self.began
    }

    /// Whether there is time for one more call. `clock` returns the time that the thread has
    /// worked.
    pub(crate) fn next(&mut self, clock: fn() -> Duration) -> bool {
        self.calls += 1;
        if self.calls.is_multiple_of(Self::LOOK) {
            self.over |= clock() > self.began + Self::TIME;
        }
        !self.over
    }

    /// Whether a call was refused.
    pub(crate) const fn is_over(self) -> bool {
        self.over
    }
}
