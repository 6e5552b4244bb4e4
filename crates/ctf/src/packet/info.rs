//! Values of the packet header and of the packet context.

use super::counter::Counter;

/// What header and context say. Sizes are in bits, times in cycles of the stream's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketInfo {
    /// Which of [`Trace::streams`](crate::Trace::streams).
    pub stream: usize,
    /// Which stream of that class.
    pub stream_id: Option<u64>,
    /// Its UUID is not that of the metadata. babeltrace does not mind, and real traces have it
    /// after manual repairs.
    pub foreign: bool,
    /// The clock at the first event or before.
    pub begin: Option<u64>,
    /// The clock at the last event or behind; tracers had bugs here.
    pub end: Option<u64>,
    /// Header, context and events; all bytes given if the packet does not say it.
    pub content_bits: u64,
    /// With padding; all bytes given if the packet does not say it.
    pub packet_bits: u64,
    /// Number of the packet in its stream.
    pub sequence: Option<Counter>,
    /// Events that the tracer has discarded since the beginning of the stream.
    pub discarded: Option<Counter>,
}
