//! The events of all streams in time order.

use std::cmp::Reverse;
use std::path::Path;

use super::error::Error;
use super::files::TraceFiles;
use super::stream::StreamReader;
use crate::stream::{MergeVisitor, Run, Waiting};
use crate::trace::Trace;

/// Reads the events of all streams of a [`Session`](super::Session) in time order. Events of
/// streams without a clock come first. Events with the same time are ordered by stream number.
#[derive(Debug)]
pub struct Reader<'t> {
    streams: Vec<(&'t Trace, StreamReader<'t>)>,
    /// Streams whose next event is known.
    waiting: Waiting,
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
        let unknown = (0..streams.len()).rev().collect();
        Self { streams, waiting: Waiting::new(), unknown }
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
        self.read(1, visitor)
    }

    /// As [`Self::step`], but faster: reports up to `events` events, those of one packet that come
    /// before the next event of the other streams.
    ///
    /// # Errors
    /// As of [`Self::step`].
    pub fn read<V>(&mut self, events: usize, visitor: &mut V) -> Result<bool, Error>
    where
        V: for<'a> MergeVisitor<'t, 'a> + ?Sized,
    {
        while let Some(n) = self.unknown.pop() {
            self.advance(n, visitor)?;
        }
        let Some(Reverse((_, n))) = self.waiting.pop() else { return Ok(false) };
        let (other, stream) = (self.waiting.peek(), self.streams.get_mut(n));
        let read = stream.and_then(|(_, stream)| {
            stream.with(|packet| Run::new(n, packet, other, visitor).read(packet, events))
        });
        match read {
            Some(Ok(Some(later))) => self.waiting.push(Reverse((later, n))),
            Some(Ok(None)) | None => self.unknown.push(n),
            Some(Err(fault)) => {
                self.unknown.push(n);
                visitor.fault(n, &fault);
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
                Ok(Some(time)) => {
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
