//! From decoded events of traces to records in event streams and counts of classes.

mod class;
mod kept;
mod measurer;
mod packer;
mod parameter;
mod recorder;
mod tap;
mod text;
mod timestamps;
mod trace;

pub(super) use class::Definitions;
pub use class::{FIELD_SIZE, RecordFilter};
pub(super) use packer::RecordBuffers;
pub(super) use parameter::restore;
pub(super) use trace::{RecordContext, StreamPosition, Trace};
