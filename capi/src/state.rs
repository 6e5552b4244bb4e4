//! The queues and clients of the process, and the thread that fetches from each queue.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use pcp_event::{HighRes, LowRes, Queues};

use crate::ctypes::EINVAL;
use crate::slot::Slot;
use crate::table::{self, Any, Kind};
use crate::turns::{Request, Turns};

/// The time of an event as passed by the caller: converted only when needed in the other form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    Micro(libc::timeval),
    Nano(libc::timespec),
}

impl Time {
    #[inline(always)]
    pub(crate) fn timeval(self) -> libc::timeval {
        match self {
            Self::Micro(t) => t,
            Self::Nano(t) => micro(t),
        }
    }

    #[inline(always)]
    pub(crate) const fn timespec(self) -> libc::timespec {
        match self {
            Self::Micro(t) => {
                libc::timespec { tv_sec: t.tv_sec, tv_nsec: t.tv_usec.wrapping_mul(1000) }
            }
            Self::Nano(t) => t,
        }
    }
}

/// In a separate function, so that times that fit already do not cost a division.
#[cold]
#[inline(never)]
fn micro(t: libc::timespec) -> libc::timeval {
    libc::timeval { tv_sec: t.tv_sec, tv_usec: t.tv_nsec / 1000 }
}

/// All state behind one lock, which is never locked while a callback of the PMDA runs.
pub(crate) struct State {
    pub(crate) queues: Queues<Time>,
    /// State of each queue, by its handle.
    places: Vec<Option<Place>>,
    pub(crate) request: Request,
}

/// A queue's arrays (low resolution from the start, as in C, high from its first use), and the
/// thread that is fetching.
struct Place {
    low: Turns,
    high: Option<Turns>,
    fetching: Option<Thread>,
}

static STATE: Slot<State> = Slot::empty();

/// As [`with`], for work that is short.
#[inline(always)]
pub(crate) fn with_short<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|state| f(state.get_or_insert_with(State::new)))
}

/// Runs `f` on the state. `f` calls no callback of the PMDA.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_long(|state| f(state.get_or_insert_with(State::new)))
}

impl State {
    #[cold]
    fn new() -> Self {
        Self { queues: Queues::default(), places: Vec::new(), request: Request::default() }
    }

    /// Creates the array of a new queue; a negative status if that fails.
    pub(crate) fn open(&mut self, queue: usize) -> c_int {
        let low = match Turns::new::<LowRes>() {
            Ok(low) => low,
            Err(status) => {
                // The handle is not returned yet, so the queue has no filters.
                drop(self.queues.shutdown(queue));
                return status;
            }
        };
        if self.places.len() <= queue {
            self.places.resize_with(queue + 1, || None);
        }
        if let Some(place) = self.places.get_mut(queue) {
            *place = Some(Place { low, high: None, fetching: None });
        }
        0
    }

    /// Frees the arrays of removed queues.
    pub(crate) fn close(&mut self, queues: &[usize]) {
        for place in queues.iter().filter_map(|queue| self.places.get_mut(*queue)?.take()) {
            table::release(place.low.handle);
            place.high.map(|high| table::release(high.handle));
        }
    }

    #[inline(always)]
    fn place(&mut self, queue: usize) -> Result<&mut Place, c_int> {
        self.places.get_mut(queue).and_then(Option::as_mut).ok_or(EINVAL)
    }

    /// The arrays of a queue in one resolution; a negative status if there are none.
    #[inline(always)]
    pub(crate) fn turns(&mut self, queue: usize, high: bool) -> Result<&mut Turns, c_int> {
        let place = self.place(queue)?;
        if !high {
            return Ok(&mut place.low);
        }
        if place.high.is_none() {
            place.high = Some(Turns::new::<HighRes>()?);
        }
        place.high.as_mut().ok_or(EINVAL)
    }

