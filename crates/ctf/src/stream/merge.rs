//! Events of many streams in time order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Next, Stream};
use crate::error::PacketError;
use crate::packet::Discarded;
use crate::packet::{Event, Packet};
use crate::visit::Visitor;

/// Merged streams. Those without a clock come first.
#[derive(Debug, Default)]
pub struct Merge<'t, 'a> {
    streams: Vec<Stream<'t, 'a>>,
    /// Time of the next event of each stream except the current one.
    waiting: BinaryHeap<Reverse<(i128, usize)>>,
    /// The stream with the earliest event, and its time.
    current: Option<(usize, i128, Event<'t>)>,
    next: Vec<Option<Event<'t>>>,
    started: bool,
}

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
}

impl<'t, 'a> Merge<'t, 'a> {
    /// Merges streams. The index in `streams` is the number of a stream; events with the same time
    /// are ordered by this number.
    #[must_use]
    pub fn new(streams: Vec<Stream<'t, 'a>>) -> Self {
        let next = streams.iter().map(|_| None).collect();
        Self { streams, next, ..Self::default() }
    }

    /// The stream with a number.
    #[must_use]
    pub fn stream(&self, n: usize) -> Option<&Stream<'t, 'a>> {
        self.streams.get(n)
    }

    /// Reports the next event; `false`: the end of all streams.
    pub fn step<S: MergeVisitor<'t, 'a> + ?Sized>(&mut self, sink: &mut S) -> bool {
        self.start(sink);
        let Some((n, time, event)) = self.current.take().or_else(|| self.earliest()) else {
            return false;
        };
        let Some(stream) = self.streams.get_mut(n) else { return false };
        tell(stream, n, time, &event, sink);
        if let Some((time, event)) = next(stream, n, sink) {
            // Usually the same stream has the next event.
            match self.waiting.peek() {
                Some(Reverse(other)) if *other < (time, n) => self.wait(n, time, event),
                _ => self.current = Some((n, time, event)),
            }
        }
        true
    }

    /// Reports all remaining events: as [`Self::step`] until the end, but faster.
    pub fn run<S: MergeVisitor<'t, 'a> + ?Sized>(&mut self, sink: &mut S) {
        self.start(sink);
        while let Some((n, mut time, mut event)) = self.current.take().or_else(|| self.earliest()) {
            let limit = self.waiting.peek().map(|Reverse(other)| *other);
            let Some(stream) = self.streams.get_mut(n) else { return };
            // No other stream advances meanwhile, so the limit is constant.
            loop {
                tell(stream, n, time, &event, sink);
                match next(stream, n, sink) {
                    None => break,
                    Some(later) if limit.is_some_and(|limit| limit < (later.0, n)) => {
                        self.wait(n, later.0, later.1);
                        break;
                    }
                    Some(later) => (time, event) = later,
                }
            }
        }
    }

    fn start<S: MergeVisitor<'t, 'a> + ?Sized>(&mut self, sink: &mut S) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        for n in 0..self.streams.len() {
            if let Some((time, event)) =
                self.streams.get_mut(n).and_then(|stream| next(stream, n, sink))
            {
                self.wait(n, time, event);
            }
        }
    }

    fn wait(&mut self, n: usize, time: i128, event: Event<'t>) {
        self.waiting.push(Reverse((time, n)));
        if let Some(next) = self.next.get_mut(n) {
            *next = Some(event);
        }
    }

    fn earliest(&mut self) -> Option<(usize, i128, Event<'t>)> {
        let Reverse((time, n)) = self.waiting.pop()?;
        Some((n, time, self.next.get_mut(n)?.take()?))
    }
}

/// Reports an event and its fields.
#[inline(always)]
fn tell<'t, 'a, S: MergeVisitor<'t, 'a> + ?Sized>(
    stream: &mut Stream<'t, 'a>,
    n: usize,
    time: i128,
    event: &Event<'t>,
    sink: &mut S,
) {
    sink.event(n, event, Some(time).filter(|time| *time != i128::MIN));
    match stream.visit(sink) {
        Ok(()) => sink.done(n),
        Err(fault) => sink.fault(n, &fault),
    }
}

/// The next event of a stream and its time.
#[inline(always)]
fn next<'t, 'a, S: MergeVisitor<'t, 'a> + ?Sized>(
    stream: &mut Stream<'t, 'a>,
    n: usize,
    sink: &mut S,
) -> Option<(i128, Event<'t>)> {
    loop {
        match stream.advance() {
            Ok(Next::Event(event)) => {
                let packet = stream.packet()?;
                let clock = packet.trace().clock(packet.stream());
                return Some((
                    clock.map_or(i128::MIN, |clock| clock.nanoseconds(event.cycles)),
                    event,
                ));
            }
            Ok(Next::Packet(lost)) => {
                if let Some(packet) = stream.packet() {
                    sink.packet(n, packet, lost);
                }
            }
            Ok(Next::End) => return None,
            Err(fault) => sink.fault(n, &fault),
        }
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
