//! The queues and clients of the process, and which queue is being fetched by whom.

use crate::table;
use pmdaapm::events::{HighRes, LowRes, Queues};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// The time of an event as it was given: converted only when it is asked for in the other form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    Micro(libc::timeval),
    Nano(libc::timespec),
}

impl Time {
    pub(crate) const fn timeval(self) -> libc::timeval {
        match self {
            Self::Micro(t) => t,
            Self::Nano(t) => libc::timeval { tv_sec: t.tv_sec, tv_usec: t.tv_nsec / 1000 },
        }
    }

    pub(crate) const fn timespec(self) -> libc::timespec {
        match self {
            Self::Micro(t) => libc::timespec { tv_sec: t.tv_sec, tv_nsec: t.tv_usec.wrapping_mul(1000) },
            Self::Nano(t) => t,
        }
    }
}

/// Everything behind one lock. It is never held while a callback of the PMDA runs.
pub(crate) struct State {
    pub(crate) queues: Queues<Time>,
    /// The arrays of each queue.
    arrays: HashMap<usize, Arrays>,
    fetching: HashMap<usize, ThreadId>,
}

/// Handles of a queue's arrays: low resolution from the start, as in C, high when first asked for.
struct Arrays {
    low: c_int,
    high: Option<c_int>,
}

static STATE: LazyLock<Mutex<State>> =
    LazyLock::new(|| Mutex::new(State { queues: Queues::default(), arrays: HashMap::new(), fetching: HashMap::new() }));
static FETCHED: Condvar = Condvar::new();

pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Gives a new queue its array; a negative status if that fails.
    pub(crate) fn open(&mut self, queue: usize) -> c_int {
        let low = table::create::<LowRes>();
        if low < 0 {
            let _ = self.queues.shutdown(queue);
            return low;
        }
        self.arrays.insert(queue, Arrays { low, high: None });
        0
    }

    /// The arrays of queues that are no more.
    pub(crate) fn close(&mut self, queues: &[usize]) {
        for arrays in queues.iter().filter_map(|q| self.arrays.remove(q)) {
            table::release(arrays.low);
            arrays.high.map(table::release);
        }
    }

    /// The array of a queue; a negative status if there is none.
    pub(crate) fn array(&mut self, queue: usize, high: bool) -> c_int {
        match self.arrays.get_mut(&queue) {
            Some(arrays) if high => *arrays.high.get_or_insert_with(table::create::<HighRes>),
            Some(arrays) => arrays.low,
            None => crate::ctypes::EINVAL,
        }
    }
}

/// One thread fetches from a queue at a time, since the queue has one array. Ends the fetch when dropped.
pub(crate) struct Fetching(usize);

impl Fetching {
    /// Waits for other threads; -EDEADLK when this thread is fetching from the queue already (in a decoder).
    pub(crate) fn begin(queue: usize) -> Result<(Self, MutexGuard<'static, State>), c_int> {
        let mut state = lock();
        let me = std::thread::current().id();
        while let Some(other) = state.fetching.get(&queue) {
            if *other == me {
                return Err(-libc::EDEADLK);
            }
            state = FETCHED.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.fetching.insert(queue, me);
        Ok((Self(queue), state))
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        lock().fetching.remove(&self.0);
        FETCHED.notify_all();
    }
}
