//! A value that is lent to a thread which may block, and comes back.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::confine::aside::spawn_blocking;

/// A value, or where it works and since when.
#[derive(Debug)]
pub struct Lent<T, O = ()> {
    here: Option<T>,
    away: Option<(JoinHandle<(T, O)>, Instant)>,
}

impl<T: Send + 'static, O: Send + 'static> Lent<T, O> {
    /// It is here.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { here: Some(value), away: None }
    }

    /// The value, if it is here.
    #[must_use]
    pub const fn here(&mut self) -> Option<&mut T> {
        self.here.as_mut()
    }

    /// How long it has been away.
    #[must_use]
    pub fn away(&self) -> Option<Duration> {
        self.away.as_ref().map(|(_, since)| since.elapsed())
    }

    /// Works with it on a thread that may block, if it is here.
    pub fn lend(&mut self, work: impl FnOnce(&mut T) -> O + Send + 'static) {
        let Some(mut value) = self.here.take() else { return };
        let work = spawn_blocking(move || {
            let done = work(&mut value);
            (value, done)
        });
        self.away = Some((work, Instant::now()));
    }

    /// Waits until it comes back; for ever if it is here. `None`: the work has panicked, and the value is lost.
    pub async fn back(&mut self) -> Option<O> {
        let Some((work, _)) = &mut self.away else { return std::future::pending().await };
        let back = work.await.ok();
        self.away = None;
        let (value, done) = back?;
        self.here = Some(value);
        Some(done)
    }
}
