//! Packets: header, context, events.

mod counter;
mod discarded;
mod found;
mod info;
mod quick;

pub use counter::Counter;
pub use discarded::{DiscardTracker, Discarded};
use found::Found;
pub use info::PacketInfo;

use crate::error::{PacketError, Violation};
use crate::plan::{Checkpoint, Cursor, DecodeError, NodeId, Nodes, advance, run};
use crate::plan::{IdVisitor, Layout};
use crate::schema::Scope;
use crate::trace::{EventPlan, StreamPlan, Trace};
use crate::visit::{Nobody, Visitor};

/// Magic number, the first field of a packet header.
const MAGIC: u64 = 0xc1fc_1fc1;

/// The header of an event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'t> {
    /// The event record class.
    pub class: &'t EventPlan,
    /// The clock of the stream after the event record header, in cycles.
    pub cycles: u64,
    /// Bits of the packet before the event.
    pub bit: u64,
}

/// A packet that is being decoded. Reported strings borrow from its bytes.
#[derive(Clone, Debug)]
pub struct Packet<'t, 'a> {
    trace: &'t Trace,
    stream: &'t StreamPlan,
    info: PacketInfo,
    cursor: Cursor<'a>,
    /// The position at the start of the packet context.
    before_context: Checkpoint,
    next: Option<Event<'t>>,
    /// The class of the latest event: often that of the next one, too. While it is, the position of
    /// an event does not depend on a lookup by the id of the event before.
    latest: Option<&'t EventPlan>,
}

/// A place between two events of a packet: see [`Packet::mark`].
#[derive(Clone, Copy, Debug)]
pub struct Mark(Checkpoint);

impl<'t, 'a> Packet<'t, 'a> {
    /// Decodes the packet header and the packet context at the front of `bytes`; bytes of later
    /// packets may follow. `clock` is [`Self::clock`] after the previous packet of the stream, 0
    /// before the first.
    ///
    /// # Errors
    /// [`PacketError`]: the bytes are not a packet of this trace, or its content is incomplete.
    pub fn open(trace: &'t Trace, bytes: &'a [u8], clock: u64) -> Result<Self, PacketError> {
        let Start { mut cursor, found, index, stream, before_context, foreign } =
            Start::read(trace, bytes, clock)?;
        let here = (bytes.len() as u64).saturating_mul(8);
        let size = found.packet_bits().unwrap_or(here);
        let content = found.content_size.unwrap_or(size);
        for (bad, got, max) in [
            (content > size, content, size),
            (content > here, content, here),
            (content < cursor.bit, content, cursor.bit),
        ] {
            if bad {
                let violation = Violation::Size { got, max };
                return Err(error(&cursor, "stream.packet.context.content_size", violation));
            }
        }
        check_packet_size(&cursor, size)?;
        cursor.end = content;
        cursor.data = content_of(bytes, content);
        let begin = stream.context.code.clocked.then_some(cursor.clock);
        let info = PacketInfo {
            stream: index,
            stream_id: found.stream,
            foreign,
            begin,
            end: found.end.map(|end| advance(begin.unwrap_or_default(), end.value, end.bits)),
            content_bits: content,
            packet_bits: size,
            sequence: found.sequence,
            discarded: found.discarded,
        };
        Ok(Self { trace, stream, info, cursor, before_context, next: None, latest: None })
    }

    /// The size in bytes of the packet at the front of `bytes`, which must include its header and
    /// context. `None`: the packet has no size and extends to the end of the stream.
    ///
    /// Readers of files and sockets call it to learn how many bytes [`Self::open`] needs.
    ///
    /// # Errors
    /// [`PacketError`]: the bytes are not a packet of this trace. If [`PacketError::is_short`],
    /// more bytes are needed.
    pub fn size(trace: &Trace, bytes: &[u8]) -> Result<Option<u64>, PacketError> {
        let Start { cursor, found, .. } = Start::read(trace, bytes, 0)?;
        let Some(bits) = found.packet_bits() else { return Ok(None) };
        check_packet_size(&cursor, bits)?;
        Ok(Some(bits / 8))
    }

