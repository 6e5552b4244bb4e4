//! The event types of a stream by their ids.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::sources::dotnet::limits;

use super::error::ErrorKind;
use super::fields::{EventType, Field, FieldType};

/// Ids below this are positions in a list: runtimes count from 1.
const DENSE: usize = 4 * limits::EVENT_TYPES;

/// Event types of a stream.
#[derive(Debug, Default)]
pub(super) struct Types {
    all: Vec<EventType>,
    /// Id → index + 1.
    dense: Vec<u32>,
    sparse: HashMap<u32, u32, RandomState>,
    providers: HashSet<Arc<str>, RandomState>,
    /// Bytes of all types.
    bytes: usize,
}

impl Types {
    /// The type with an id.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&EventType> {
        let index = self.index(id)?;
        self.all.get(index as usize)
    }

    #[inline]
    fn index(&self, id: u32) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(index) => index.checked_sub(1),
            None if (id as usize) < DENSE => None,
            None => self.sparse.get(&id).copied(),
        }
    }

    /// Adds a type, or replaces the one with this id.
    pub(super) fn define(
        &mut self,
        id: u32,
        mut event_type: EventType,
    ) -> Result<&EventType, ErrorKind> {
        self.bytes += bytes(&event_type);
        if self.bytes > limits::TYPES {
            return Err(ErrorKind::Types);
        }
        event_type.provider = Arc::clone(
            self.providers.get_or_insert_with(&*event_type.provider, |p: &str| Arc::from(p)),
        );
        let index = match self.index(id) {
            Some(index) => index,
            None => self.add(id)?,
        };
        event_type.index = index;
        match self.all.get_mut(index as usize) {
            Some(old) => {
                self.bytes -= bytes(old);
                *old = event_type;
            }
            None => self.all.push(event_type),
        }
        self.all.get(index as usize).ok_or(ErrorKind::Types)
    }

    /// The index of a new id.
    fn add(&mut self, id: u32) -> Result<u32, ErrorKind> {
        let index = u32::try_from(self.all.len()).map_err(|_| ErrorKind::Types)?;
        if self.all.len() >= limits::EVENT_TYPES {
            return Err(ErrorKind::Types);
        }
        let at = id as usize;
        if at < DENSE {
            if self.dense.len() <= at {
                self.dense.resize(at + 1, 0);
            }
            if let Some(entry) = self.dense.get_mut(at) {
                *entry = index + 1;
            }
        } else {
            self.sparse.insert(id, index);
        }
        Ok(index)
    }

    /// Number of types.
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.dense.capacity() * size_of::<u32>() + self.sparse.allocation_size()
    }

    /// Forgets all types.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Bytes of one type.
fn bytes(event_type: &EventType) -> usize {
    size_of::<EventType>()
        + event_type.provider.len()
        + event_type.name.len()
        + event_type.fields.iter().map(field).sum::<usize>()
}

fn field(field: &Field) -> usize {
    size_of::<Field>() + field.name.len() + inner(&field.kind)
}

fn inner(kind: &FieldType) -> usize {
    match kind {
        FieldType::Object(fields) => fields.iter().map(field).sum(),
        FieldType::Array(element)
        | FieldType::Fixed(element, _)
        | FieldType::RelLoc(element)
        | FieldType::DataLoc(element) => size_of::<FieldType>() + inner(element),
        _ => 0,
    }
}
