//! Events of a queue decoded into an array, in one call. `capi` has a loop of its own, which differs
//! in what C asks for: nothing is locked or borrowed while a callback runs, a callback may leave or
//! release the array, and the decoder says how many records it has added.

use super::{Fetch, QueueError, Queues};
use crate::array::Array;
use crate::layout::Resolution;
use crate::types::stamp::Stamp;

/// The result of [`Queues::records`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// Events decoded into the array.
    pub events: usize,
    /// Events that this client has missed; the array ends with a MISSED record of that count.
    pub missed: u64,
}

impl<T: Copy, F: FnMut(&mut [u8]) -> bool> Queues<T, F> {
    /// Decodes the events that a client has not read into `array`, which is reset first. `decode`
    /// adds the records of one event; if it fails, its records are removed and the event is
    /// skipped, unless there was no memory for the array. If the array has no room for the number of
    /// missed events, the next call reports it.
    ///
    /// # Errors
    /// That of `decode`, if there are no records of events before; otherwise the next call begins
    /// with the failed event. The same for [`QueueError::NoMemory`].
    pub fn records<R: Resolution, E: From<QueueError>>(
        &mut self,
        handle: usize,
        context: i32,
        array: &mut Array<R>,
        now: Stamp,
        mut decode: impl FnMut(&mut Array<R>, &[u8], &T) -> Result<(), E>,
    ) -> Result<Fetched, E> {
        array.reset();
        let mut fetch = self.spare_of_records.take().unwrap_or_default();
        let begun = self.begin_in(&mut fetch, handle, context);
        if begun != Ok(true) {
            self.keep(fetch);
            return begun.map(|_| Fetched::default()).map_err(E::from);
        }
        let mut filter = fetch.filter.take();
        let (mut events, mut failed, mut going) = (0, None, true);
        while going {
            let Some((event, time)) = fetch.next() else {
                match self.more(&mut fetch) {
                    Ok(more) => going = more,
                    // What is decoded already is delivered now.
                    Err(e) => {
                        failed = array.is_empty().then(|| e.into());
                        break;
                    }
                }
                continue;
            };
            if filter.as_mut().is_some_and(|keeps| !keeps(event)) {
                fetch.cull();
                continue;
            }
            let checkpoint = array.checkpoint();
            let data = event.split_last().map_or(&[][..], |(_, data)| data);
            if let Err(e) = decode(array, data, &time) {
                let again = array.lacks_memory();
                // A decoder that resets the array removes the events before, too.
                let kept = array.rollback(checkpoint);
                failed = fetch.refuse(kept, !array.is_empty(), again).then_some(e);
                break;
            }
            events += 1;
        }
        let missed = match failed {
            None => fetch.report_missed(|count| array.add_missed(now, count)),
            Some(_) => 0,
        };
        fetch.filter = filter;
        self.finish_in(&mut fetch);
        self.keep(fetch);
        failed.map_or(Ok(Fetched { events, missed }), Err)
    }

    /// Keeps the memory of a fetch for the next.
    fn keep(&mut self, fetch: Fetch<T, F>) {
        self.spare_of_records = Some(fetch).filter(|fetch| fetch.batch.is_small());
    }
}