    /// The packet without its bytes; [`Self::attach`] restores them.
    #[cfg(feature = "fs")]
    pub(crate) fn detach(self) -> Packet<'t, 'static> {
        let Self { trace, stream, info, cursor, before_context, next, latest } = self;
        Packet { trace, stream, info, cursor: cursor.with_data(&[]), before_context, next, latest }
    }

    /// The packet with its bytes, the same as in [`Self::open`].
    #[cfg(feature = "fs")]
    pub(crate) fn attach<'b>(self, bytes: &'b [u8]) -> Packet<'t, 'b> {
        let Self { trace, stream, info, cursor, before_context, next, latest } = self;
        let cursor = cursor.with_data(content_of(bytes, info.content_bits));
        Packet { trace, stream, info, cursor, before_context, next, latest }
    }

    /// The values of the packet header and context.
    #[must_use]
    pub const fn info(&self) -> &PacketInfo {
        &self.info
    }

    /// The data stream class.
    #[must_use]
    pub const fn stream(&self) -> &'t StreamPlan {
        self.stream
    }

    /// The clock of the stream after the fields decoded so far.
    #[must_use]
    pub const fn clock(&self) -> u64 {
        self.cursor.clock
    }

    /// The place of an event of this packet among those of other streams: nanoseconds from the
    /// origin of the clock, or before all if the stream has no clock.
    pub(crate) fn time(&self, event: &Event<'t>) -> i128 {
        let clock = self.trace.clock(self.stream);
        clock.map_or(i128::MIN, |clock| clock.nanoseconds(event.cycles))
    }

    /// Reports the fields of the packet context; their nodes are [`StreamPlan::context_nodes`].
    ///
    /// # Errors
    /// None in practice: [`Self::open`] has decoded the same fields.
    pub fn visit_context<V: Visitor<'a> + ?Sized>(
        &self,
        visitor: &mut V,
    ) -> Result<(), PacketError> {
        let mut cursor = self.cursor.clone();
        cursor.rollback(self.before_context);
        let nodes = &self.stream.context.nodes;
        run(&self.stream.context.code, nodes, &mut cursor, visitor)
            .map_err(|fault| fault.named(nodes))
    }

    /// Decodes the header of the next event. `None`: the end of the packet. [`Self::visit`] or
    /// [`Self::skip`] decodes the event's fields.
    ///
    /// # Errors
    /// [`PacketError`]: the rest of the packet is lost; the next call returns `None`.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<Event<'t>>, PacketError> {
        if self.next.is_none() {
            self.next = self.header()?;
        }
        Ok(self.next)
    }

    /// Reports the fields of the event returned by [`Self::peek`], and advances.
    ///
    /// # Errors
    /// [`PacketError`]: some fields of the event were reported; the rest of the packet is lost.
    #[inline]
    pub fn visit<V: Visitor<'a> + ?Sized>(&mut self, visitor: &mut V) -> Result<(), PacketError> {
        match self.next.take() {
            Some(event) => self.fields(event, visitor),
            None => Ok(()),
        }
    }

    /// Reports all remaining events, or those for which the visitor is
    /// [ready](EventVisitor::ready): the fastest way.
    ///
    /// # Errors
    /// [`PacketError`], as of [`Self::peek`] and [`Self::visit`].
    #[inline]
    pub fn read<S: EventVisitor<'t, 'a> + ?Sized>(
        &mut self,
        sink: &mut S,
    ) -> Result<(), PacketError> {
        self.read_at_most(usize::MAX, sink).map(drop)
    }

    /// As [`Self::read`] for the next `events` events, or until the visitor is not
    /// [ready](EventVisitor::ready); `false`: there were fewer.
    ///
    /// # Errors
    /// As of [`Self::read`].
    #[inline]
    pub fn read_at_most<S: EventVisitor<'t, 'a> + ?Sized>(
        &mut self,
        events: usize,
        sink: &mut S,
    ) -> Result<bool, PacketError> {
        let mut left = events;
        // Reads a header that is known once more: its clock gives the same again, and the fields after
        // it need no cursor.
        if let Some(event) = self.next
            && event.class.code.steps.is_some()
            && self.stream.layout != Layout::General
        {
            (self.next, self.cursor.bit) = (None, event.bit);
        }
        loop {
            if self.next.is_none() {
                left = self.quick(left, sink)?;
            }
            if left == 0 {
                return Ok(true);
            }
            let Some(event) = self.peek()? else { return Ok(false) };
            if !sink.ready(&event) {
                return Ok(true);
            }
            self.next = None;
            if sink.event(&event) {
                self.fields(event, sink)?;
                sink.done();
            } else {
                self.fields(event, &mut Nobody)?;
                sink.skipped();
            }
            left -= 1;
        }
    }

    /// The place of the next event, if it was not [peeked](Self::peek) at.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        Mark(self.cursor.checkpoint())
    }

    /// Continues at a mark of the same packet, opened again from the same bytes and with metadata
    /// that has only grown. A mark of another packet gives wrong events or an error.
    pub fn resume(&mut self, mark: Mark) {
        self.next = None;
        self.cursor.rollback(mark.0);
    }

    /// Decodes an event header.
    #[inline(always)]
    fn header(&mut self) -> Result<Option<Event<'t>>, PacketError> {
        let bit = self.cursor.bit;
        if bit >= self.cursor.end {
            return Ok(None);
        }
        let stream = self.stream;
        let id = match stream.layout {
            Layout::General => self.general_header()?,
            layout => layout.next(&mut self.cursor),
        };
        let class = match self.latest.filter(|class| id == Some(class.id)) {
            Some(class) => class,
            None => match id.and_then(|id| stream.event(id)) {
                Some(class) => {
                    self.latest = Some(class);
                    class
                }
                None => return self.no_class(bit, id).map(Some),
            },
        };
        Ok(Some(Event { class, cycles: self.cursor.clock, bit }))
    }

    /// Decodes the fields of an event.
    #[inline(always)]
    fn fields<V: Visitor<'a> + ?Sized>(
        &mut self,
        event: Event<'t>,
        visitor: &mut V,
    ) -> Result<(), PacketError> {
        let nodes = &event.class.nodes;
        if let Err(fault) = run(&event.class.code, nodes, &mut self.cursor, visitor) {
            return Err(self.give_up(fault, nodes, Scope::Payload));
        }
        if self.cursor.bit == event.bit {
            let fault = DecodeError {
                bit: event.bit,
                node: NodeId::default(),
                violation: Violation::Empty,
            };
            return Err(self.give_up(fault, nodes, Scope::Payload));
        }
        Ok(())
    }

    /// Skips the fields of the event.
    ///
    /// # Errors
    /// As [`Self::visit`].
    pub fn skip(&mut self) -> Result<(), PacketError> {
        self.visit(&mut Nobody)
    }

    /// Decodes a header by its plan. `None`: the header has no class id.
    fn general_header(&mut self) -> Result<Option<u64>, PacketError> {
        let nodes = &self.stream.header.nodes;
        let mut visitor = IdVisitor { nodes, id: None };
        match run(&self.stream.header.code, nodes, &mut self.cursor, &mut visitor) {
            Ok(()) => Ok(visitor.id),
            Err(fault) => Err(self.give_up(fault, nodes, Scope::EventHeader)),
        }
    }

    /// Handles a header without a known class id: the stream may have only one class, or the header
    /// is cut.
    #[cold]
    fn no_class(&mut self, bit: u64, id: Option<u64>) -> Result<Event<'t>, PacketError> {
        let stream = self.stream;
        let violation = match (id, stream.layout) {
            (Some(id), _) => Violation::EventClass(id),
            (None, Layout::General) => match stream.only_event() {
                Some(class) => return Ok(Event { class, cycles: self.cursor.clock, bit }),
                None => Violation::NoClassId,
            },
            (None, _) => {
                let left = self.cursor.end - bit;
                Violation::Short { need: left + 1, left }
            }
        };
        Err(self.give_up(
            DecodeError { bit, node: NodeId::default(), violation },
            &stream.header.nodes,
            Scope::EventHeader,
        ))
    }

    #[cold]
    fn give_up(&mut self, fault: DecodeError, nodes: &Nodes, scope: Scope) -> PacketError {
        self.next = None;
        self.cursor.bit = self.cursor.end;
        let error = fault.named(nodes);
        if error.field.is_empty() {
            PacketError { field: scope.name().into(), ..error }
        } else {
            error
        }
    }

    /// The trace of the packet.
    #[must_use]
    pub const fn trace(&self) -> &'t Trace {
        self.trace
    }
}

