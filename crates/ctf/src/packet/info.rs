//! Values of the packet header and of the packet context.

use super::counter::Counter;

/// The values of the packet header and context. Sizes are in bits, times in cycles of the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketInfo {
    /// Index among [`Trace::streams`](crate::Trace::streams).
    pub stream: usize,
    /// The id of the data stream within its class.
    pub stream_id: Option<u64>,
    /// The UUID differs from that of the metadata. babeltrace accepts such packets, and manually
    /// repaired traces contain them.
    pub foreign: bool,
    /// The clock at the first event or earlier.
    pub begin: Option<u64>,
    /// The clock at the last event or later; tracers had bugs here.
    pub end: Option<u64>,
    /// Size of header, context and events; all bytes if the packet has no size.
    pub content_bits: u64,
    /// Size with padding; all bytes if the packet has no size.
    pub packet_bits: u64,
    /// Sequence number of the packet in its stream.
    pub sequence: Option<Counter>,
    /// Events that the tracer has discarded since the start of the stream.
    pub discarded: Option<Counter>,
}
