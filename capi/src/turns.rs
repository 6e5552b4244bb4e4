//! The arrays for a queue's records. libpcp encodes a result after all metrics of a request are
//! fetched, so a delivered array must not change until then, although another metric of the request
//! may fetch the same queue. libpcp_pmda has one array for each queue, which the next fetch
//! overwrites.

use std::ffi::c_int;

use crate::ctypes::PM_ERR_NOCONTEXT;
use crate::slot::Slot;
use crate::table::{self, Any, Kind};

/// The request of pmcd that a fetch belongs to: some PMDAs call `pmdaEventNewClient` at the
/// beginning of each, others only when a client connects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    context: c_int,
    /// Calls of `pmdaEventNewClient`.
    number: u64,
    /// The call was for a known client and followed a fetch: the PMDA calls it for each request.
    told: bool,
    /// A client has fetched since the call.
    fetched: bool,
}

impl Request {
    /// `pmdaEventNewClient` is called, for a client that is known or is not. A PMDA that calls it
    /// in its attribute callback does so several times when a client connects, and then not again.
    pub(crate) const fn new_client(&mut self, known: bool) {
        self.number += 1;
        self.told = known && self.fetched;
        self.fetched = false;
    }

    /// The request as one of this client.
    #[inline(always)]
    pub(crate) const fn of(self, context: c_int) -> Self {
        Self { context, ..self }
    }

    /// A client fetches.
    #[inline(always)]
    pub(crate) const fn fetch(&mut self) {
        self.fetched = true;
    }
}

/// Number of arrays that stay valid if requests cannot be distinguished.
const STAY: usize = 8;
/// Number of arrays that stay valid within a request that `pmdaEventNewClient` began. A request has
/// fewer metrics of one queue: with more deliveries it is no request, the PMDA has not called again.
const STAY_MOST: usize = 64;

/// The arrays of a queue in one resolution. They share one handle, which refers to the current one.
pub(crate) struct Turns {
    pub(crate) handle: c_int,
    /// The place of the current array.
    pub(crate) slot: &'static Slot<Any>,
    /// The current array was delivered.
    delivered: bool,
    /// The other arrays as a ring, in the order of their delivery from `oldest` on.
    others: Vec<Any>,
    oldest: usize,
    request: Request,
    /// Arrays delivered in this request.
    deliveries: usize,
}

impl Turns {
    /// Creates the first array.
    pub(crate) fn new<K: Kind>() -> Result<Self, c_int> {
        let (handle, slot) = table::create_slot::<K>()?;
        // A decoder's records of the other resolution are refused.
        slot.fix(true);
        Ok(Self {
            handle,
            slot,
            delivered: false,
            others: Vec::new(),
            oldest: 0,
            request: Request::default(),
            deliveries: 0,
        })
    }

    /// Begins a fetch: the handle gets an empty array that is not in use any more.
    #[inline(always)]
    pub(crate) fn begin<K: Kind>(&mut self, request: Request) -> Result<(), c_int> {
        if (request.context, request.number) != (self.request.context, self.request.number) {
            // Keeps as many arrays as the last request needed.
            let spare = self.others.len().saturating_sub(self.stay(request));
            if spare > 0 {
                self.free(spare);
            }
            self.deliveries = 0;
        }
        self.request = request;
        let slot = self.slot;
        slot.with_long(|place| {
            let array = place.as_mut().ok_or(PM_ERR_NOCONTEXT)?;
            if self.delivered {
                // The array delivered last stays valid in any case.
                let stay = self.stay(request);
                self.exchange::<K>(array, stay)?;
            }
            table::reset::<K>(place);
            Ok(())
        })
    }

    /// Number of other arrays that stay.
    #[inline(always)]
    fn stay(&self, request: Request) -> usize {
        let most = if request.told { STAY_MOST } else { STAY };
        // One of them is the handle's own.
        self.deliveries.clamp(1, most - 1)
    }

    /// Frees the `count` oldest arrays.
    #[cold]
    #[inline(never)]
    fn free(&mut self, count: usize) {
        self.others.rotate_left(std::mem::take(&mut self.oldest));
        self.others.drain(..count);
    }

    /// Puts an array behind the others, in exchange for the oldest if more than `stay` are there.
    #[inline(always)]
    fn exchange<K: Kind>(&mut self, array: &mut Any, stay: usize) -> Result<(), c_int> {
        let others = self.others.len();
        match self.others.get_mut(self.oldest) {
            Some(free) if others >= stay => std::mem::swap(array, free),
            _ => self.keep::<K>(array)?,
        }
        self.oldest += 1;
        if self.oldest == self.others.len() {
            self.oldest = 0;
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn keep<K: Kind>(&mut self, array: &mut Any) -> Result<(), c_int> {
        self.others.try_reserve(1).map_err(|_| -libc::ENOMEM)?;
        // The next delivery is likely to be as long. An array that grows has twice what it needs.
        let bytes = table::bytes(array);
        let next = table::any::<K>(bytes + bytes / 8)?;
        self.others.insert(self.oldest, std::mem::replace(array, next));
        Ok(())
    }

    /// Ends a fetch. Without records the handle gets the array back that was delivered last.
    #[inline]
    pub(crate) fn end(&mut self, delivered: bool) -> Result<(), c_int> {
        if delivered {
            self.delivered = true;
            self.deliveries += 1;
            return Ok(());
        }
        if self.delivered { self.put_back() } else { Ok(()) }
    }

    #[cold]
    fn put_back(&mut self) -> Result<(), c_int> {
        self.oldest = self.oldest.checked_sub(1).unwrap_or(self.others.len().saturating_sub(1));
        let last = self.others.get_mut(self.oldest).ok_or(PM_ERR_NOCONTEXT)?;
        self.slot.with(|place| {
            let current = place.as_mut().ok_or(PM_ERR_NOCONTEXT)?;
            std::mem::swap(current, last);
            Ok(())
        })
    }
}
