//! A process whose stream is read, and a sink that has its values by name.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use flate2::read::GzDecoder;

use super::super::{Names, Runtime};
use crate::contract::Sink;
use crate::contract::{EventValue, ParamId, Update};
use crate::model::{EventKindId, MetricItem, ParamItem, RowItem, Stamp, TableId, Value};
use crate::sources::mono::mlpd::{
    Act, BadBuffer, Buffer, Decoder, Event, Header, Visitor, gc, sync,
};

/// A record: kind, time and parameters as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: EventKindId,
    pub(super) stamp: Stamp,
    params: BTreeMap<u16, String>,
}

impl Record {
    /// A parameter, or an empty text.
    pub(super) fn get(&self, item: ParamItem) -> &str {
        self.params.get(&item.get()).map_or("", String::as_str)
    }
}

/// The values that updates result in.
#[derive(Debug, Default)]
pub(super) struct Seen {
    values: BTreeMap<u16, u64>,
    slots: BTreeMap<(usize, u32), String>,
    rows: BTreeMap<(RowItem, String), u64>,
    pub(super) records: Vec<Record>,
    pub(super) updates: usize,
}

impl Seen {
    /// A value.
    pub(super) fn get(&self, item: MetricItem) -> Option<u64> {
        self.values.get(&item.get()).copied()
    }

    /// All rows of a metric that have a value, by name without the process's.
    pub(super) fn rows(&self, item: RowItem) -> BTreeMap<String, u64> {
        let of = self.rows.iter().filter(|((i, _), _)| *i == item);
        of.map(|((_, key), n)| (key.strip_prefix("p:1::").unwrap_or(key).to_owned(), *n)).collect()
    }

    /// Those that are not 0.
    pub(super) fn sums(&self, item: RowItem) -> BTreeMap<String, u64> {
        self.rows(item).into_iter().filter(|(_, n)| *n > 0).collect()
    }

    fn key(&self, table: TableId, slot: u32) -> String {
        self.slots.get(&(table.index(), slot)).cloned().expect("a bound slot")
    }
}

impl Sink for Seen {
    fn update(&mut self, update: Update<'_>) {
        self.updates += 1;
        match update {
            Update::Count { item, more } => *self.values.entry(item.get()).or_default() += more,
            Update::Set { item, value: Value::U64(value) } => {
                self.values.insert(item.get(), value);
            }
            Update::Unset { item } => drop(self.values.remove(&item.get())),
            Update::Row { table, slot, key } => {
                let key = key.expect("rows of processes have keys");
                assert!(!key.contains(char::is_whitespace), "{key:?}");
                self.slots.insert((table.index(), slot), key.to_owned());
            }
            Update::RowCount { slot, item, more } => {
                let key = self.key(item.table(), slot);
                *self.rows.entry((item, key)).or_default() += more;
            }
            Update::RowSet { slot, item, value } => {
                let key = self.key(item.table(), slot);
                self.rows.insert((item, key), value);
            }
            Update::RowUnset { slot, item } => {
                let key = self.key(item.table(), slot);
                self.rows.remove(&(item, key));
            }
            Update::FreeRows { table } => self.slots.retain(|(of, _), _| *of != table.index()),
            Update::Event { kind, stamp, params, .. } => {
                let text = |value: &EventValue<'_>| match value {
                    EventValue::Number(n) => n.to_string(),
                    EventValue::Text(text) => (*text).to_owned(),
                };
                let item = |id: ParamId| match id {
                    ParamId::Item(item) => item.get(),
                    ParamId::Slot(_) => panic!("not one of the source's"),
                };
                let params = params.iter().map(|p| (item(p.id), text(&p.value))).collect();
                self.records.push(Record { kind, stamp, params });
            }
            _ => {}
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Known {
    methods: HashMap<u64, String>,
    classes: HashMap<u64, String>,
    vtables: HashMap<u64, u64>,
    threads: HashMap<u64, String>,
}

impl Names for Known {
    fn method(&self, id: u64) -> Option<&str> {
        self.methods.get(&id).map(String::as_str)
    }

    fn class(&self, id: u64) -> Option<&str> {
        self.classes.get(&id).map(String::as_str)
    }

    fn class_of(&self, vtable: u64) -> Option<&str> {
        self.class(*self.vtables.get(&vtable)?)
    }

    fn thread(&self, id: u64) -> Option<&str> {
        self.threads.get(&id).map(String::as_str)
    }
}

/// One process.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) runtime: Runtime,
    pub(super) seen: Seen,
    pub(super) names: Known,
    thread: u64,
    /// Seconds of the monotonic clock.
    now: u64,
}

/// Times are ns since 1970 here.
fn stamp(time: u64) -> Stamp {
    Stamp {
        sec: i64::try_from(time / 1_000_000_000).unwrap(),
        nsec: u32::try_from(time % 1_000_000_000).unwrap(),
    }
}

impl Process {
    /// One with these options, whose identity is known.
    pub(super) fn with(options: &str) -> Self {
        let mut process = Self::default();
        let options = format!("log:nodefaults,{options}");
        process.begin(&Header { version: 17, options, ..Header::default() });
        process
    }

