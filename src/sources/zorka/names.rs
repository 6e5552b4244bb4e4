//! Symbols and methods of one session (docs/protocols/zorka.md 7). A reset drops them all.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::limits::{METHODS, SYMBOL_BYTES, SYMBOL_TEXT, SYMBOLS};
use crate::model::{Charge, HeapSize, Memory, Purpose, cut};

/// The slot of a method that the meter has not bound.
pub(crate) const UNBOUND: u32 = u32::MAX;

/// A method: ids of symbols, 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Method {
    pub(crate) class: u32,
    pub(crate) name: u32,
    pub(crate) signature: u32,
    /// The meter's own number for the method; [`UNBOUND`] in a new method, after a reset, and after
    /// a change of a name.
    pub(crate) slot: u32,
}

/// The place of a symbol in the text.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    len: u32,
}

/// Symbols and methods of one session.
#[derive(Debug)]
pub(crate) struct Names {
    /// The texts of all symbols, one behind the other.
    text: String,
    /// Bytes of `text` that no symbol uses.
    unused: usize,
    symbols: ById<Place>,
    methods: ById<Method>,
    /// Definitions that a limit rejected since the reset.
    rejected: u64,
    /// A method was defined before its symbols.
    early: bool,
    /// Names of methods may have changed since [`settle`](Self::settle).
    changed: bool,
    charge: Charge,
    /// The budget has rejected more memory.
    full: bool,
}

crate::heap_size!(Names { text, symbols, methods });

impl Names {
    /// No names. Their memory is charged to the budget.
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        Self {
            text: String::new(),
            unused: 0,
            symbols: ById::default(),
            methods: ById::default(),
            rejected: 0,
            early: false,
            changed: false,
            charge: Charge::new(Arc::clone(memory), Purpose::Definitions),
            full: false,
        }
    }

    /// The text of a symbol; `None`: not defined, or rejected.
    pub(crate) fn symbol(&self, id: u32) -> Option<&str> {
        let place = self.symbols.get(id)?;
        let start = place.start as usize;
        self.text.get(start..start + place.len as usize)
    }

    /// A method; `None`: not defined, or rejected.
    pub(crate) fn method(&mut self, id: u32) -> Option<&mut Method> {
        self.methods.get_mut(id)
    }

    /// A method, to read.
    #[inline]
    pub(crate) fn get_method(&self, id: u32) -> Option<&Method> {
        self.methods.get(id)
    }

    /// Defines a symbol; bytes that are not UTF-8 are replaced. Agents repeat definitions.
    pub(crate) fn define_symbol(&mut self, id: u32, text: &[u8]) {
        let text = String::from_utf8_lossy(text.get(..SYMBOL_TEXT).unwrap_or(text));
        let text = cut(&text, SYMBOL_TEXT);
        let known = self.symbols.get(id).map(|place| place.len as usize);
        if known.is_some() && self.symbol(id) == Some(text) {
            return;
        }
        let full = self.full || known.is_none() && self.symbols.len() >= SYMBOLS;
        if full || self.text.len() + text.len() > SYMBOL_BYTES {
            self.rejected += 1;
            return;
        }
        let place = Place { start: small(self.text.len()), len: small(text.len()) };
        self.text.push_str(text);
        match self.symbols.get_mut(id) {
            Some(before) => {
                *before = place;
                self.changed = true;
                self.unused += known.unwrap_or_default();
                if self.unused > 2 * SYMBOL_TEXT && self.unused > self.text.len() / 2 {
                    self.compact();
                }
            }
            None => {
                self.symbols.add(id, place);
                self.changed |= self.early;
            }
        }
        self.settle_charge();
    }

    /// Defines a method by the ids of its symbols. Agents repeat definitions.
    pub(crate) fn define_method(&mut self, id: u32, class: u32, name: u32, signature: u32) {
        self.early |= [class, name, signature]
            .into_iter()
            .any(|symbol| symbol != 0 && self.symbols.get(symbol).is_none());
        let new = Method { class, name, signature, slot: UNBOUND };
        if let Some(known) = self.methods.get_mut(id) {
            if (Method { slot: UNBOUND, ..*known }) != new {
                *known = new;
            }
        } else if self.full || self.methods.len() >= METHODS {
            self.rejected += 1;
        } else {
            self.methods.add(id, new);
            self.settle_charge();
        }
    }

    /// A body of definitions is complete: methods whose names may have changed are unbound.
    pub(crate) fn settle(&mut self) {
        if std::mem::take(&mut self.changed) {
            self.unbind();
        }
    }

    /// The meter has other numbers for all methods.
    pub(crate) fn unbind(&mut self) {
        self.methods.values_mut().iter_mut().for_each(|method| method.slot = UNBOUND);
    }

    /// Drops all symbols and methods.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.charge.memory());
    }

    /// Number of symbols.
    pub(crate) const fn symbols(&self) -> usize {
        self.symbols.len()
    }

    /// Number of methods.
    pub(crate) const fn methods(&self) -> usize {
        self.methods.len()
    }

    /// Definitions that a limit rejected since the last reset.
    pub(crate) const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Bytes that are charged.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap_size()
    }

    /// Charges what a definition has allocated; the next ones are rejected if there is no room.
    fn settle_charge(&mut self) {
        let memory = self.bytes();
        if memory > self.charge.bytes() && !self.charge.resize(memory, memory) {
            self.charge.set(memory);
            self.full = true;
        }
    }

    /// Drops the texts of symbols that were defined anew.
    fn compact(&mut self) {
        let mut text = String::with_capacity(self.text.len() - self.unused);
        for place in self.symbols.values_mut() {
            let start = place.start as usize;
            let kept = self.text.get(start..start + place.len as usize).unwrap_or_default();
            place.start = small(text.len());
            text.push_str(kept);
        }
        (self.text, self.unused) = (text, 0);
        self.charge.set(self.bytes());
    }
}

