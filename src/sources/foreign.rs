//! Events that one source receives and another one understands: who understands a provider's events
//! offers to read them, and who receives them asks for a reader.

use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{Now, Stamp};

/// An event of a foreign provider.
#[derive(Clone, Copy, Debug)]
pub struct ForeignEvent<'a> {
    /// As [`ForeignFeed::class`] gave it.
    pub class: u32,
    /// Process id as the process sees it; `None`: the event does not tell it.
    pub process: Option<u64>,
    /// Thread id as the process sees it; 0: not told.
    pub thread: u64,
    /// Wall clock.
    pub stamp: Stamp,
    /// The fields in their order without padding: integers and floats little-endian, texts as
    /// UTF-16 with a NUL; or the bytes that the event has instead of fields.
    pub payload: &'a [u8],
}

/// Receives the events of one trace. They come in the order of packets, not of time. The feed ends
/// when it is dropped.
pub trait ForeignFeed: Send {
    /// A class of events by its name without provider. `None`: nobody wants its events.
    fn class(&mut self, name: &str) -> Option<u32>;

    /// An event.
    fn event(&mut self, now: Now, event: &ForeignEvent<'_>);
}

/// Reads the events of a provider.
pub trait ForeignReader: Send + Sync {
    /// A trace of a host begins.
    fn open(&self, host: &str) -> Box<dyn ForeignFeed>;
}

/// The readers of all sources by provider.
#[derive(Clone, Default)]
pub struct ForeignReaders(Arc<Mutex<Vec<Offer>>>);

/// A provider and its reader.
type Offer = (&'static str, Arc<dyn ForeignReader>);

impl ForeignReaders {
    /// Offers to read the events of a provider.
    pub fn offer(&self, provider: &'static str, reader: Arc<dyn ForeignReader>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((provider, reader));
    }

    /// The reader of a provider's events.
    #[must_use]
    pub fn of(&self, provider: &str) -> Option<Arc<dyn ForeignReader>> {
        let offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        offers.iter().find(|(name, _)| *name == provider).map(|(_, reader)| Arc::clone(reader))
    }
}

impl std::fmt::Debug for ForeignReaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForeignReaders")
    }
}