    pub(super) fn begin(&mut self, header: &Header) {
        self.runtime.header(header);
        self.runtime.start("p:1", &mut self.seen);
    }

    /// An event of a thread.
    pub(super) fn event(&mut self, thread: u64, time: u64, event: Event<'_>) {
        match event {
            Event::Method { method, name, .. } => {
                self.names.methods.insert(method, String::from_utf8_lossy(name).into());
            }
            Event::Class { act: Act::Load, id, name, .. } => {
                self.names.classes.insert(id, String::from_utf8_lossy(name).into());
            }
            Event::Vtable { act: Act::Load, id, class, .. } => {
                self.names.vtables.insert(id, class);
            }
            Event::Thread { act: Act::Name, id, name } => {
                self.names.threads.insert(id, String::from_utf8_lossy(name).into());
            }
            _ => {}
        }
        self.runtime.event(thread, time, &event);
    }

    /// Names a method.
    pub(super) fn method(&mut self, id: u64, name: &str) {
        let name = name.as_bytes();
        self.event(9, 0, Event::Method { method: id, code: 0, size: None, name });
    }

    /// Steps of a collection, `(step, generation)`, each 10 ns after the other.
    pub(super) fn collect(&mut self, thread: u64, time: u64, steps: &[(u8, u8)]) {
        for (at, (event, generation)) in (0..).zip(steps.iter().copied()) {
            self.event(thread, time + 10 * at, Event::Gc { event, generation });
        }
    }

    /// A flush ends, and what was read is reported.
    pub(super) fn flush(&mut self, time: u64) {
        self.event(8, time, Event::Sync { kind: sync::PERIODIC });
        self.report();
    }

    pub(super) fn report(&mut self) {
        self.runtime.report(&self.names, &stamp, &mut self.seen);
    }

    pub(super) fn tick(&mut self) {
        self.now += 1;
        let now = Duration::from_secs(self.now);
        self.runtime.tick(now, &self.names, &stamp, &mut self.seen);
    }

    pub(super) fn end(&mut self) {
        self.runtime.end(&self.names, &stamp, &mut self.seen);
    }

    /// Reads a stream in pieces, each of which is reported.
    pub(super) fn read(bytes: &[u8], piece: usize) -> Self {
        let (mut process, mut decoder) = (Self::default(), Decoder::new());
        let mut input = BytesMut::new();
        for bytes in bytes.chunks(piece) {
            input.extend_from_slice(bytes);
            if decoder.feed(&mut input, &mut process).is_err() {
                break;
            }
            process.report();
        }
        process.end();
        process
    }
}

impl Visitor for Process {
    fn header(&mut self, header: &Header) {
        self.begin(header);
    }

    fn buffer(&mut self, buffer: &Buffer) {
        self.thread = buffer.thread;
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        Self::event(self, self.thread, time, event);
    }

    fn bad(&mut self, _: BadBuffer, _: u64) {
        self.runtime.lost();
    }
}

/// A whole collection of a generation in a pause of its own.
pub(super) const fn collection(generation: u8) -> [(u8, u8); 8] {
    [
        (gc::PRE_STOP_WORLD, 1),
        (gc::PRE_STOP_WORLD_LOCKED, 1),
        (gc::POST_STOP_WORLD, 1),
        (gc::START, generation),
        (gc::END, generation),
        (gc::PRE_START_WORLD, 1),
        (gc::POST_START_WORLD, 1),
        (gc::POST_START_WORLD_UNLOCKED, 1),
    ]
}

/// The stream of a capture in `qa/corpus/mono/mlpd`, or of the bigger ones, which are not
/// everywhere.
pub(super) fn capture(name: &str) -> Option<Vec<u8>> {
    let mut bytes = file(&format!("{name}.mlpd")).or_else(|| file(&format!("{name}.mlpd.gz")))?;
    while bytes.starts_with(&[0x1f, 0x8b]) {
        let mut decoded = Vec::new();
        let _ = GzDecoder::new(&bytes[..]).read_to_end(&mut decoded);
        bytes = decoded;
    }
    Some(bytes)
}

/// What an independent decoder found in a capture, and what its program counted.
pub(super) fn facts(name: &str) -> Option<serde_json::Value> {
    serde_json::from_slice(&file(&format!("{name}.facts.json"))?).ok()
}

fn file(name: &str) -> Option<Vec<u8>> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [top.join("qa/corpus/mono/mlpd"), top.join("../shared/data/mono")];
    folders.iter().find_map(|folder| fs::read(folder.join(name)).ok())
}
