//! A trace: compiled metadata.

mod compile;
mod plans;

use plans::ScopePlan;
pub use plans::{EventPlan, StreamPlan};

use crate::error::{MetadataError, bounded};
use crate::limits;
use crate::metadata::Metadata;
use crate::schema::{ClockClass, Schema};

/// Estimated bytes of memory for a byte of metadata, and for a field.
const TEXT: u64 = 3;
const FIELD: u64 = 384;

/// The metadata of a trace, compiled as it arrives. More metadata may arrive between packets; known
/// classes never change.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    metadata: Metadata,
    schema: Schema,
    /// Whether the packet header has been compiled.
    began: bool,
    pub(super) header: ScopePlan,
    streams: Vec<StreamPlan>,
    /// Number of fields of all classes.
    fields: u64,
    /// Bytes of their names.
    names: u64,
    /// Bytes of metadata.
    bytes: u64,
    outer_slots: u32,
    /// Largest number of slots of a class.
    pub(super) slots: u32,
}

impl Trace {
    /// A trace without metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A trace from a schema that was not parsed.
    #[cfg(any(test, fuzzing))]
    pub(super) fn of(schema: Schema) -> Result<Self, crate::error::DeclarationError> {
        let mut trace = Self { schema, ..Self::new() };
        trace.compile().map(|()| trace)
    }

    /// A trace from complete metadata.
    ///
    /// # Errors
    /// The first [`MetadataError`]; [`MetadataError::Incomplete`] if the metadata ends within a
    /// declaration.
    pub fn from_metadata(bytes: &[u8]) -> Result<Self, MetadataError> {
        let mut trace = Self::new();
        trace.metadata(bytes)?;
        if trace.unfinished() { Err(MetadataError::Incomplete) } else { Ok(trace) }
    }

    /// Parses more metadata: a piece of any size, which may be cut anywhere.
    ///
    /// # Errors
    /// The first [`MetadataError`] of the piece. A faulty declaration is dropped; later ones are
    /// parsed nevertheless. [`Self::metadata_errors`] reports every error.
    pub fn metadata(&mut self, bytes: &[u8]) -> Result<(), MetadataError> {
        let mut errors = self.metadata_errors(bytes);
        let first = errors.next();
        errors.for_each(drop);
        first.map_or(Ok(()), Err)
    }

    /// Parses more metadata, as [`Self::metadata`], while the errors are iterated. Metadata after
    /// an error is parsed by the next call of [`Iterator::next`]: iterate to the end.
    pub fn metadata_errors<'t, 'm>(&'t mut self, bytes: &'m [u8]) -> MetadataErrors<'t, 'm> {
        MetadataErrors { trace: self, bytes }
    }

    /// Parses declarations up to the first error, and removes the parsed part from `bytes`.
    fn declarations(&mut self, bytes: &mut &[u8]) -> Result<(), MetadataError> {
        loop {
            let before = bytes.len();
            let read = self.metadata.declaration(bytes, &mut self.schema);
            self.bytes = self.bytes.saturating_add((before - bytes.len()) as u64);
            let (offset, line) = self.metadata.place();
            bounded("bytes of metadata", self.bytes, limits::METADATA)
                .map_err(|error| error.at(offset, line))?;
            if !read? {
                return Ok(());
            }
            self.compile().map_err(|error| error.at(offset, line))?;
        }
    }

    /// Whether a declaration is incomplete, or a class waits for another declaration. `false` for
    /// complete metadata.
    #[must_use]
    pub fn unfinished(&self) -> bool {
        self.metadata.unfinished() || !self.schema.orphans.is_empty() || self.waits()
    }

    /// An estimate of the memory of the trace in bytes, from the sizes of text, names and fields.
    /// For recorded traces it was 0.8 to 1.9 times the resident memory.
    #[must_use]
    pub fn held(&self) -> usize {
        let counted = TEXT * self.bytes + 2 * self.names + FIELD * self.fields;
        size_of::<Self>() + usize::try_from(counted).unwrap_or(usize::MAX)
    }

    /// The declarations so far.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The data stream classes, in the order of the metadata.
    #[must_use]
    pub fn streams(&self) -> &[StreamPlan] {
        &self.streams
    }

    /// The default clock of a data stream class.
    #[must_use]
    pub fn clock(&self, stream: &StreamPlan) -> Option<&ClockClass> {
        self.schema.clocks.get(stream.clock?)
    }
}

/// The errors of a piece of metadata, see [`Trace::metadata_errors`].
#[derive(Debug)]
#[must_use = "metadata is read while the errors are iterated"]
pub struct MetadataErrors<'t, 'm> {
    trace: &'t mut Trace,
    bytes: &'m [u8],
}

impl Iterator for MetadataErrors<'_, '_> {
    type Item = MetadataError;

    fn next(&mut self) -> Option<MetadataError> {
        // An error takes at least one byte, so the iteration ends.
        if self.bytes.is_empty() {
            return None;
        }
        self.trace.declarations(&mut self.bytes).err()
    }
}
