//! Events of one stream that come before those of the others.

use std::cmp::Reverse;

use super::MergeVisitor;
use crate::error::PacketError;
use crate::packet::{Event, EventVisitor, Packet};
use crate::plan::NodeId;
use crate::schema::ClockClass;
use crate::visit::{Packed, Visitor};

/// Reports the events of a packet up to a time. Between them no other stream advances.
pub(crate) struct Run<'t, 's, S: ?Sized> {
    stream: usize,
    clock: Option<&'t ClockClass>,
    /// The last time that is not after the next event of the other streams.
    until: i128,
    /// The time of the latest event; the least if there is no clock.
    time: i128,
    /// Events so far.
    done: usize,
    sink: &'s mut S,
}

impl<'t, 's, S: ?Sized> Run<'t, 's, S> {
    /// The events of a stream that come before the first of the `other` streams' events.
    pub(crate) fn new(
        stream: usize,
        packet: &Packet<'t, '_>,
        other: Option<&Reverse<(i128, usize)>>,
        sink: &'s mut S,
    ) -> Self {
        let until = match other {
            Some(Reverse((time, other))) if stream < *other => *time,
            Some(Reverse((time, _))) => time.saturating_sub(1),
            None => i128::MAX,
        };
        let clock = packet.trace().clock(packet.stream());
        Self { stream, clock, until, time: i128::MIN, done: 0, sink }
    }

    /// Reports up to `events` events. Returns the time of the next event if it is known, that of one
    /// that comes after the other streams' event, and the number of reported events.
    ///
    /// # Errors
    /// As of [`Packet::read_at_most`].
    #[inline]
    pub(crate) fn read<'a>(
        mut self,
        packet: &mut Packet<'t, 'a>,
        events: usize,
    ) -> Result<(Option<i128>, usize), PacketError>
    where
        S: MergeVisitor<'t, 'a>,
    {
        packet.read_at_most(events, &mut self)?;
        Ok((Some(self.time).filter(|time| *time > self.until), self.done))
    }
}

impl<'t, 'a, S: MergeVisitor<'t, 'a> + ?Sized> EventVisitor<'t, 'a> for Run<'t, '_, S> {
    #[inline(always)]
    fn ready(&mut self, event: &Event<'t>) -> bool {
        if let Some(clock) = self.clock {
            self.time = clock.nanoseconds(event.cycles);
        }
        self.time <= self.until && self.sink.more()
    }

    #[inline(always)]
    fn event(&mut self, event: &Event<'t>) -> bool {
        self.sink.event(self.stream, event, self.clock.map(|_| self.time));
        true
    }

    #[inline(always)]
    fn done(&mut self) {
        self.done += 1;
        self.sink.done(self.stream);
    }
}

impl<'a, S: Visitor<'a> + ?Sized> Visitor<'a> for Run<'_, '_, S> {
    #[inline(always)]
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.sink.unsigned(node, value);
    }

    #[inline(always)]
    fn signed(&mut self, node: NodeId, value: i64) {
        self.sink.signed(node, value);
    }

    #[inline(always)]
    fn float(&mut self, node: NodeId, value: f64) {
        self.sink.float(node, value);
    }

    #[inline(always)]
    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.sink.string(node, value);
    }

    #[inline(always)]
    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.sink.blob(node, value);
    }

    #[inline(always)]
    fn packed(&mut self, node: NodeId, items: Packed<'a>) {
        self.sink.packed(node, items);
    }

    #[inline(always)]
    fn open(&mut self, node: NodeId, count: u64) {
        self.sink.open(node, count);
    }

    #[inline(always)]
    fn close(&mut self, node: NodeId) {
        self.sink.close(node);
    }
}
