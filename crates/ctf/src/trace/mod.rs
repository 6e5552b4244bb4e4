//! A trace: its metadata as far as it has come, compiled.

mod compile;
mod plans;

use plans::Layer;
pub use plans::{EventPlan, StreamPlan};

use super::error::{MetadataError, bounded};
use super::limits;
use super::metadata::Metadata;
use super::schema::{Clock, Schema};

/// Bytes of memory for a byte of metadata, and for a field.
const TEXT: u64 = 3;
const FIELD: u64 = 384;

/// A trace. Metadata may come while packets are decoded; what was known does not change by it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    metadata: Metadata,
    schema: Schema,
    /// Whether the packet header has been compiled.
    began: bool,
    pub(super) header: Layer,
    streams: Vec<StreamPlan>,
    /// Fields of all classes.
    fields: u64,
    /// Bytes of their names.
    names: u64,
    /// Bytes of metadata.
    bytes: u64,
    outer_slots: u32,
    /// Slots that the class with the most needs.
    pub(super) slots: u32,
}

impl Trace {
    /// Without metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Of a schema that did not come as metadata.
    #[cfg(any(test, fuzzing))]
    pub(super) fn of(schema: Schema) -> Result<Self, super::error::Fault> {
        let mut trace = Self { schema, ..Self::new() };
        trace.compile().map(|()| trace)
    }

    /// Takes more metadata, in pieces of any size.
    ///
    /// # Errors
    /// [`MetadataError`]: one declaration cannot be used. It is as if it were not there; `bytes` has lost what was read, at
    /// least one, and a call with the rest goes on behind it. (Live traces should give up: packets
    /// may need what is missing.)
    pub fn metadata(&mut self, bytes: &mut &[u8]) -> Result<(), MetadataError> {
        loop {
            let before = bytes.len();
            let read = self.metadata.declaration(bytes, &mut self.schema);
            self.bytes = self.bytes.saturating_add((before - bytes.len()) as u64);
            let (offset, line) = self.metadata.place();
            bounded("bytes of metadata", self.bytes, limits::METADATA)
                .map_err(|fault| fault.at(offset, line))?;
            if !read? {
                return Ok(());
            }
            self.compile().map_err(|fault| fault.at(offset, line))?;
        }
    }

    /// Whether a declaration has begun and not ended, or a class waits for another declaration:
    /// metadata of a trace that is complete must not end like this.
    #[must_use]
    pub fn unfinished(&self) -> bool {
        self.metadata.unfinished() || !self.schema.orphans.is_empty() || self.waits()
    }

    /// Memory that it holds, estimated by what was counted while it was compiled: text, schema and
    /// names, and for each field its types, its place and its code. For recorded traces it is
    /// 0.8 to 1.9 times what was resident.
    #[must_use]
    pub fn held(&self) -> usize {
        let counted = TEXT * self.bytes + 2 * self.names + FIELD * self.fields;
        size_of::<Self>() + usize::try_from(counted).unwrap_or(usize::MAX)
    }

    /// What the metadata has said so far.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Classes of streams, in the order of the metadata.
    #[must_use]
    pub fn streams(&self) -> &[StreamPlan] {
        &self.streams
    }

    /// The clock of a class of streams.
    #[must_use]
    pub fn clock(&self, stream: &StreamPlan) -> Option<&Clock> {
        self.schema.clocks.get(stream.clock?)
    }
}
