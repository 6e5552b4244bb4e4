//! The queues and clients of the process, and the thread that fetches from each queue.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use pcp_event::{HighRes, LowRes, Queues};

use crate::ctypes::EINVAL;
use crate::slot::Slot;
use crate::table::{self, Kind};
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
    fetching: Option<usize>,
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
        let low = table::create::<LowRes>();
        if low < 0 {
            // The handle is not returned yet, so the queue has no filters.
            drop(self.queues.shutdown(queue));
            return low;
        }
        if self.places.len() <= queue {
            self.places.resize_with(queue + 1, || None);
        }
        if let Some(place) = self.places.get_mut(queue) {
            *place = Some(Place { low: Turns::of(low), high: None, fetching: None });
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

    /// The arrays of a queue in one resolution; a negative status if there are none.
    #[inline]
    pub(crate) fn turns(&mut self, queue: usize, high: bool) -> Result<&mut Turns, c_int> {
        let place = self.places.get_mut(queue).and_then(Option::as_mut).ok_or(EINVAL)?;
        if !high {
            return Ok(&mut place.low);
        }
        if place.high.is_none() {
            place.high = Some(Self::first_high()?);
        }
        place.high.as_mut().ok_or(EINVAL)
    }

    #[cold]
    fn first_high() -> Result<Turns, c_int> {
        let handle = table::create::<HighRes>();
        if handle < 0 { Err(handle) } else { Ok(Turns::of(handle)) }
    }

    /// Begins a fetch. Returns the handle of the current array.
    #[inline]
    pub(crate) fn turn<K: Kind>(
        &mut self,
        queue: usize,
        high: bool,
        context: c_int,
    ) -> Result<c_int, c_int> {
        let request = Request { context, ..self.request };
        let turns = self.turns(queue, high)?;
        turns.begin::<K>(request).map(|()| turns.handle)
    }

    /// The thread that is fetching from a queue; -EINVAL without such a queue.
    #[inline(always)]
    fn fetching(&mut self, queue: usize) -> Result<&mut Option<usize>, c_int> {
        self.places
            .get_mut(queue)
            .and_then(Option::as_mut)
            .map(|place| &mut place.fetching)
            .ok_or(EINVAL)
    }
}

static WAITING: AtomicUsize = AtomicUsize::new(0);
static WAIT: Mutex<()> = Mutex::new(());
static FETCHED: Condvar = Condvar::new();

/// A number that no other thread has at the same time.
#[inline(always)]
fn this_thread() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

/// One thread fetches from a queue at a time, since a queue's arrays take turns. Dropping this ends
/// the fetch.
pub(crate) struct Fetching(usize, usize);

impl Fetching {
    /// Waits for other threads. -EDEADLK if this thread is already fetching from the queue (in a
    /// decoder), -EINVAL without such a queue.
    #[inline]
    pub(crate) fn begin(queue: usize) -> Result<Self, c_int> {
        let me = this_thread();
        if !Self::attempt(queue, me)? {
            Self::wait(queue, me)?;
        }
        Ok(Self(queue, me))
    }

    #[inline(always)]
    fn attempt(queue: usize, me: usize) -> Result<bool, c_int> {
        with(|state| {
            let fetching = state.fetching(queue)?;
            match fetching {
                Some(other) if *other == me => Err(-libc::EDEADLK),
                Some(_) => Ok(false),
                None => {
                    *fetching = Some(me);
                    Ok(true)
                }
            }
        })
    }

    #[cold]
    #[inline(never)]
    fn wait(queue: usize, me: usize) -> Result<(), c_int> {
        let mut held = WAIT.lock().unwrap_or_else(PoisonError::into_inner);
        WAITING.fetch_add(1, Ordering::SeqCst);
        let mut done = Self::attempt(queue, me);
        while done == Ok(false) {
            held = FETCHED.wait(held).unwrap_or_else(PoisonError::into_inner);
            done = Self::attempt(queue, me);
        }
        WAITING.fetch_sub(1, Ordering::SeqCst);
        done.map(|_| ())
    }

    /// Ends the fetch, as a drop does, with the lock of the state held.
    /// [`Self::ended`] follows without it.
    #[inline(always)]
    pub(crate) fn end(&self, state: &mut State) {
        // The handle may now belong to another queue, from which another thread fetches.
        if let Ok(fetching) = state.fetching(self.0)
            && *fetching == Some(self.1)
        {
            *fetching = None;
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
