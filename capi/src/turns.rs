//! The arrays for a queue's records. libpcp encodes a result after all metrics of a request are
//! fetched, so a delivered array must not change until then, although another metric of the request
//! may fetch the same queue. libpcp_pmda has one array for each queue, which the next fetch
//! overwrites.

use std::collections::VecDeque;
use std::ffi::c_int;

use crate::ctypes::PM_ERR_NOCONTEXT;
use crate::table::{self, Any, Kind};

/// The request of pmcd that a fetch belongs to: PMDAs call `pmdaEventNewClient` at the beginning of
/// each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) context: c_int,
    /// Calls of `pmdaEventNewClient`.
    pub(crate) number: u64,
    /// `pmdaEventNewClient` was called for a known client: the PMDA calls it for each request.
    pub(crate) told: bool,
}

/// Number of arrays that stay valid if requests cannot be distinguished.
const STAY: usize = 8;

/// The arrays of a queue in one resolution. They share one handle, which refers to the current one.
pub(crate) struct Turns {
    pub(crate) handle: c_int,
    /// The current array was delivered.
    delivered: bool,
    /// The other arrays, in the order of their delivery.
    others: VecDeque<Any>,
    request: Request,
    /// Arrays delivered in this request.
    deliveries: usize,
}

impl Turns {
    pub(crate) fn of(handle: c_int) -> Self {
        Self {
            handle,
            delivered: false,
            others: VecDeque::new(),
            request: Request::default(),
            deliveries: 0,
        }
    }

    /// Begins a fetch: the handle gets an empty array that is not in use any more.
    #[inline]
    pub(crate) fn begin<K: Kind>(&mut self, request: Request) -> Result<(), c_int> {
        if (request.context, request.number) != (self.request.context, self.request.number) {
            // Keeps as many arrays as the last request needed.
            let spare = self.others.len().saturating_sub(self.deliveries.max(1));
            if spare > 0 {
                self.others.drain(..spare);
            }
            self.deliveries = 0;
        }
        self.request = request;
        table::with_any(self.handle, |array| {
            if self.delivered {
                // The array delivered last stays valid in any case.
                let stay = self.deliveries.max(1).min(if request.told { usize::MAX } else { STAY });
                self.exchange::<K>(array, stay);
            }
            table::reset::<K>(array);
        })
    }

    /// Puts an array behind the others, in exchange for the oldest if more than `stay` are there.
    #[inline(always)]
    fn exchange<K: Kind>(&mut self, array: &mut Any, stay: usize) {
        let others = self.others.len();
        match self.others.front_mut() {
            Some(free) if others >= stay => {
                std::mem::swap(array, free);
                if others > 1 {
                    self.others.rotate_left(1);
                }
            }
            _ => self.others.push_back(std::mem::replace(array, table::any::<K>())),
        }
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
        let mut array = self.others.pop_back().ok_or(PM_ERR_NOCONTEXT)?;
        table::with_any(self.handle, |current| std::mem::swap(current, &mut array))?;
        self.others.push_front(array);
        Ok(())
    }
}