/// A position or length in the texts, which are shorter than 4 GiB.
fn small(n: usize) -> u32 {
    debug_assert!(n <= SYMBOL_BYTES);
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Ids below this are always in the array.
const SMALL: usize = 256;
/// The array has at most this many slots for each value.
const SPREAD: usize = 4;
/// No value.
const NONE: u32 = u32::MAX;

/// Values by id, in the order of their first definition.
#[derive(Debug)]
pub(super) struct ById<T> {
    values: Vec<T>,
    /// Positions in `values` by id; [`NONE`]: none here.
    dense: Vec<u32>,
    /// Positions of all other ids.
    sparse: HashMap<u32, u32, RandomState>,
}

crate::heap_size!([T] ById<T> { values, dense, sparse });

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { values: Vec::new(), dense: Vec::new(), sparse: HashMap::default() }
    }
}

impl<T> ById<T> {
    /// Number of values.
    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    #[inline]
    fn position(&self, id: u32) -> Option<usize> {
        match self.dense.get(id as usize) {
            Some(&at) if at != NONE => Some(at as usize),
            _ => self.other(id),
        }
    }

    /// The position of an id that the array does not have.
    #[cold]
    fn other(&self, id: u32) -> Option<usize> {
        if self.sparse.is_empty() {
            return None;
        }
        self.sparse.get(&id).map(|at| *at as usize)
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.values.get(self.position(id)?)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let at = self.position(id)?;
        self.values.get_mut(at)
    }

    /// Adds the value of an id that has none.
    pub(super) fn add(&mut self, id: u32, value: T) {
        debug_assert!(self.position(id).is_none());
        let Ok(at) = u32::try_from(self.values.len()) else { return };
        self.values.push(value);
        let slot = id as usize;
        if slot >= self.dense.len() && slot < SMALL.max(SPREAD * self.values.len()) {
            self.dense.resize(slot + 1, NONE);
        }
        match self.dense.get_mut(slot) {
            Some(place) => *place = at,
            None => {
                self.sparse.insert(id, at);
            }
        }
    }

    /// All values.
    pub(super) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

#[cfg(test)]
#[path = "tests/names.rs"]
mod tests;
