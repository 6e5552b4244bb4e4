//! The clients of a queue and their positions.

use super::error::QueueError;

/// Whether a client wants an event. The argument is a copy of the event with a trailing NUL.
pub type QueueFilter = Box<dyn FnMut(&mut [u8]) -> bool + Send>;

/// Number of fetches without access after which no events are kept for a client.
pub(super) const PATIENCE: u32 = 16;

/// A client of a queue.
pub(super) struct Reader<F> {
    /// Sequence number of the first event not yet read; `None` before the first fetch.
    pub(super) cursor: Option<u64>,
    /// Events missed and not yet reported.
    pub(super) missed: u64,
    pub(super) access: bool,
    pub(super) filter: Option<F>,
    /// Whether a fetch owns the filter at the moment.
    pub(super) lent: bool,
    /// Number of fetches without access.
    pub(super) refused: u32,
}

impl<F> Default for Reader<F> {
    fn default() -> Self {
        Self { cursor: None, missed: 0, access: false, filter: None, lent: false, refused: 0 }
    }
}

impl<F> Reader<F> {
    /// A filter implies access, since it decides on each event itself, as in C.
    pub(super) const fn granted(&self) -> bool {
        self.access || self.filter.is_some() || self.lent
    }

    /// Sets another filter, or none. Returns the previous one, unless a fetch owns it.
    pub(super) fn set_filter(&mut self, filter: Option<F>) -> Option<F> {
        self.lent = false;
        std::mem::replace(&mut self.filter, filter)
    }
}

/// Readers by context, sorted: few, so a search takes less than that of a hash table.
pub(super) struct Readers<F> {
    sorted: Vec<(i32, Reader<F>)>,
    /// The place of a reader that has not read the oldest event, if it still is one.
    behind: usize,
}

impl<F> Default for Readers<F> {
    fn default() -> Self {
        Self { sorted: Vec::new(), behind: 0 }
    }
}

impl<F> Readers<F> {
    /// The place of a context's reader, or of a new one.
    #[inline(always)]
    pub(super) fn find(&self, context: i32) -> Result<usize, usize> {
        // pmcd numbers its contexts from 0: usually all below this one read the queue too.
        match usize::try_from(context).map(|place| (place, self.sorted.get(place))) {
            Ok((place, Some((found, _)))) if *found == context => Ok(place),
            _ => self.sorted.binary_search_by_key(&context, |(context, _)| *context),
        }
    }

    #[inline]
    pub(super) fn get(&self, context: i32) -> Option<&Reader<F>> {
        self.sorted.get(self.find(context).ok()?).map(|(_, reader)| reader)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, context: i32) -> Option<&mut Reader<F>> {
        let at = self.find(context).ok()?;
        self.sorted.get_mut(at).map(|(_, reader)| reader)
    }

    /// The reader of a context; a new one has no access.
    pub(super) fn entry(&mut self, context: i32) -> Result<&mut Reader<F>, QueueError> {
        self.at(context, self.find(context))
    }

    /// The reader of a context, whose place was found just now.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "a reader was found or inserted there")]
    pub(super) fn at(
        &mut self,
        context: i32,
        place: Result<usize, usize>,
    ) -> Result<&mut Reader<F>, QueueError> {
        let at = match place {
            Ok(at) => at,
            Err(at) => self.insert(at, context)?,
        };
        Ok(&mut self.sorted[at].1)
    }

    #[cold]
    fn insert(&mut self, at: usize, context: i32) -> Result<usize, QueueError> {
        self.sorted.try_reserve(1).map_err(|_| QueueError::NoMemory)?;
        self.sorted.insert(at, (context, Reader::default()));
        Ok(at)
    }

    pub(super) fn remove(&mut self, context: i32) -> Option<Reader<F>> {
        self.find(context).ok().map(|at| self.sorted.remove(at).1)
    }

    /// Whether a reader with access has not read the event `first`. It is looked for from the one
    /// that was found last: usually that one, or the next after it has read.
    #[inline]
    pub(super) fn is_one_behind(&mut self, first: u64) -> bool {
        let is_behind = |(_, reader): &(i32, Reader<F>)| {
            reader.cursor.is_some_and(|cursor| cursor <= first) && reader.granted()
        };
        if self.sorted.get(self.behind).is_some_and(is_behind) {
            return true;
        }
        let (before, after) = self.sorted.split_at(self.behind.min(self.sorted.len()));
        let found = after.iter().position(is_behind).map(|place| before.len() + place);
        match found.or_else(|| before.iter().position(is_behind)) {
            Some(place) => {
                self.behind = place;
                true
            }
            None => false,
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (i32, &Reader<F>)> {
        self.sorted.iter().map(|(context, reader)| (*context, reader))
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Reader<F>> {
        self.sorted.iter_mut().map(|(_, reader)| reader)
    }
}
