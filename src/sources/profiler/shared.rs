//! What all connections of the collector have together.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::limits;
use super::records::pending::Budget;
use super::words::Words;
use super::words::cache::{Jvm, Kept};
use super::words::interner::Interner;
use crate::model::Memory;

/// Words, dictionaries of those that may come back, and the room for calls that wait for names.
#[derive(Debug)]
pub struct Shared {
    pub(super) interner: Arc<Interner>,
    pub(super) waiting: Arc<Budget>,
    kept: Mutex<Kept>,
}

impl Shared {
    /// For words of at most `max` bytes in all.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self::within(max, &Arc::default())
    }

    /// The same, as far as a budget of memory goes.
    #[must_use]
    pub fn within(max: usize, memory: &Arc<Memory>) -> Self {
        let kept = Mutex::new(Kept::new(limits::KEPT_TEXT.min(max / 4)));
        Self {
            interner: Arc::new(Interner::within(max, memory)),
            waiting: Arc::new(Budget::new(memory)),
            kept,
        }
    }

    /// The connection of a JVM has gone, but the JVM has not.
    pub(super) fn keep(&self, now: Duration, jvm: Jvm, words: Words) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(now, jvm, words);
    }

    /// The dictionary of the JVM's last connection.
    pub(super) fn take(&self, now: Duration, jvm: &Jvm) -> Option<Words> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take(now, jvm)
    }

    /// Time has passed.
    pub(super) fn tick(&self, now: Duration) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).expire(now);
    }
}
