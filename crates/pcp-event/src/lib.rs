//! Packed event arrays and the bounded streams they are read from. Pure Rust, no C: the layout is
//! that of PCP's `pmEventArray` and `pmHighResEventArray` (shared specs/pcp-events.md section 1),
//! checked against libpcp's own decoder in the integration tests.
//!
//! [`Array`] is `pmdaEventNewArray` and its calls; [`Queues`] is `pmdaEventNewQueue` and its calls,
//! with queues of raw events that are decoded for each client. What the PMDA itself uses is faster:
//!
//! A producer packs records into a [`Batch`] and appends it to a [`Stream`]; a client context reads
//! each record once, as a header and a copy of bytes that were packed when the record was made.
//! Loss is arithmetic on sequence numbers.

mod array;
mod batch;
mod check;
mod client;
mod filter;
mod layout;
mod param;
mod queues;
mod ring;
mod stream;
mod text_writer;
mod types;

pub use array::{Array, ArrayError, Checkpoint};
pub use batch::{Batch, RECORD_MAX, RecordTemplate};
pub use check::{CheckError, Parameter, Record, Records, Scalar, check};
pub use client::{Delivery, Limits, ReadRequest, RecordFilter, Resolutions};
pub use filter::{FILTER_MAX, Filter, FilterError, ParameterNames, RecordMatcher};
pub use layout::{ARRAY_MAX, HighRes, LowRes, Resolution};
pub use param::{NumberParam, Param32, Param64};
pub use queues::{EndedClient, Fetch, Fetched, QueueError, QueueFilter, Queues};
pub use stream::{Budget, Stream, StreamStats};
pub use text_writer::TextWriter;
pub use types::{Pmid, Semantics, Stamp, Units, Value, ValueType};

/// Record flags with PCP's numbers (`PM_EVENT_FLAG_*`).
pub mod flags {
    /// a moment
    pub const POINT: u32 = 1;
    /// begin of a span
    pub const START: u32 = 2;
    /// end of a span
    pub const END: u32 = 4;
    /// the first parameter is the id of the span
    pub const ID: u32 = 8;
    /// the next parameter is the id of the parent span
    pub const PARENT: u32 = 16;
    /// not a record: the count of records that this client has missed
    pub const MISSED: u32 = 1 << 31;
}
