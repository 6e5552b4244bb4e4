//! The values of dynamic metrics in one row: memory is only for those that it has or had.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of an entry here, and of the row's entry among the instances of the metric.
const COST: usize = size_of::<Entry>() + 24;

/// Values by column, ascending.
#[derive(Debug, Default)]
pub struct Brought(Mutex<Vec<Entry>>);

/// A column that has or had a value.
#[derive(Debug)]
struct Entry {
    column: u16,
    known: bool,
    bits: u64,
}

impl Brought {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bits of a value, if there is one.
    #[must_use]
    pub fn get(&self, column: u16) -> Option<u64> {
        let all = self.lock();
        let at = all.binary_search_by_key(&column, |e| e.column).ok()?;
        all.get(at).filter(|e| e.known).map(|e| e.bits)
    }

    /// Changes a value. `room`: a column that the row has not yet may be added. Returns whether it
    /// was.
    pub(super) fn change(
        &self,
        column: u16,
        room: bool,
        change: impl FnOnce(Option<u64>) -> u64,
    ) -> bool {
        let mut all = self.lock();
        match all.binary_search_by_key(&column, |e| e.column) {
            Ok(at) => {
                if let Some(entry) = all.get_mut(at) {
                    entry.bits = change(entry.known.then_some(entry.bits));
                    entry.known = true;
                }
                false
            }
            Err(at) => {
                if room {
                    all.reserve_exact(1);
                    all.insert(at, Entry { column, known: true, bits: change(None) });
                }
                room
            }
        }
    }

    /// Removes a value; the column stays.
    pub(super) fn unset(&self, column: u16) {
        let mut all = self.lock();
        if let Ok(at) = all.binary_search_by_key(&column, |e| e.column)
            && let Some(entry) = all.get_mut(at)
        {
            entry.known = false;
        }
    }

    /// The columns that have or had values.
    #[must_use]
    pub fn columns(&self) -> Vec<u16> {
        self.lock().iter().map(|e| e.column).collect()
    }

    /// Estimate of the bytes allocated.
    pub(super) fn memory(&self) -> usize {
        self.lock().len() * COST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_new_once_and_its_value_can_go_and_come() {
        let row = Brought::default();
        assert!(row.change(300, true, |before| before.unwrap_or(7)));
        assert!(row.change(200, true, |_| 1) && !row.change(100, false, |_| 1));
        assert!(!row.change(300, false, |before| before.unwrap_or_default() + 1));
        assert_eq!((row.get(300), row.get(200), row.get(100)), (Some(8), Some(1), None));
        row.unset(300);
        row.unset(1);
        assert_eq!((row.get(300), row.columns()), (None, vec![200, 300]));
        assert!(!row.change(300, false, |before| before.map_or(5, |_| 6)));
        assert_eq!((row.get(300), row.memory()), (Some(5), 2 * 40));
    }
}