/// The packet header and the packet context, decoded.
struct Start<'t, 'a> {
    cursor: Cursor<'a>,
    found: Found<'t, 'a>,
    index: usize,
    stream: &'t StreamPlan,
    before_context: Checkpoint,
    foreign: bool,
}

impl<'t, 'a> Start<'t, 'a> {
    fn read(trace: &'t Trace, bytes: &'a [u8], clock: u64) -> Result<Self, PacketError> {
        let mut cursor = Cursor::new(bytes, clock, trace.slots);
        let nodes = &trace.header.nodes;
        let mut found = Found::new(nodes);
        run(&trace.header.code, nodes, &mut cursor, &mut found)
            .map_err(|error| error.named(nodes))?;
        if let Some(magic) = found.magic.filter(|m| *m != MAGIC) {
            return Err(error(&cursor, "trace.packet.header.magic", Violation::Magic(magic)));
        }
        let foreign = found
            .uuid
            .is_some_and(|uuid| trace.schema().uuid.is_some_and(|trace| trace.as_bytes() != uuid));
        let mut streams = trace.streams().iter().enumerate();
        let stream = match (found.stream_class, trace.streams()) {
            (Some(id), _) => streams.find(|(_, s)| s.id == id).ok_or(Violation::StreamClass(id)),
            (None, [only]) => Ok((0, only)),
            (None, _) => Err(Violation::NoClassId),
        };
        let (index, stream) =
            stream.map_err(|e| error(&cursor, "trace.packet.header.stream_id", e))?;
        let before_context = cursor.checkpoint();
        let nodes = &stream.context.nodes;
        found.nodes = nodes;
        run(&stream.context.code, nodes, &mut cursor, &mut found)
            .map_err(|error| error.named(nodes))?;
        Ok(Self { cursor, found, index, stream, before_context, foreign })
    }
}

