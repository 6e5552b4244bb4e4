//! The requests of one process that are under way.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::exchange::{Exchanged, exchange};
use super::found::Found;
use crate::sources::dotnet::ipc::Request;
use crate::sources::dotnet::session::{Failure, Line};

type Outcome = Result<Exchanged, Failure>;
type Pending = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Requests that have no answer yet, one for each line at most.
#[derive(Default)]
pub(super) struct Lines(Vec<(Line, Pending)>);

impl Lines {
    /// Sends a request on a line.
    pub(super) fn send(&mut self, line: Line, found: Found, request: Request) {
        self.close(line);
        self.0.push((line, Box::pin(exchange(found, request))));
    }

    /// Closes a line.
    pub(super) fn close(&mut self, line: Line) {
        self.0.retain(|(other, _)| *other != line);
        if self.0.is_empty() {
            // Most processes have nothing under way for days.
            self.0 = Vec::new();
        }
    }

    /// Waits for the next answer. Cancel-safe.
    pub(super) async fn next(&mut self) -> (Line, Outcome) {
        poll_fn(|context| {
            for (i, (line, future)) in self.0.iter_mut().enumerate() {
                if let Poll::Ready(outcome) = future.as_mut().poll(context) {
                    let line = *line;
                    drop(self.0.swap_remove(i));
                    return Poll::Ready((line, outcome));
                }
            }
            Poll::Pending
        })
        .await
    }
}