    /// Whether a thread may fetch from a queue now: [`BUSY`] while another thread does, -EDEADLK if
    /// this thread is already fetching from the queue (in a decoder), -EINVAL without such a queue.
    #[inline(always)]
    pub(crate) fn is_free(&mut self, queue: usize, thread: Thread) -> Result<(), c_int> {
        match self.place(queue)?.fetching {
            None => Ok(()),
            Some(other) if other == thread => Err(-libc::EDEADLK),
            Some(_) => Err(BUSY),
        }
    }

    /// Sets the thread that is fetching from a queue.
    #[inline(always)]
    pub(crate) fn set_fetching(&mut self, queue: usize, thread: Thread) {
        if let Ok(place) = self.place(queue) {
            place.fetching = Some(thread);
        }
    }

    /// Begins a fetch. Returns the handle of the current array and its place.
    #[inline(always)]
    pub(crate) fn turn<K: Kind>(
        &mut self,
        queue: usize,
        high: bool,
        context: c_int,
    ) -> Result<(c_int, &'static Slot<Any>), c_int> {
        let request = self.request.of(context);
        let turns = self.turns(queue, high)?;
        turns.begin::<K>(request).map(|()| (turns.handle, turns.slot))
    }
}

static WAITING: AtomicUsize = AtomicUsize::new(0);
static WAIT: Mutex<()> = Mutex::new(());
static FETCHED: Condvar = Condvar::new();

/// The status while another thread fetches from a queue.
pub(crate) const BUSY: c_int = -libc::EBUSY;

/// A number that no other thread has at the same time.
pub(crate) type Thread = libc::pthread_t;

/// The number of this thread.
#[inline(always)]
pub(crate) fn this_thread() -> Thread {
    // SAFETY: pthread_self(3) always succeeds.
    unsafe { libc::pthread_self() }
}

/// One thread fetches from a queue at a time, since a queue's arrays take turns. Dropping this ends
/// the fetch.
pub(crate) struct Fetching(usize, Thread);

impl Fetching {
    /// The fetch of a thread for which [`State::set_fetching`] was called.
    #[inline(always)]
    pub(crate) const fn of(queue: usize, thread: Thread) -> Self {
        Self(queue, thread)
    }

    /// Runs `begin` again whenever a fetch has ended, until its queue is not [`BUSY`].
    #[cold]
    #[inline(never)]
    pub(crate) fn wait<R>(
        mut begin: impl FnMut(&mut State) -> Result<R, c_int>,
    ) -> Result<R, c_int> {
        let mut held = WAIT.lock().unwrap_or_else(PoisonError::into_inner);
        WAITING.fetch_add(1, Ordering::SeqCst);
        let mut done = with(&mut begin);
        while matches!(done, Err(BUSY)) {
            held = FETCHED.wait(held).unwrap_or_else(PoisonError::into_inner);
            done = with(&mut begin);
        }
        WAITING.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// Ends the fetch, as a drop does, with the lock of the state held.
    /// [`Self::ended`] follows without it.
    #[inline(always)]
    pub(crate) fn end(&self, state: &mut State) {
        // The handle may now belong to another queue, from which another thread fetches.
        if let Ok(place) = state.place(self.0)
            && place.fetching == Some(self.1)
        {
            place.fetching = None;
        }
    }

    /// Wakes waiting threads after [`Self::end`].
    #[inline(always)]
    pub(crate) fn ended(self) {
        std::mem::forget(self);
        wake();
    }
}

#[inline(always)]
fn wake() {
    if WAITING.load(Ordering::SeqCst) > 0 {
        wake_waiting();
    }
}

#[cold]
#[inline(never)]
fn wake_waiting() {
    // A waiting thread has found the queue busy with this lock locked.
    drop(WAIT.lock().unwrap_or_else(PoisonError::into_inner));
    FETCHED.notify_all();
}

impl Drop for Fetching {
    #[inline(never)]
    fn drop(&mut self) {
        with(|state| self.end(state));
        wake();
    }
}
