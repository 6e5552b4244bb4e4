//! The events of all streams in time order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use super::error::Error;
use super::files::TraceFiles;
use super::stream::StreamReader;
use crate::packet::Event;
use crate::stream::MergeVisitor;
use crate::trace::Trace;

/// Reads the events of all streams of a [`Session`](super::Session) in time order. Events of
/// streams without a clock come first. Events with the same time are ordered by stream number.
#[derive(Debug)]
pub struct Reader<'t> {
    streams: Vec<(&'t Trace, StreamReader<'t>)>,
    /// Streams whose next event is known, by its time and their number.
    waiting: BinaryHeap<Reverse<(Option<i128>, usize)>>,
    /// The event of each waiting stream.
    next: Vec<Option<Event<'t>>>,
    /// Streams whose next event is not known: all at first, then the stream of the last event.
    unknown: Vec<usize>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(traces: &'t [TraceFiles]) -> Self {
        let streams: Vec<_> = traces
            .iter()
            .flat_map(|files| files.streams.iter().map(move |stream| (&files.trace, stream)))
            .map(|(trace, stream)| (trace, StreamReader::new(trace, stream)))
            .collect();
        let (next, unknown) = (vec![None; streams.len()], (0..streams.len()).rev().collect());
        Self { streams, waiting: BinaryHeap::new(), next, unknown }
    }

    /// The trace of a stream and its first file. Streams are numbered in the order of
    /// [`Session::traces`](super::Session::traces).
    #[must_use]
    pub fn stream(&self, n: usize) -> Option<(&'t Trace, &'t Path)> {
        self.streams.get(n).map(|(trace, stream)| (*trace, stream.name()))
    }

    /// Reports the next event, after the packets that begin before it. `false`: the end of all
    /// streams.
    ///
    /// Malformed packets are reported to [`MergeVisitor::fault`].
    ///
    /// # Errors
    /// [`Error::Io`]: a file cannot be read. The rest of the file is lost; the next call continues
    /// with the other streams.
    pub fn step<V>(&mut self, visitor: &mut V) -> Result<bool, Error>
    where
        V: for<'a> MergeVisitor<'t, 'a> + ?Sized,
    {
        while let Some(n) = self.unknown.pop() {
            self.advance(n, visitor)?;
        }
        let Some(Reverse((time, n))) = self.waiting.pop() else { return Ok(false) };
        self.unknown.push(n);
        let event = self.next.get_mut(n).and_then(Option::take);
        if let (Some(event), Some((_, stream))) = (event, self.streams.get_mut(n)) {
            visitor.event(n, &event, time);
            match stream.visit(visitor) {
                Ok(()) => visitor.done(n),
                Err(error) => visitor.fault(n, &error),
            }
        }
        Ok(true)
    }

    /// Finds the next event of a stream, in later packets if necessary.
    fn advance<V>(&mut self, n: usize, visitor: &mut V) -> Result<(), Error>
    where
        V: for<'a> MergeVisitor<'t, 'a> + ?Sized,
    {
        let Some((_, stream)) = self.streams.get_mut(n) else { return Ok(()) };
        loop {
            match stream.peek() {
                Ok(Some((time, event))) => {
                    if let Some(next) = self.next.get_mut(n) {
                        *next = Some(event);
                    }
                    self.waiting.push(Reverse((time, n)));
                    return Ok(());
                }
                Ok(None) => {}
                Err(error) => visitor.fault(n, &error),
            }
            match stream.next_packet() {
                Ok(Some(discarded)) => {
                    if let Some(packet) = stream.packet() {
                        visitor.packet(n, &packet, discarded);
                    }
                }
                Ok(None) => return Ok(()),
                Err(Error::Packet { error, .. }) => visitor.fault(n, &error),
                Err(error) => {
                    self.unknown.push(n);
                    return Err(error);
                }
            }
        }
    }
}
