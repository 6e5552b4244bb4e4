//! The root methods of one connection: their names and rows, and what one read adds to them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::model::Update;
use crate::sources::Sink;
use crate::sources::profiler::limits;
use crate::sources::profiler::metrics as m;
use crate::sources::profiler::records::pending::PATIENCE;
use crate::sources::profiler::words::Words;
use crate::sources::profiler::words::method_name::method_name;

/// Slot of the row for the rest of the methods; methods get those from 1 on.
pub(crate) const REST: u32 = 0;
/// Most methods of one connection that are told by name.
const METHODS_MAX: usize = 30_000;

/// What calls of a method add up to, by item of the table.
pub(crate) type Sums = [u64; 5];

#[derive(Debug)]
struct Method {
    slot: u32,
    name: Arc<str>,
}

/// Those of all methods that are roots: few.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    by_id: HashMap<u32, Method, RandomState>,
    slots: u32,
    sums: Vec<Sums>,
    touched: Vec<u32>,
    /// Of methods whose names have not come, and until when they may.
    unnamed: HashMap<u32, (Duration, Sums), RandomState>,
}

impl Methods {
    /// Bytes allocated; names are the dictionary's and short ones made of them.
    pub(crate) fn memory(&self) -> usize {
        const NAME: usize = 96;
        self.by_id.capacity() * (size_of::<(u32, Method)>() + 1)
            + self.by_id.len() * NAME
            + self.sums.capacity() * size_of::<Sums>()
            + self.unnamed.capacity() * (size_of::<(u32, (Duration, Sums))>() + 1)
    }

    /// A call of a method. Without a name its sums are kept until that comes.
    pub(crate) fn add(
        &mut self,
        id: u32,
        more: &Sums,
        now: Duration,
        words: &Words,
        sink: &mut dyn Sink,
    ) {
        let slot = match self.by_id.get(&id) {
            Some(known) => known.slot,
            None => match words.get(id) {
                Some(word) => self.name_it(id, word, sink),
                None if self.unnamed.len() < limits::UNNAMED || self.unnamed.contains_key(&id) => {
                    let (_, sums) =
                        self.unnamed.entry(id).or_insert((now + PATIENCE, Sums::default()));
                    return add(sums, more);
                }
                None => REST,
            },
        };
        self.add_to(slot, more);
    }

    /// The name of a method that has been added.
    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.by_id.get(&id).map(|m| &*m.name)
    }

    /// A word has come, or was refused: what was kept for it goes to its row.
    pub(crate) fn word(&mut self, id: u32, word: Option<&str>, sink: &mut dyn Sink) {
        if self.unnamed.is_empty() {
            return;
        }
        let Some((_, sums)) = self.unnamed.remove(&id) else { return };
        let slot = match word {
            Some(word) => self.name_it(id, word, sink),
            None => self.by_id.get(&id).map_or(REST, |m| m.slot),
        };
        self.add_to(slot, &sums);
    }

    /// What was kept for names that do not come belongs to the rest. `end`: nothing more comes.
    pub(crate) fn expire(&mut self, now: Duration, end: bool) {
        let mut rest = Sums::default();
        self.unnamed.retain(|_, (until, sums)| {
            let keep = !end && *until > now;
            if !keep {
                add(&mut rest, sums);
            }
            keep
        });
        if rest != Sums::default() {
            self.add_to(REST, &rest);
        }
        if self.unnamed.is_empty() && self.unnamed.capacity() > 0 {
            self.unnamed = HashMap::default();
        }
    }

    fn add_to(&mut self, slot: u32, more: &Sums) {
        if self.sums.len() <= slot as usize {
            self.sums.resize(slot as usize + 1, Sums::default());
        }
        if let Some(sums) = self.sums.get_mut(slot as usize) {
            // The first sum counts calls.
            if sums.first() == Some(&0) {
                self.touched.push(slot);
            }
            add(sums, more);
        }
    }

    /// The slot of a method that has its name now.
    fn name_it(&mut self, id: u32, word: &str, sink: &mut dyn Sink) -> u32 {
        let name = method_name(word);
        let slot = if (self.slots as usize) < METHODS_MAX {
            self.slots += 1;
            sink.update(Update::Row { table: m::METHODS, slot: self.slots, key: Some(&name) });
            self.slots
        } else {
            REST
        };
        self.by_id.insert(id, Method { slot, name: name.into() });
        slot
    }

    /// Ids mean something else from now on. Slots are not used again.
    pub(crate) fn forget_words(&mut self) {
        self.expire(Duration::ZERO, true);
        self.by_id = HashMap::default();
    }

    /// No call has come for a while.
    pub(crate) fn rest(&mut self) {
        self.by_id.shrink_to_fit();
        // What is not touched has been told, and is 0.
        if self.touched.is_empty() {
            (self.touched, self.sums) = (Vec::new(), Vec::new());
        }
    }

    /// Tells what was added since the last time.
    pub(crate) fn tell(&mut self, sink: &mut dyn Sink) {
        for slot in self.touched.drain(..) {
            let sums = self.sums.get_mut(slot as usize).map(std::mem::take).unwrap_or_default();
            for (item, more) in (0..).zip(sums) {
                sink.update(Update::RowCount { table: m::METHODS, slot, item, more });
            }
        }
    }
}

fn add(sums: &mut Sums, more: &Sums) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sources::profiler::streams::text::Text;
    use crate::sources::profiler::words::interner::Interner;

    /// Calls by row.
    #[derive(Default)]
    struct Rows(BTreeMap<u32, String>, BTreeMap<String, u64>);

    impl Sink for Rows {
        fn update(&mut self, update: Update<'_>) {
            match update {
                Update::Row { slot, key, .. } => {
                    drop(self.0.insert(slot, key.unwrap_or("other").into()))
                }
                Update::RowCount { slot, item: 0, more, .. } => {
                    let key = self.0.get(&slot).cloned().unwrap_or_else(|| "other".into());
                    *self.1.entry(key).or_default() += more;
                }
                _ => {}
            }
        }
    }

    #[test]
    fn sums_wait_for_the_name_and_only_then_belong_to_the_rest() {
        let (mut methods, mut rows) = (Methods::default(), Rows::default());
        let mut words = Words::new(Arc::new(Interner::new(1 << 20)));
        let second = Duration::from_secs;
        for id in [1, 2, 3, 2] {
            methods.add(id, &[1, 0, 5, 0, 0], second(0), &words, &mut rows);
        }
        methods.tell(&mut rows);
        assert!(rows.1.is_empty(), "{:?}", rows.1);
        words.put(Some(2), Text::new(&[0, b'b'], 1));
        methods.word(2, words.get(2).map(|w| &**w), &mut rows);
        methods.word(3, None, &mut rows);
        methods.add(2, &[1, 0, 5, 0, 0], second(1), &words, &mut rows);
        methods.expire(second(10), false);
        methods.tell(&mut rows);
        assert_eq!(rows.1, [("b".to_owned(), 3), ("other".to_owned(), 1)].into());
        assert_eq!((methods.name(2), methods.name(1)), (Some("b"), None));
        methods.expire(second(11), false);
        methods.tell(&mut rows);
        assert_eq!(rows.1["other"], 2);
        for id in 100..10_000 {
            methods.add(id, &[1, 0, 0, 0, 0], second(0), &words, &mut rows);
        }
        assert_eq!(methods.unnamed.len(), limits::UNNAMED);
        methods.forget_words();
        methods.tell(&mut rows);
        assert_eq!((rows.1["other"], methods.unnamed.len()), (2 + 9900, 0));
    }
}
