//! What a reader hands over.

use super::fields::EventType;
use super::header::Header;

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Its type.
    pub event_type: &'a EventType,
    /// Ticks of [`Header::ticks`]' clock.
    pub time: u64,
    /// OS thread id in the process's pid namespace; the sampled one for the sample profiler.
    pub thread: u64,
    /// The thread that wrote the event, whose numbers count.
    pub capture_thread: u64,
    /// Number of the event among those of the capture thread, from 1.
    pub sequence: u32,
    /// Id of a stack that came before in the stream; 0: none.
    pub stack: u32,
    /// Activity id; zeros: none.
    pub activity: &'a [u8; 16],
    /// Related activity id; zeros: none.
    pub related: &'a [u8; 16],
    /// Nothing that follows in the stream is older.
    pub sorted: bool,
    /// The payload.
    pub payload: &'a [u8],
}

/// The instruction pointers of a stack, the leaf first.
#[derive(Clone, Copy, Debug)]
pub struct Ips<'a> {
    bytes: &'a [u8],
    pointer_size: u8,
}

impl<'a> Ips<'a> {
    pub(super) const fn new(bytes: &'a [u8], pointer_size: u8) -> Self {
        Self { bytes, pointer_size }
    }

    /// Number of frames.
    #[must_use]
    pub fn len(self) -> usize {
        self.bytes.len() / usize::from(self.pointer_size.max(1))
    }

    /// True for the stack without frames.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The frames, the leaf first.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        self.bytes.chunks_exact(usize::from(self.pointer_size.max(1))).map(|ip| match *ip {
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        })
    }
}

/// What a stream brings, in its order.
pub trait Visitor {
    /// The trace header: once, before all else.
    fn header(&mut self, header: &Header) {
        let _ = header;
    }

    /// A type of events, before the first of them. An index that came before has a new meaning now.
    fn event_type(&mut self, event_type: &EventType) {
        let _ = event_type;
    }

    /// An event.
    fn event(&mut self, event: &Event<'_>);

    /// A stack, before the first event that has it.
    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        let _ = (id, ips);
    }

    /// A sequence point: ids of stacks are forgotten, and all that follows is younger than all
    /// before.
    fn point(&mut self) {}

    /// The process lost events that it could not write; they are in [`Reader::losses`].
    ///
    /// [`Reader::losses`]: super::Reader::losses
    fn lost(&mut self, events: u64) {
        let _ = events;
    }
}
