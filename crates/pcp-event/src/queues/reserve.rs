//! The clients expected since a queue was created that have not fetched yet: events are kept for
//! them.

use super::error::QueueError;

/// Fetches of other clients, for each expected client, after which no client is expected any more.
/// A connected client that never fetches must not keep events for ever: pmdabash forgets a shell
/// when its queue is empty.
const PATIENCE: u32 = 16;

/// The clients that are expected to fetch from a queue.
#[derive(Debug)]
pub(super) struct Reserve {
    /// Contexts that existed when the queue was made, until they fetch or end.
    known: Vec<i32>,
    /// Whether events are kept for them.
    waits: bool,
    /// Number of expected clients with unknown contexts.
    others: u32,
    patience: u32,
    /// Whether a client has fetched.
    fetched: bool,
}

impl Reserve {
    /// Expects `clients` clients. `contexts` are the known ones; if these are more, any of them may
    /// be expected ones.
    pub(super) fn new(
        clients: u32,
        contexts: impl Iterator<Item = i32> + Clone,
    ) -> Result<Self, QueueError> {
        let some = usize::try_from(clients).unwrap_or(usize::MAX);
        let mut known: Vec<i32> = Vec::new();
        let count = contexts.clone().take(some.saturating_add(1)).count();
        if count <= some {
            known.try_reserve_exact(count).map_err(|_| QueueError::NoMemory)?;
            known.extend(contexts);
        }
        let others = clients - u32::try_from(known.len()).unwrap_or(clients);
        Ok(Self {
            known,
            waits: true,
            others,
            patience: PATIENCE.saturating_mul(clients),
            fetched: false,
        })
    }

    pub(super) fn len(&self) -> u32 {
        let known = if self.waits { self.known.len() } else { 0 };
        self.others.saturating_add(u32::try_from(known).unwrap_or(u32::MAX))
    }

    /// Whether no client is expected.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.others == 0 && (!self.waits || self.known.is_empty())
    }

    /// Records a fetch of `context`. `true`: it was known and expected. Any other fetch counts for
    /// an unknown expected client, as in C.
    #[inline]
    pub(super) fn fetched(&mut self, context: i32) -> bool {
        self.fetched = true;
        (self.others > 0 || !self.known.is_empty()) && self.one_less(context)
    }

    #[cold]
    fn one_less(&mut self, context: i32) -> bool {
        if self.leave(context) {
            return true;
        }
        self.others = self.others.saturating_sub(1);
        self.patience = self.patience.saturating_sub(1);
        if self.patience == 0 {
            (self.waits, self.others) = (false, 0);
        }
        false
    }

    /// Stops expecting `context`; `true` if it was expected.
    pub(super) fn leave(&mut self, context: i32) -> bool {
        let before = self.known.len();
        self.known.retain(|known| *known != context);
        self.known.len() < before
    }

    /// Called when no client is left: after the first fetch no more are expected.
    pub(super) fn deserted(&mut self) {
        if self.fetched {
            self.end();
        }
    }

    /// Expects no more clients.
    pub(super) fn end(&mut self) {
        self.known.clear();
        self.others = 0;
    }
}
