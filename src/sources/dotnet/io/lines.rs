//! The requests of one process that are under way.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use super::exchange::{Exchanged, exchange};
use super::found::Found;
use crate::net::guard::Guard;
use crate::sources::dotnet::ipc::Request;
use crate::sources::dotnet::session::{Failure, Line};

type Outcome = Result<Exchanged, Failure>;
type Pending = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Requests that have no answer yet, one for each line at most.
pub(super) struct Lines {
    under_way: Vec<(Line, Pending)>,
    guard: Arc<Guard>,
}

impl Lines {
    pub(super) const fn new(guard: Arc<Guard>) -> Self {
        Self { under_way: Vec::new(), guard }
    }

    /// Sends a request on a line.
    pub(super) fn send(&mut self, line: Line, found: Found, request: Request) {
        self.close(line);
        let guard = Arc::clone(&self.guard);
        self.under_way.push((line, Box::pin(exchange(found, request, guard))));
    }

    /// Closes a line.
    pub(super) fn close(&mut self, line: Line) {
        self.under_way.retain(|(other, _)| *other != line);
        if self.under_way.is_empty() {
            // Most processes have nothing under way for days.
            self.under_way = Vec::new();
        }
    }

    /// Waits for the next answer. Cancel-safe.
    pub(super) async fn next(&mut self) -> (Line, Outcome) {
        poll_fn(|context| {
            for (i, (line, future)) in self.under_way.iter_mut().enumerate() {
                if let Poll::Ready(outcome) = future.as_mut().poll(context) {
                    let line = *line;
                    drop(self.under_way.swap_remove(i));
                    return Poll::Ready((line, outcome));
                }
            }
            Poll::Pending
        })
        .await
    }
}
