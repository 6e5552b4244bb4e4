//! Requests from the PMDA thread to the task of a peer's connection.

use std::sync::{Mutex, PoisonError};

use crate::contract::Control;

/// Most requests waiting for one peer.
const REQUESTS_MAX: usize = 64;

/// A bounded queue that wakes its reader.
pub struct RequestQueue {
    queue: Mutex<Vec<Control>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for RequestQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestQueue").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl RequestQueue {
    /// `wake` is called after each post and must not block.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { queue: Mutex::default(), wake: Box::new(wake) }
    }

    /// Queues a request; `false` if the queue is full.
    pub fn post(&self, request: Control) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= REQUESTS_MAX {
            return false;
        }
        queue.push(request);
        drop(queue);
        (self.wake)();
        true
    }

    /// Takes all queued requests, oldest first.
    pub fn take(&self) -> Vec<Control> {
        std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
