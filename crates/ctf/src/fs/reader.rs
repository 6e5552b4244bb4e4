//! The events of all streams in time order.

use std::cmp::Reverse;
use std::path::Path;

use super::error::Error;
use super::files::TraceFiles;
use super::stream::StreamReader;
use crate::packet::Packet;
use crate::stream::{MergeVisitor, Run, Waiting};
use crate::trace::Trace;

/// Reads the events of all streams of a [`Session`](super::Session) in time order. Events of
/// streams without a clock come first. Events with the same time are ordered by stream number.
#[derive(Debug)]
pub struct Reader<'t> {
    streams: Vec<(&'t Trace, StreamReader<'t>)>,
    /// The current packet of each stream, without its bytes.
    packets: Vec<Option<Packet<'t, 'static>>>,
    /// The places of the packets that [`Self::read`] has lent, from 1 on; 0: it has not.
    places: Vec<usize>,
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
        let packets = streams.iter().map(|_| None).collect();
        let places = vec![0; streams.len()];
        Self { streams, packets, places, waiting: Waiting::new(), unknown }
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

    /// As [`Self::step`], but faster: reports up to `events` events, those before the end of the first
    /// packet that ends.
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
        if self.waiting.is_empty() {
            return Ok(false);
        }
        let mut left = events;
        let mut lent =
            Lent { streams: &self.streams, places: &mut self.places, packets: Vec::new() };
        while left > 0
            && let Some(Reverse((_, n))) = self.waiting.pop()
        {
            let other = self.waiting.peek();
            let read = lent.packet(n, &mut self.packets).map(|packet| {
                let (later, done) = Run::new(n, packet, other, visitor).read(packet, left)?;
                left -= done;
                Ok(match later {
                    None => packet.peek()?.map(|event| packet.time(&event)),
                    later => later,
                })
            });
            match read {
                Some(Ok(Some(later))) => {
                    self.waiting.push(Reverse((later, n)));
                    if !visitor.more() {
                        break;
                    }
                }
                Some(Ok(None)) | None => {
                    self.unknown.push(n);
                    break;
                }
                Some(Err(fault)) => {
                    self.unknown.push(n);
                    visitor.fault(n, &fault);
                    break;
                }
            }
        }
        let Lent { places, packets, .. } = lent;
        for (n, packet) in packets {
            if let (Some(slot), Some(place)) = (self.packets.get_mut(n), places.get_mut(n)) {
                (*slot, *place) = (Some(packet.detach()), 0);
            }
        }
        Ok(true)
    }

    /// Finds the next event of a stream, in later packets if necessary.
    fn advance<V>(&mut self, n: usize, visitor: &mut V) -> Result<(), Error>
    where
        V: for<'a> MergeVisitor<'t, 'a> + ?Sized,
    {
        let (Some((_, stream)), Some(slot)) = (self.streams.get_mut(n), self.packets.get_mut(n))
        else {
            return Ok(());
        };
        loop {
            if let Some(packet) = slot.take() {
                let mut packet = packet.attach(stream.packet_bytes());
                let peeked = packet.peek().map(|event| event.map(|event| packet.time(&event)));
                *slot = Some(packet.detach());
                match peeked {
                    Ok(Some(time)) => {
                        self.waiting.push(Reverse((time, n)));
                        return Ok(());
                    }
                    Ok(None) => {}
                    Err(error) => visitor.fault(n, &error),
                }
            }
            match stream.next_packet(slot.take()) {
                Ok(Some((packet, discarded))) => {
                    let packet = packet.attach(stream.packet_bytes());
                    visitor.packet(n, &packet, discarded);
                    *slot = Some(packet.detach());
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

/// Packets with their bytes, each from its first event on.
struct Lent<'t, 's> {
    streams: &'s [(&'t Trace, StreamReader<'t>)],
    places: &'s mut [usize],
    packets: Vec<(usize, Packet<'t, 's>)>,
}

impl<'t, 's> Lent<'t, 's> {
    /// The packet of a stream.
    #[inline]
    fn packet(
        &mut self,
        n: usize,
        packets: &mut [Option<Packet<'t, 'static>>],
    ) -> Option<&mut Packet<'t, 's>> {
        let place = self.places.get_mut(n)?;
        if *place == 0 {
            let packet = packets.get_mut(n)?.take()?;
            let bytes = self.streams.get(n)?.1.packet_bytes();
            self.packets.push((n, packet.attach(bytes)));
            *place = self.packets.len();
        }
        self.packets.get_mut(*place - 1).map(|(_, packet)| packet)
    }
}
