//! Events of many streams in time order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Next, Run, Stream};
use crate::error::PacketError;
use crate::packet::{Discarded, Event, Packet};
use crate::visit::Visitor;

/// Merged streams. Those without a clock come first.
#[derive(Debug, Default)]
pub struct Merge<'t, 'a> {
    streams: Vec<Stream<'t, 'a>>,
    waiting: Waiting,
    started: bool,
}

/// The next event of each stream: its time and the number of the stream, the earliest first.
pub(crate) type Waiting = BinaryHeap<Reverse<(i128, usize)>>;

/// Receives the packets and events of a [`Merge`] or of a `fs::Reader`. `stream` is the number of
/// the stream.
pub trait MergeVisitor<'t, 'a>: Visitor<'a> {
    /// A packet of a stream begins.
    fn packet(&mut self, stream: usize, packet: &Packet<'t, 'a>, lost: Discarded);

    /// A packet of a stream, or the rest of it, cannot be decoded. An event reported in part must
    /// be dropped.
    fn fault(&mut self, stream: usize, fault: &PacketError);

    /// An event begins; its fields follow. `nanoseconds` count from the origin of the stream's
    /// clock, if it has one.
    fn event(&mut self, stream: usize, event: &Event<'t>, nanoseconds: Option<i128>);

    /// All fields of the event have been reported.
    fn done(&mut self, stream: usize);

    /// Whether a reader that may report several events at once goes on to the next one. Called before
    /// each event, also before the first; `false` for the first one makes no progress.
    #[inline]
    fn more(&mut self) -> bool {
        true
    }
}

impl<'t, 'a> Merge<'t, 'a> {
    /// Merges streams. The index in `streams` is the number of a stream; events with the same time
    /// are ordered by this number.
    #[must_use]
    pub fn new(streams: Vec<Stream<'t, 'a>>) -> Self {
        Self { streams, ..Self::default() }
    }

    /// The stream with a number.
    #[must_use]
    pub fn stream(&self, n: usize) -> Option<&Stream<'t, 'a>> {
        self.streams.get(n)
    }

    /// Reports the next event; `false`: the end of all streams.
    pub fn step<S: MergeVisitor<'t, 'a> + ?Sized>(&mut self, sink: &mut S) -> bool {
        self.read(1, sink)
    }

    /// Reports all remaining events: as [`Self::step`] until the end, but faster.
    pub fn run<S: MergeVisitor<'t, 'a> + ?Sized>(&mut self, sink: &mut S) {
        while self.read(usize::MAX, sink) {}
    }

    /// Reports up to `events` events of one packet, those before the next event of the other streams.
    /// `false`: the end of all streams.
    fn read<S: MergeVisitor<'t, 'a> + ?Sized>(&mut self, events: usize, sink: &mut S) -> bool {
        if !std::mem::replace(&mut self.started, true) {
            (0..self.streams.len()).for_each(|n| self.wait(n, sink));
        }
        let Some(Reverse((_, n))) = self.waiting.pop() else { return false };
        if let Some(packet) = self.streams.get_mut(n).and_then(Stream::packet_mut) {
            match Run::new(n, packet, self.waiting.peek(), sink).read(packet, events) {
                Ok((Some(later), _)) => {
                    self.waiting.push(Reverse((later, n)));
                    return true;
                }
                Ok((None, _)) => {}
                Err(fault) => sink.fault(n, &fault),
            }
        }
        self.wait(n, sink);
        true
    }

    /// Finds the next event of a stream, in later packets if necessary.
    fn wait<S: MergeVisitor<'t, 'a> + ?Sized>(&mut self, n: usize, sink: &mut S) {
        let Some(stream) = self.streams.get_mut(n) else { return };
        loop {
            match stream.advance() {
                Ok(Next::Event(event)) => {
                    let time = stream.packet().map_or(i128::MIN, |packet| packet.time(&event));
                    return self.waiting.push(Reverse((time, n)));
                }
                Ok(Next::Packet(lost)) => {
                    if let Some(packet) = stream.packet() {
                        sink.packet(n, packet, lost);
                    }
                }
                Ok(Next::End) => return,
                Err(fault) => sink.fault(n, &fault),
            }
        }
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
