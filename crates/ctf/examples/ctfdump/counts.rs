//! The number of events of each class.

use ctf::{
    Discarded, Event, MergeVisitor, NodeId, Packed, Packet, PacketError, StreamPlan, Visitor,
};

use super::{Lines, Report};

/// Counts events by the index of their class, without a look at their fields.
pub(super) struct Counts<'t> {
    pub(super) lines: Lines<'t>,
    /// The class of each stream, and the events of each of its event record classes.
    streams: Vec<(Option<&'t StreamPlan>, Vec<u64>)>,
}

impl<'t> Counts<'t> {
    pub(super) fn new(lines: Lines<'t>) -> Self {
        Self { lines, streams: Vec::new() }
    }

    /// The report with the numbers of events.
    pub(super) fn report(mut self) -> Report {
        (0..self.streams.len()).for_each(|stream| self.class(stream, None));
        self.lines.report
    }

    /// Adds up what was counted in a stream, which goes on with packets of this class.
    fn class(&mut self, stream: usize, next: Option<&'t StreamPlan>) {
        let Some((class, counts)) = self.streams.get_mut(stream) else { return };
        let events = class.map(StreamPlan::events).unwrap_or_default();
        for (event, count) in events.iter().zip(&*counts).filter(|(_, count)| **count > 0) {
            *self.lines.report.counts.entry(event.name.to_string()).or_default() += count;
        }
        *class = next;
        counts.clear();
        counts.resize(next.map_or(0, |class| class.events().len()), 0);
    }
}

impl<'t, 'a> MergeVisitor<'t, 'a> for Counts<'t> {
    fn packet(&mut self, n: usize, packet: &Packet<'t, 'a>, lost: Discarded) {
        if self.streams.len() <= n {
            self.streams.resize(n + 1, (None, Vec::new()));
        }
        let class = packet.stream();
        let same = |before: &StreamPlan| std::ptr::eq(before, class);
        if !self.streams.get(n).is_some_and(|(before, _)| before.is_some_and(same)) {
            self.class(n, Some(class));
        }
        self.lines.packet(n, packet, lost);
    }

    fn fault(&mut self, n: usize, fault: &PacketError) {
        self.lines.fault(n, fault);
    }

    #[inline]
    fn event(&mut self, n: usize, event: &Event<'t>, _: Option<i128>) {
        let counts = self.streams.get_mut(n).map(|(_, counts)| counts);
        if let Some(count) = counts.and_then(|counts| counts.get_mut(event.class.index)) {
            *count += 1;
        }
    }

    fn done(&mut self, _: usize) {}
}

impl<'a> Visitor<'a> for Counts<'_> {
    fn unsigned(&mut self, _: NodeId, _: u64) {}
    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
    fn packed(&mut self, _: NodeId, _: Packed<'a>) {}
}
