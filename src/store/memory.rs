//! The memory budget as `apm.self.memory.*` shows it.

use super::registry::Store;
use crate::catalogue::Stat;
use crate::model::Purpose::{
    Definitions, Dictionaries, Input, Other, Registry, Texts, Trees, Undecided,
};

/// Bytes that the process may need without any peer: program, libraries, threads, the answer to a
/// fetch, the allocator's reserve.
const PROGRAM: usize = 40 << 20;

impl Store {
    /// A statistic about memory; `None` for others.
    #[must_use]
    pub fn memory_stat(&self, stat: Stat) -> Option<u64> {
        let bytes = match stat {
            Stat::MemoryEvents => self.budget.held(),
            Stat::MemoryLimit => self.budget.limit(),
            Stat::MemoryRegistry => self.memory.held(Registry),
            Stat::MemoryTexts => self.memory.held(Texts),
            Stat::MemoryDefinitions => self.memory.held(Definitions),
            Stat::MemoryDictionaries => self.memory.held(Dictionaries),
            Stat::MemoryInput => self.memory.held(Input) + self.memory.held(Undecided),
            Stat::MemoryTrees => self.memory.held(Trees),
            Stat::MemoryOther => self.memory.held(Other),
            Stat::MemoryTotal => self.memory.used() + self.budget.held(),
            Stat::MemoryTotalLimit => self.memory.limit(),
            Stat::MemoryRefused => return Some(self.memory.refused()),
            _ => return None,
        };
        Some(bytes as u64)
    }

    /// Sets the resident memory of the process. The part above all charges and [`PROGRAM`] counts
    /// as used.
    pub fn set_resident(&self, bytes: usize) {
        let known = self.memory.used() - self.memory.held(Other) + self.budget.held();
        self.memory.set_other(bytes.saturating_sub(known + PROGRAM));
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue::{Stat, test_kit};
    use crate::store::{Limits, Store};

    #[test]
    fn what_nobody_asked_for_counts_as_used() {
        let store = Store::new(
            test_kit::catalogue(),
            400,
            Limits { memory: 100 << 20, ..Limits::default() },
            10 << 20,
        );
        store.set_resident(30 << 20);
        assert_eq!(
            (store.memory_stat(Stat::MemoryOther), store.memory.is_full()),
            (Some(0), false)
        );
        store.set_resident(200 << 20);
        assert_eq!(
            (store.memory_stat(Stat::MemoryOther), store.memory.is_full()),
            (Some(160 << 20), true)
        );
        assert_eq!(store.memory_stat(Stat::MemoryTotal), Some(160 << 20));
        store.set_resident(50 << 20);
        assert_eq!(
            (store.memory_stat(Stat::MemoryTotal), store.memory.is_full()),
            (Some(10 << 20), false)
        );
        assert_eq!(
            (store.memory_stat(Stat::MemoryTotalLimit), store.memory_stat(Stat::Panics)),
            (Some(100 << 20), None)
        );
    }
}
