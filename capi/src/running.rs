//! The fetch that runs on a queue: one at a time, since a queue's arrays take turns. It belongs to
//! the state and not to the stack, as a callback may leave it with longjmp(3) or an exception.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::filters::Filter;
use crate::state::{Fetch, State, with};

static WAITING: AtomicUsize = AtomicUsize::new(0);
static WAIT: Mutex<()> = Mutex::new(());
static FETCHED: Condvar = Condvar::new();

/// The status while another thread fetches from a queue.
pub(crate) const BUSY: c_int = -libc::EBUSY;
/// The status if a callback has left this thread's fetch from a queue with longjmp(3).
pub(crate) const LEFT: c_int = c_int::MIN;

/// A thread, and a place in the stack frame of the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    thread: libc::pthread_t,
    frame: usize,
}

impl Caller {
    /// This thread, in a call with a variable in its frame.
    #[inline(always)]
    pub(crate) fn here(variable: &u8) -> Self {
        // SAFETY: pthread_self(3) always succeeds.
        Self { thread: unsafe { libc::pthread_self() }, frame: std::ptr::from_ref(variable).addr() }
    }

    /// Whether a fetch of this thread has been left without an end. Stacks grow downwards, so a
    /// call from within the fetch has a lower frame. Of frames on another stack (a coroutine's)
    /// nothing is known: the fetch may go on.
    #[cold]
    fn has_left(self, fetch: Self) -> bool {
        let stack = stack();
        self.frame >= fetch.frame && stack.contains(&self.frame) && stack.contains(&fetch.frame)
    }
}

/// The addresses of this thread's stack; none where the C library does not tell.
#[cold]
fn stack() -> Range<usize> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut size) = (null_mut(), 0);
    // SAFETY: pthread_self(3) always succeeds.
    let this = unsafe { libc::pthread_self() };
    // SAFETY: pthread_getattr_np(3) initializes the attributes of a running thread, if it returns 0.
    if unsafe { libc::pthread_getattr_np(this, attributes.as_mut_ptr()) } != 0 {
        return 0..0;
    }
    // SAFETY: initialized attributes, and places for the results.
    let status =
        unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size) };
    // SAFETY: initialized attributes, which are not used any more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if status == 0 { lowest.addr()..lowest.addr().saturating_add(size) } else { 0..0 }
}

/// A fetch between its beginning and its end.
pub(crate) struct Running {
    caller: Caller,
    high: bool,
    fetch: *mut Fetch,
}

// SAFETY: the fetch is used by the thread that called; by others only after it has ended.
unsafe impl Send for Running {}

impl Running {
    /// The status for another call meanwhile: [`BUSY`] in another thread, -EDEADLK in a callback of
    /// the fetch, [`LEFT`] after it.
    #[cold]
    pub(crate) fn status_for(&self, caller: Caller) -> c_int {
        match self.caller {
            other if other.thread != caller.thread => BUSY,
            other if caller.has_left(other) => LEFT,
            _ => -libc::EDEADLK,
        }
    }
}

impl State {
    /// Gives up a fetch that a callback has left: nothing is delivered, its events are missed.
    /// Returns the filter as the end of a fetch does.
    #[cold]
    pub(crate) fn give_up(&mut self, queue: usize) -> Option<Box<Filter>> {
        let running = self.running(queue)?.take()?;
        if let Ok(turns) = self.turns(queue, running.high) {
            // An array that is gone is no array to put back.
            let _ = turns.end(false);
        }
        // SAFETY: from `Box::into_raw` in `Fetching::begin`; the call is gone.
        self.abandon(unsafe { Box::from_raw(running.fetch) })
    }

    #[cold]
    fn abandon(&mut self, mut fetch: Box<Fetch>) -> Option<Box<Filter>> {
        fetch.lose_taken(0);
        self.queues.finish(fetch)
    }
}

/// The fetch of a call. Dropping this gives it up.
pub(crate) struct Fetching {
    queue: usize,
    fetch: *mut Fetch,
}

impl Fetching {
    /// Begins; a fetch of the queue is not running.
    #[inline(always)]
    pub(crate) fn begin(
        state: &mut State,
        queue: usize,
        caller: Caller,
        high: bool,
        fetch: Box<Fetch>,
    ) -> Self {
        let fetch = Box::into_raw(fetch);
        if let Some(place) = state.running(queue) {
            *place = Some(Running { caller, high, fetch });
        }
        Self { queue, fetch }
    }

    pub(crate) const fn get(&self) -> &Fetch {
        // SAFETY: as below.
        unsafe { &*self.fetch }
    }

    #[inline(always)]
    pub(crate) const fn fetch(&mut self) -> &mut Fetch {
        // SAFETY: it ends with this call, or after it if a callback does not return.
        unsafe { &mut *self.fetch }
    }

    /// Ends the fetch with the lock of the state held; [`Self::ended`] follows without it. Returns
    /// the filter if the client has ended or was given another meanwhile.
    #[inline(always)]
    pub(crate) fn end(&mut self, state: &mut State) -> Option<Box<Filter>> {
        if let Some(place) = self.place(state) {
            *place = None;
        }
        // SAFETY: from `Box::into_raw` in `begin`, and nothing else has it now.
        let fetch = unsafe { Box::from_raw(self.fetch) };
        state.queues.finish(fetch)
    }

    /// The place of this fetch. The handle may now belong to another queue, from which another
    /// thread fetches.
    #[inline(always)]
    fn place<'s>(&self, state: &'s mut State) -> Option<&'s mut Option<Running>> {
        state
            .running(self.queue)
            .filter(|place| place.as_ref().is_some_and(|running| running.fetch == self.fetch))
    }

    /// Wakes waiting threads after [`Self::end`].
    #[inline(always)]
    pub(crate) fn ended(self) {
        std::mem::forget(self);
        wake();
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
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let unused = with(|state| {
            if self.place(state).is_some() {
                return state.give_up(self.queue);
            }
            // A callback has ended the queue.
            // SAFETY: from `Box::into_raw` in `begin`, and nothing else has it now.
            state.abandon(unsafe { Box::from_raw(self.fetch) })
        });
        wake();
        drop(unused);
    }
}
