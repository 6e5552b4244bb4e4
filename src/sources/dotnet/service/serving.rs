//! A sink that passes all updates on, and adds the counters among them to the rows of the program.

use std::ops::{Deref, DerefMut};

use super::{SLOT, program};
use crate::catalogue::OTHER;
use crate::contract::Sink;
use crate::contract::{ParamId, Update};
use crate::events::Batch;
use crate::model::{EventKindId, MetricItem, Pmid, RowItem, TableId, ValueType};
use crate::sources::dotnet::metrics as m;

/// Counters of a process, and those of its program.
const SUMS: [(MetricItem, RowItem); 6] = [
    (m::PAUSE_COUNT, m::SERVICE_PAUSE_COUNT),
    (m::PAUSE_TOTAL, m::SERVICE_PAUSE_TOTAL),
    (m::EXCEPTIONS, m::SERVICE_EXCEPTIONS),
    (m::CONTENTION_COUNT, m::SERVICE_CONTENTION_COUNT),
    (m::CONTENTION_TIME, m::SERVICE_CONTENTION_TIME),
    (m::ALLOC_BYTES, m::SERVICE_ALLOC),
];
/// Counters without values of the same names among those of a process.
const OTHERS: [RowItem; 2] = [m::SERVICE_GC_COUNT, m::SERVICE_CPU];
/// Tables of a process, and those of its program with the same slots.
const TABLES: [(TableId, TableId); 3] = [
    (m::PAUSE_BUCKETS, m::SERVICE_PAUSES),
    (m::EXCEPTION_TYPES, m::SERVICE_EXCEPTION_TYPES),
    (m::STACKS, m::SERVICE_STACKS),
];
/// Slot of the youngest generation, whose collections are all there are.
const GEN0: u32 = 0;

/// A sink of a process that adds to the rows of its program.
#[derive(Debug)]
pub(crate) struct Serving<S> {
    sink: S,
    /// The instance of the process; empty: not known yet.
    instance: String,
    /// Processor time so far, user and system; `None`: the next one counts nothing.
    cpu: [Option<u64>; 2],
}

impl<S: Sink> Serving<S> {
    /// `is_new`: the process began while this PMDA ran, and all of its processor time counts.
    pub(crate) fn new(sink: S, is_new: bool) -> Self {
        Self { sink, instance: String::new(), cpu: [is_new.then_some(0); 2] }
    }

    /// The instance of the process; empty: not known yet.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    fn program(&self) -> &str {
        program(&self.instance)
    }

    fn start(&mut self, instance: String) {
        self.instance = instance;
        let Self { sink, instance, .. } = self;
        let program = program(instance);
        let (table, slot) = (m::SERVICES, SLOT);
        sink.update(Update::Row { table, slot, key: Some(program) });
        sink.update(Update::RowLabels { table, slot, labels: &[("program", program)] });
        for item in SUMS.into_iter().map(|(_, item)| item).chain(OTHERS) {
            sink.update(Update::RowCount { slot, item, more: 0 });
        }
        sink.update(Update::RowMember { table, slot });
    }

    /// Binds the slot of a table to the row of the program for the same key.
    fn bind(&mut self, table: TableId, slot: u32, key: Option<&str>) {
        let Some((_, of_program)) = TABLES.into_iter().find(|(of, _)| *of == table) else { return };
        let own = key.map(|key| match key.strip_prefix(self.instance.as_str()) {
            Some(rest) => rest.strip_prefix("::").unwrap_or(key),
            None => key,
        });
        // What has no row of its own in a process is in the row of all programs.
        let own = own.filter(|own| table != m::STACKS || *own != OTHER);
        let separator = if table == m::STACKS { "," } else { "::" };
        let program = self.program().to_owned();
        let key = own.map(|own| [&*program, separator, own].concat());
        self.sink.update(Update::Row { table: of_program, slot, key: key.as_deref() });
        let label = match table {
            m::PAUSE_BUCKETS => "bucket",
            m::EXCEPTION_TYPES => "type",
            _ => return,
        };
        let labels = [("program", &*program), (label, own.unwrap_or_default())];
        self.sink.update(Update::RowLabels { table: of_program, slot, labels: &labels });
    }

    fn counted(&mut self, slot: u32, item: RowItem, more: u64) {
        let (slot, item) = match item {
            m::GC_COUNT if slot == GEN0 => (SLOT, m::SERVICE_GC_COUNT),
            m::PAUSES => (slot, m::SERVICE_PAUSE_HISTOGRAM),
            m::EXCEPTION_TYPE => (slot, m::SERVICE_EXCEPTION_TYPE),
            m::STACK_SAMPLES => (slot, m::SERVICE_STACK_TIME),
            _ => return,
        };
        self.sink.update(Update::RowCount { slot, item, more });
    }

    /// Processor time of the process so far, user (slot 0) or system (slot 1).
    fn processor_time(&mut self, slot: u32, time: u64) {
        let Some(known) = self.cpu.get_mut(slot as usize) else { return };
        let more = known.replace(time).map_or(0, |before| time.saturating_sub(before));
        self.sink.update(Update::RowCount { slot: SLOT, item: m::SERVICE_CPU, more });
    }
}