#[cold]
fn error(cursor: &Cursor<'_>, field: &str, violation: Violation) -> PacketError {
    PacketError { bit: cursor.bit, field: field.into(), violation }
}

fn check_packet_size(cursor: &Cursor<'_>, bits: u64) -> Result<(), PacketError> {
    if bits.is_multiple_of(8) {
        return Ok(());
    }
    Err(error(cursor, "stream.packet.context.packet_size", Violation::NotBytes(bits)))
}

/// The part of `bytes` that contains the content of a packet.
fn content_of(bytes: &[u8], content_bits: u64) -> &[u8] {
    let content = usize::try_from(content_bits.div_ceil(8)).ok().and_then(|n| bytes.get(..n));
    content.unwrap_or(bytes)
}

/// Receives the events of a packet.
pub trait EventVisitor<'t, 'a>: Visitor<'a> {
    /// Whether to read the event now. If not, reading ends before it, and [`Packet::peek`] returns
    /// it. Called once or twice for an event.
    #[inline]
    fn ready(&mut self, event: &Event<'t>) -> bool {
        let _ = event;
        true
    }

    /// An event begins. Returns whether to report its fields.
    fn event(&mut self, event: &Event<'t>) -> bool;

    /// All fields of the event have been reported.
    fn done(&mut self);

    /// All fields of an event have been read and not reported, as [`Self::event`] asked for.
    #[inline]
    fn skipped(&mut self) {}
}

#[cfg(test)]
mod tests;
