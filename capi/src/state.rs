//! The queues and clients of the process, and the fetch that runs on each queue.

use std::ffi::c_int;

use pcp_event::{Gone, HighRes, LowRes, QueueError};

use crate::ctypes::{EINVAL, queue_status};
use crate::filters::{Filter, Filters};
use crate::running::{Caller, Running};
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

/// The queues of a PMDA, and a fetch from one.
pub(crate) type Queues = pcp_event::Queues<Time, Box<Filter>>;
pub(crate) type Fetch = pcp_event::Fetch<Time, Box<Filter>>;

/// All state behind one lock, which is never locked while a callback of the PMDA runs.
pub(crate) struct State {
    pub(crate) queues: Queues,
    /// State of each queue, by its handle.
    places: Vec<Option<Place>>,
    pub(crate) request: Request,
}

/// A queue's arrays (low resolution from the start, as in C, high from its first use), and the
/// fetch that runs.
struct Place {
    low: Turns,
    high: Option<Turns>,
    running: Option<Running>,
}

/// Frees the arrays of a queue that is removed.
fn close(places: &mut [Option<Place>], queue: usize) {
    if let Some(place) = places.get_mut(queue).and_then(Option::take) {
        table::release(place.low.handle);
        place.high.map(|high| table::release(high.handle));
    }
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

    /// Creates a queue and its array; a negative status if that fails.
    pub(crate) fn new_queue(
        &mut self,
        name: &str,
        max_memory: usize,
        clients: u32,
    ) -> Result<usize, c_int> {
        // Room for the place of the new handle, which is at most the number of queues.
        let places = self.queues.queue_slots() + 1;
        let more = places.saturating_sub(self.places.len());
        self.places.try_reserve(more).map_err(|_| -libc::ENOMEM)?;
        let queue =
            self.queues.new_active_queue(name, max_memory, clients).map_err(queue_status)?;
        match Turns::new::<LowRes>() {
            Ok(low) => {
                if self.places.len() <= queue {
                    self.places.resize_with(queue + 1, || None);
                }
                if let Some(place) = self.places.get_mut(queue) {
                    *place = Some(Place { low, high: None, running: None });
                }
                Ok(queue)
            }
            Err(status) => {
                // The handle is not returned yet, so the queue has no filters.
                let _ = self.queues.shutdown(queue, drop);
                Err(status)
            }
        }
    }

    /// Removes a queue, at once or later. Returns the filters to release.
    pub(crate) fn shutdown(&mut self, queue: usize) -> Result<Filters, QueueError> {
        let mut filters = Filters::default();
        if self.queues.shutdown(queue, |filter| filters.push(filter))? {
            close(&mut self.places, queue);
        }
        Ok(filters)
    }

    /// Ends a client, and the queues that wait for its end. Returns the filters to release.
    pub(crate) fn end_client(&mut self, context: c_int) -> Filters {
        let mut filters = Filters::default();
        let Self { queues, places, .. } = self;
        queues.end_client(context, |gone| match gone {
            Gone::Filter(filter) => filters.push(filter),
            Gone::Queue(queue) => close(places, queue),
            _ => {}
        });
        filters
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

    /// Whether a fetch from a queue may begin now: a status if one is running, -EINVAL without such
    /// a queue.
    #[inline(always)]
    pub(crate) fn is_free(&mut self, queue: usize, caller: Caller) -> Result<(), c_int> {
        match &self.place(queue)?.running {
            None => Ok(()),
            Some(running) => Err(running.status_for(caller)),
        }
    }

    /// The place for the fetch that runs on a queue.
    #[inline(always)]
    pub(crate) fn running(&mut self, queue: usize) -> Option<&mut Option<Running>> {
        self.place(queue).ok().map(|place| &mut place.running)
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
