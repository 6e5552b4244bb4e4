//! Streams: consecutive packets in memory, as in the files of a trace.

mod merge;
mod run;

pub(crate) use merge::Waiting;
pub use merge::{Merge, MergeVisitor};
pub(crate) use run::Run;

use crate::error::{PacketError, Violation};
use crate::packet::{DiscardTracker, Discarded};
use crate::packet::{Event, Packet, PacketInfo};
use crate::trace::Trace;
use crate::visit::Visitor;

/// A stream that is decoded packet by packet.
#[derive(Clone, Debug)]
pub struct Stream<'t, 'a> {
    trace: &'t Trace,
    bytes: &'a [u8],
    /// Bytes before the current packet.
    offset: usize,
    packet: Option<Packet<'t, 'a>>,
    clock: u64,
    losses: DiscardTracker,
}

/// The next item of a stream.
#[derive(Clone, Debug)]
pub enum Next<'t> {
    /// A packet begins; these events and packets were discarded before it.
    Packet(Discarded),
    /// An event, for [`Stream::visit`].
    Event(Event<'t>),
    /// The end of the stream.
    End,
}

impl<'t, 'a> Stream<'t, 'a> {
    /// The stream at its first packet.
    #[must_use]
    pub fn new(trace: &'t Trace, bytes: &'a [u8]) -> Self {
        Self { trace, bytes, offset: 0, packet: None, clock: 0, losses: DiscardTracker::default() }
    }

    /// Appends more bytes of the same stream after [`Next::End`]: the next file, or the next packet
    /// of a live session.
    pub fn append(&mut self, bytes: &'a [u8]) {
        (self.bytes, self.offset) = (bytes, 0);
    }

    /// The packet of the latest event.
    #[must_use]
    pub const fn packet(&self) -> Option<&Packet<'t, 'a>> {
        self.packet.as_ref()
    }

    fn packet_mut(&mut self) -> Option<&mut Packet<'t, 'a>> {
        self.packet.as_mut()
    }

    /// Bytes before the current packet.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Advances to the next packet or event.
    ///
    /// # Errors
    /// [`PacketError`]: the rest of a packet is lost; the next call continues with the next packet.
    /// A packet of unknown size ends the stream.
    #[inline]
    pub fn advance(&mut self) -> Result<Next<'t>, PacketError> {
        if let Some(packet) = &mut self.packet
            && let Some(event) = packet.peek()?
        {
            return Ok(Next::Event(event));
        }
        self.next_packet()
    }

    /// Reports the fields of the event returned by [`Self::advance`].
    ///
    /// # Errors
    /// [`PacketError`], as of [`Packet::visit`].
    #[inline]
    pub fn visit<V: Visitor<'a> + ?Sized>(&mut self, visitor: &mut V) -> Result<(), PacketError> {
        match &mut self.packet {
            Some(packet) => packet.visit(visitor),
            None => Ok(()),
        }
    }

    fn next_packet(&mut self) -> Result<Next<'t>, PacketError> {
        let mut offset = self.offset;
        if let Some(packet) = self.packet.take() {
            self.clock = packet.clock();
            let bytes = usize::try_from(packet.info().packet_bits / 8).unwrap_or(usize::MAX);
            offset = offset.saturating_add(bytes);
        }
        // An error below ends the stream: the start of its next packet is unknown.
        self.offset = self.bytes.len();
        let rest = self.bytes.get(offset..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(Next::End);
        }
        let packet = Packet::open(self.trace, rest, self.clock)?;
        let (here, info) = (rest.len() as u64 * 8, packet.info());
        if info.packet_bits > here || info.packet_bits == 0 {
            let violation = Violation::Size { got: info.packet_bits, max: here };
            return Err(PacketError {
                bit: 0,
                field: "stream.packet.context.packet_size".into(),
                violation,
            });
        }
        let lost = self.losses.packet(info);
        self.offset = offset;
        self.packet = Some(packet);
        Ok(Next::Packet(lost))
    }

    /// The values of the current packet's header and context.
    #[must_use]
    pub fn info(&self) -> Option<&PacketInfo> {
        self.packet.as_ref().map(Packet::info)
    }
}
