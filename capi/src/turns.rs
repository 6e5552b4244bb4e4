//! Which array a queue's records go into. libpcp encodes a result when all metrics of a request
//! have been fetched, so an array that was delivered must stay as it is until then, whatever is
//! fetched from the same queue for another metric of the request. libpcp_pmda has one array a
//! queue, which the next fetch overwrites.

use std::collections::VecDeque;
use std::ffi::c_int;

use crate::ctypes::PM_ERR_NOCONTEXT;
use crate::table::{self, Any, Kind};

/// Which request of pmcd a fetch belongs to, as far as calls tell: PMDAs call `pmdaEventNewClient`
/// at the beginning of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) context: c_int,
    /// Calls of `pmdaEventNewClient`.
    pub(crate) number: u64,
    /// There was one for a client that was known: so they come with each request.
    pub(crate) told: bool,
}

/// Arrays that stay where requests are not told apart.
const STAY: usize = 8;

/// The arrays of a queue in one resolution. All have one handle: it stands for the one whose turn
/// it is.
pub(crate) struct Turns {
    pub(crate) handle: c_int,
    /// The array of the handle has been delivered.
    delivered: bool,
    /// Others, the one that was delivered last at the end.
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

    /// A fetch begins: the handle gets an array that nobody looks at any more, without records.
    pub(crate) fn begin<K: Kind>(&mut self, request: Request) -> Result<(), c_int> {
        if (request.context, request.number) != (self.request.context, self.request.number) {
            // As many as the last request needed are enough.
            let spare = self.others.len().saturating_sub(self.deliveries.max(1));
            self.others.drain(..spare);
            self.deliveries = 0;
        }
        self.request = request;
        if self.delivered {
            // What was delivered last stays in any case.
            let stay = self.deliveries.max(1).min(if request.told { usize::MAX } else { STAY });
            let free = if self.others.len() >= stay { self.others.pop_front() } else { None };
            let mut array = free.unwrap_or_else(table::any::<K>);
            table::swap(self.handle, &mut array)?;
            self.others.push_back(array);
        }
        table::with_any(self.handle, table::reset::<K>)
    }

    /// A fetch ends, with records or without: then the handle gets the array back that was
    /// delivered last.
    pub(crate) fn end(&mut self, delivered: bool) -> Result<(), c_int> {
        if delivered {
            self.delivered = true;
            self.deliveries += 1;
            return Ok(());
        }
        if self.delivered {
            let mut array = self.others.pop_back().ok_or(PM_ERR_NOCONTEXT)?;
            table::swap(self.handle, &mut array)?;
            self.others.push_front(array);
        }
        Ok(())
    }
}
