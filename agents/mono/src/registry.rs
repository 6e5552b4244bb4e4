//! All counters known to the module: our two, then Mono's in the order of their registration.
//!
//! Pointers arrive on the program's threads, under the runtime's counters mutex, where they are
//! only appended to a list. The module's thread describes them later
//! (docs/protocols/mono-counters.md section 7), each inside the [`Gate`].

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::catalogue::Counter;
use crate::identity;
use crate::mono::{CounterPtr, Gate};
use crate::session::{Counters, LONGEST_VALUE};

/// Counters that the runtime has reported and the module's thread has not absorbed yet.
static REPORTED: Mutex<Vec<CounterPtr>> = Mutex::new(Vec::new());

/// Stores a counter for [`Registry::absorb`]. Called under the runtime's mutex.
pub(crate) fn report(counter: CounterPtr) {
    REPORTED.lock().unwrap_or_else(PoisonError::into_inner).push(counter);
}

/// Counters by id; see [`Counters`].
pub(crate) struct Registry<'gate> {
    gate: &'gate Gate,
    descriptions: Vec<Counter>,
    places: Vec<Place>,
    seen: HashSet<CounterPtr>,
}

/// The source of a counter's value.
enum Place {
    Ours(Vec<u8>),
    Mono(CounterPtr),
}

/// Number of our own counters in [`Registry::new`]; they have the first ids.
pub(crate) const OURS: usize = 2;

impl<'gate> Registry<'gate> {
    /// Our own counters.
    pub(crate) fn new(gate: &'gate Gate) -> Self {
        let ours: [_; OURS] = identity::counters();
        let (descriptions, places) =
            ours.into_iter().map(|(counter, value)| (counter, Place::Ours(value))).unzip();
        Self { gate, descriptions, places, seen: HashSet::new() }
    }

    /// Adds the counters reported since the last call.
    pub(crate) fn absorb(&mut self) {
        let reported =
            std::mem::take(&mut *REPORTED.lock().unwrap_or_else(PoisonError::into_inner));
        for counter in reported {
            if !self.seen.insert(counter) {
                continue;
            }
            let Some(passage) = self.gate.enter() else {
                return;
            };
            if let Some(description) = passage.describe(counter) {
                self.descriptions.push(description);
                self.places.push(Place::Mono(counter));
            }
        }
    }
}

impl Counters for Registry<'_> {
    fn descriptions(&self) -> &[Counter] {
        &self.descriptions
    }

    fn read(&mut self, id: usize, into: &mut [u8; LONGEST_VALUE]) -> usize {
        match self.places.get(id) {
            None => 0,
            Some(Place::Ours(value)) => match into.get_mut(..value.len()) {
                None => 0,
                Some(room) => {
                    room.copy_from_slice(value);
                    value.len()
                }
            },
            Some(Place::Mono(counter)) => {
                self.gate.enter().map_or(0, |passage| passage.sample(*counter, into))
            }
        }
    }
}
