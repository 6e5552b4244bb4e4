//! What records ask of the reader of a process, and the names of threads.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::model::Stamp;
use crate::sources::dotnet::limits::{THREAD_NAME, THREAD_NAMES};

/// What can be found out about a process beside its stream.
pub trait Lookup {
    /// The name of a thread, by the id that the process has for it. Records ask again after some
    /// seconds only.
    fn thread_name(&mut self, _: u64) -> Option<String> {
        None
    }

    /// Appends the stack of this id, outermost method first; nothing if it is not known.
    fn stack(&mut self, _: u32, _: &mut String) {}
}

/// Finds nothing.
impl Lookup for () {}

/// Where an event comes from, beside its thread.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Id of its stack; 0: none.
    pub stack: u32,
    /// Activity id; zeros: none.
    pub activity: &'a [u8; 16],
    /// Related activity id; zeros: none.
    pub related: &'a [u8; 16],
}

impl Default for Origin<'_> {
    fn default() -> Self {
        Self { stack: 0, activity: &[0; 16], related: &[0; 16] }
    }
}

/// Seconds after which a name is looked up again: threads of pools are renamed, and the ids of
/// ended threads are given out again.
const FRESH: u64 = 10;

/// The names of a process's threads that had records.
#[derive(Debug, Default)]
pub(super) struct ThreadNames {
    /// Positions in `names` by thread id.
    places: HashMap<u64, usize, RandomState>,
    names: Vec<Known>,
}

crate::heap_size!(ThreadNames { places, each names });

#[derive(Debug)]
struct Known {
    /// Empty: it could not be found out.
    name: Box<str>,
    /// Time of the event for which it was looked up, in seconds since 1970.
    at: i64,
}

crate::heap_size!(Known { name });

impl ThreadNames {
    /// The name, or an empty text.
    #[inline]
    pub(super) fn get(&mut self, thread: u64, stamp: Stamp, lookup: &mut dyn Lookup) -> &str {
        let place = self.places.get(&thread).copied();
        let fresh = |known: &Known| known.at.abs_diff(stamp.sec) < FRESH;
        let place = match place {
            Some(place) if self.names.get(place).is_some_and(fresh) => place,
            place => self.look_up(thread, place, stamp.sec, lookup),
        };
        self.names.get(place).map_or("", |known| &known.name)
    }

    #[cold]
    fn look_up(
        &mut self,
        thread: u64,
        place: Option<usize>,
        at: i64,
        lookup: &mut dyn Lookup,
    ) -> usize {
        let found = lookup.thread_name(thread).map(|name| clean(&name));
        if let Some((place, known)) = place.and_then(|at| Some((at, self.names.get_mut(at)?))) {
            known.at = at;
            // The thread may have ended since; its events still have its name.
            known.name = found.unwrap_or_else(|| std::mem::take(&mut known.name));
            return place;
        }
        if self.names.len() >= THREAD_NAMES {
            self.names.clear();
            self.places.clear();
        }
        self.names.push(Known { name: found.unwrap_or_default(), at });
        let place = self.names.len() - 1;
        self.places.insert(thread, place);
        place
    }

    /// Frees the memory.
    pub(super) fn release(&mut self) {
        *self = Self::default();
    }
}

fn clean(name: &str) -> Box<str> {
    name.chars().filter(|c| !c.is_control()).take(THREAD_NAME).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeapSize;
    /// Names threads by the number of look-ups.
    #[derive(Debug)]
    struct Counting(u64);

    impl Lookup for Counting {
        fn thread_name(&mut self, thread: u64) -> Option<String> {
            self.0 += 1;
            (thread != 7).then(|| format!("t{thread}\n#{}", self.0))
        }
    }

    #[test]
    fn names_are_looked_up_once_in_a_while() {
        let (mut names, mut lookup) = (ThreadNames::default(), Counting(0));
        let at = |sec| Stamp { sec, nsec: 0 };
        for (thread, sec, name) in [
            (1, 100, "t1#1"),
            (1, 109, "t1#1"),
            (7, 109, ""),
            (7, 110, ""),
            (1, 110, "t1#3"),
            (1, 90, "t1#4"),
        ] {
            assert_eq!(names.get(thread, at(sec), &mut lookup), name, "{thread} {sec}");
        }
        for thread in 0..3 * THREAD_NAMES as u64 {
            names.get(thread, at(0), &mut lookup);
        }
        assert!(names.names.len() <= THREAD_NAMES && names.heap_size() > 0);
        names.release();
        assert_eq!(names.heap_size(), 0);
    }
}