impl<S: Sink> Sink for Serving<S> {
    fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Identity(identity) => {
                let instance = identity.name.clone();
                self.sink.update(Update::Identity(identity));
                self.start(instance);
            }
            Update::Count { item, more } => {
                self.sink.update(Update::Count { item, more });
                if let Some((_, item)) = SUMS.into_iter().find(|(of, _)| *of == item) {
                    self.sink.update(Update::RowCount { slot: SLOT, item, more });
                }
            }
            Update::Row { table, slot, key } => {
                self.sink.update(Update::Row { table, slot, key });
                self.bind(table, slot, key);
            }
            Update::RowCount { slot, item, more } => {
                self.sink.update(Update::RowCount { slot, item, more });
                self.counted(slot, item, more);
            }
            Update::RowSet { slot, item, value } => {
                self.sink.update(Update::RowSet { slot, item, value });
                if item == m::CPU_TIME {
                    self.processor_time(slot, value);
                }
            }
            Update::FreeRows { table } => {
                self.sink.update(Update::FreeRows { table });
                if let Some((_, table)) = TABLES.into_iter().find(|(of, _)| *of == table) {
                    self.sink.update(Update::FreeRows { table });
                }
            }
            update => self.sink.update(update),
        }
    }

    fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)> {
        self.sink.param(id)
    }

    fn append(&mut self, kind: EventKindId, records: &mut Batch) {
        self.sink.append(kind, records);
    }
}

impl<S> Deref for Serving<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.sink
    }
}

impl<S> DerefMut for Serving<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.sink
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::contract::Identity;

    /// Rows by table and slot, and their sums.
    #[derive(Default)]
    struct Seen {
        keys: HashMap<(TableId, u32), String>,
        sums: HashMap<(String, RowItem), u64>,
    }

    impl Sink for Seen {
        fn update(&mut self, update: Update<'_>) {
            match update {
                Update::Row { table, slot, key } => {
                    self.keys.insert((table, slot), key.unwrap_or("other").to_owned());
                }
                Update::RowCount { slot, item, more } => {
                    let key = self.keys.get(&(item.table(), slot)).expect("bound").clone();
                    *self.sums.entry((key, item)).or_default() += more;
                }
                Update::FreeRows { table } => self.keys.retain(|(of, _), _| *of != table),
                _ => {}
            }
        }
    }

    fn process(name: &str, is_new: bool) -> Serving<Seen> {
        let mut sink = Serving::new(Seen::default(), is_new);
        let identity = Identity { name: name.into(), ..Identity::default() };
        sink.update(Update::Identity(identity));
        sink
    }

    #[test]
    fn counters_of_a_process_are_added_to_its_program() {
        let mut sink = process("web:shop:7", true);
        let sum =
            |sink: &Serving<Seen>, key: &str, item| sink.sums.get(&(key.into(), item)).copied();
        assert_eq!(sum(&sink, "web:shop", m::SERVICE_EXCEPTIONS), Some(0));
        sink.update(Update::Count { item: m::EXCEPTIONS, more: 3 });
        sink.update(Update::Count { item: m::CAUGHT, more: 9 });
        sink.update(Update::Count { item: m::EXCEPTIONS, more: 2 });
        assert_eq!(sum(&sink, "web:shop", m::SERVICE_EXCEPTIONS), Some(5));
        for (table, slot, key, item) in [
            (m::EXCEPTION_TYPES, 4, Some("web:shop:7::Shop.Out::Of"), m::EXCEPTION_TYPE),
            (m::EXCEPTION_TYPES, 0, Some("web:shop:7::other"), m::EXCEPTION_TYPE),
            (m::STACKS, 1, Some("web:shop:7::A.Main,B.Run"), m::STACK_SAMPLES),
            (m::STACKS, 2, Some("web:shop:7::other"), m::STACK_SAMPLES),
            (m::PAUSE_BUCKETS, 3, Some("500-1000"), m::PAUSES),
            (m::GENERATIONS, 0, Some("web:shop:7::gen0"), m::GC_COUNT),
            (m::GENERATIONS, 1, Some("web:shop:7::gen1"), m::GC_COUNT),
        ] {
            sink.update(Update::Row { table, slot, key });
            sink.update(Update::RowCount { slot, item, more: 10 });
        }
        for (key, item) in [
            ("web:shop::Shop.Out::Of", m::SERVICE_EXCEPTION_TYPE),
            ("web:shop::other", m::SERVICE_EXCEPTION_TYPE),
            ("web:shop,A.Main,B.Run", m::SERVICE_STACK_TIME),
            ("other", m::SERVICE_STACK_TIME),
            ("web:shop::500-1000", m::SERVICE_PAUSE_HISTOGRAM),
            ("web:shop", m::SERVICE_GC_COUNT),
        ] {
            assert_eq!(sum(&sink, key, item), Some(10), "{key}");
        }
        sink.update(Update::FreeRows { table: m::STACKS });
        assert!(sink.keys.keys().all(|(table, _)| *table != m::SERVICE_STACKS));
    }

    #[test]
    fn processor_time_counts_while_the_pmda_runs() {
        for (is_new, expected) in [(true, 170), (false, 70)] {
            let mut sink = process("web:7", is_new);
            for (slot, value) in [(0, 80), (1, 20), (0, 130), (1, 40)] {
                sink.update(Update::RowSet { slot, item: m::CPU_TIME, value });
            }
            assert_eq!(sink.sums.get(&("web".to_owned(), m::SERVICE_CPU)), Some(&expected));
        }
    }
}
