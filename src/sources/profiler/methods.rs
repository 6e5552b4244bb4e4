//! The root methods of one connection: their names and rows, and what one read adds to them.

use super::super::Sink;
use super::method_name::method_name;
use super::metrics as m;
use super::words::Words;
use crate::model::Update;
use std::sync::Arc;

/// Slot of the row for the rest of the methods; methods get those from 1 on.
pub(super) const REST: u32 = 0;
/// Most methods of one connection that are told by name.
const METHODS_MAX: usize = 30_000;

#[derive(Debug)]
struct Method {
    slot: u32,
    name: Arc<str>,
}

/// Methods by id: ids are dense, and those that are roots are few.
#[derive(Debug, Default)]
pub(super) struct Methods {
    by_id: Vec<Option<Method>>,
    slots: u32,
    sums: Vec<[u64; 5]>,
    touched: Vec<u32>,
}

impl Methods {
    /// A call of a method: its sums by item of the table. The method's name, if it has one.
    pub(super) fn add(&mut self, id: u32, more: [u64; 5], words: &Words, sink: &mut dyn Sink) -> Option<&str> {
        let at = id as usize;
        if !matches!(self.by_id.get(at), Some(Some(_)))
            && let Some(word) = words.get(id)
        {
            self.name(at, word, sink);
        }
        let method = self.by_id.get(at).and_then(Option::as_ref);
        let slot = method.map_or(REST, |m| m.slot);
        if self.sums.len() <= slot as usize {
            self.sums.resize(slot as usize + 1, [0; 5]);
        }
        if let Some(sums) = self.sums.get_mut(slot as usize) {
            // The first sum counts calls.
            if sums.first() == Some(&0) {
                self.touched.push(slot);
            }
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        }
        method.map(|m| &*m.name)
    }

    fn name(&mut self, at: usize, word: &str, sink: &mut dyn Sink) {
        // A word has an id below `limits::WORDS`.
        if self.by_id.len() <= at {
            self.by_id.resize_with(at + 1, || None);
        }
        let name = method_name(word);
        let slot = if (self.slots as usize) < METHODS_MAX {
            self.slots += 1;
            sink.update(Update::Row { table: m::METHODS, slot: self.slots, key: Some(&name) });
            self.slots
        } else {
            REST
        };
        if let Some(place) = self.by_id.get_mut(at) {
            *place = Some(Method { slot, name: name.into() });
        }
    }

    /// Ids mean something else from now on. Slots are not used again.
    pub(super) fn forget_words(&mut self) {
        self.by_id = Vec::new();
    }

    /// Tells what was added since the last time.
    pub(super) fn tell(&mut self, sink: &mut dyn Sink) {
        for slot in self.touched.drain(..) {
            let sums = self.sums.get_mut(slot as usize).map(std::mem::take).unwrap_or_default();
            for (item, more) in (0..).zip(sums) {
                sink.update(Update::RowCount { table: m::METHODS, slot, item, more });
            }
        }
    }
}
