#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod array;
mod batch;
mod check;
mod event_array;
mod filter;
pub mod flags;
mod glob;
mod layout;
mod param;
mod queues;
mod request;
mod ring;
mod stream;
mod text_writer;
mod types;

pub use array::{Array, ArrayError, Checkpoint};
pub use batch::{Batch, RECORD_MAX, RecordTemplate};
pub use check::{CheckError, Parameter, Record, Records, Scalar, check};
pub use event_array::EventArray;
pub use filter::{FILTER_MAX, Filter, FilterError, ParameterNames, RecordMatcher};
pub use glob::{Glob, glob};
pub use layout::{ARRAY_MAX, HighRes, LowRes, Resolution};
pub use param::{NumberParam, Numbers, Param32, Param64};
pub use queues::{Fetch, Fetched, Gone, QueueError, QueueFilter, Queues};
pub use request::{Delivery, Hold, Limits, ReadRequest, RecordFilter, Resolutions};
pub use stream::{Budget, Later, SLOWEST, SLOWEST_WINDOW, Stream, StreamStats, Unpacked};
pub use text_writer::{TextWriter, is_bare};
pub use types::ids::{Pmid, Semantics, ValueType};
pub use types::stamp::Stamp;
pub use types::units::{UnitFields, Units};
pub use types::value::Value;
