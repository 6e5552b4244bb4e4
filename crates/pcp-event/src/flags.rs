//! Record flags with PCP's numbers (`PM_EVENT_FLAG_*`).

/// The record is a point in time.
pub const POINT: u32 = 1;
/// The record begins a span.
pub const START: u32 = 2;
/// The record ends a span.
pub const END: u32 = 4;
/// The first parameter identifies the span.
pub const ID: u32 = 8;
/// The next parameter identifies the parent span.
pub const PARENT: u32 = 16;
/// Not an event: the record carries the client's number of missed events.
pub const MISSED: u32 = 1 << 31;
