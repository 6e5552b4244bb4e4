//! Clients that a queue was told of when it was made and that have not fetched from it yet: events
//! wait for them.

/// Fetches of others, for each client that is expected, after which nobody is waited for any more.
/// One who is connected and never asks for the queue must not keep its events for ever: pmdabash
/// lets go of a shell when its queue is empty.
const PATIENCE: u32 = 16;

/// Who is expected to fetch from a queue.
#[derive(Debug)]
pub(super) struct Reserve {
    /// Contexts that were there when the queue was made, until they fetch or end.
    known: Vec<i32>,
    /// Events wait for them.
    waits: bool,
    /// More that were announced, whoever they may be.
    others: u32,
    patience: u32,
    /// Somebody has fetched.
    fetched: bool,
}

impl Reserve {
    /// `clients` are announced; `contexts` are those that are there. If these are more, nobody
    /// knows who is meant.
    pub(super) fn new(clients: u32, contexts: impl Iterator<Item = i32>) -> Self {
        let some = usize::try_from(clients).unwrap_or(usize::MAX);
        let mut known: Vec<i32> =
            if clients == 0 { Vec::new() } else { contexts.take(some.saturating_add(1)).collect() };
        if known.len() > some {
            known.clear();
        }
        let others = clients - u32::try_from(known.len()).unwrap_or(clients);
        Self {
            known,
            waits: true,
            others,
            patience: PATIENCE.saturating_mul(clients),
            fetched: false,
        }
    }

    pub(super) fn len(&self) -> u32 {
        let known = if self.waits { self.known.len() } else { 0 };
        self.others.saturating_add(u32::try_from(known).unwrap_or(u32::MAX))
    }

    /// `context` fetches; `true` if it was expected by name. Any other fetch is one that was
    /// announced, as in C.
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

    /// `context` is not expected any more; `true` if it was.
    pub(super) fn leave(&mut self, context: i32) -> bool {
        let before = self.known.len();
        self.known.retain(|known| *known != context);
        self.known.len() < before
    }

    /// No client is left: after the first fetch nobody is expected any more.
    pub(super) fn deserted(&mut self) {
        if self.fetched {
            self.end();
        }
    }

    /// Nobody is expected any more.
    pub(super) fn end(&mut self) {
        self.known.clear();
        self.others = 0;
    }
}
