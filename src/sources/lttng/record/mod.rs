//! From decoded events of traces to records in event streams and counts of classes.

mod class;
mod parameter;
mod recorder;
mod text;
mod timestamps;
mod trace;

pub(super) use class::Names;
pub use class::{Choice, FIELD_SIZE};
pub(super) use parameter::restore;
pub(super) use recorder::Scratch;
pub(super) use trace::{Position, Tools, Trace};
