//! A process whose stream is read, and a peer that has its values by name.

use std::fs;
use std::io::Read;
use std::path::Path;

use bytes::BytesMut;
use flate2::read::GzDecoder;

use crate::contract::{Recorded, RecordedEvent};
use crate::model::{ParamItem, Stamp};
use crate::sources::Source;
use crate::sources::mono::events::{Names, Runtime};
use crate::sources::mono::mlpd::{
    Act, BadBuffer, Buffer, Decoder, Event, Header, Visitor, gc, sync,
};
use crate::sources::mono::{Mono, metrics as m};

/// Parameters of records by their items.
pub(super) trait Params {
    /// A parameter, or an empty text.
    fn param(&self, item: ParamItem) -> &str;
}

impl Params for RecordedEvent {
    fn param(&self, item: ParamItem) -> &str {
        let def = m::PARAMS.iter().find(|def| def.item == item).unwrap();
        self.get(def.name).unwrap_or_default()
    }
}

/// One process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) runtime: Runtime,
    pub(super) seen: Recorded,
    pub(super) names: Names,
    thread: u64,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            runtime: Runtime::default(),
            seen: Recorded::new(&Mono::TABLE),
            names: Names::default(),
            thread: 0,
        }
    }
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
            Event::Method { method, name, .. } => self.names.name_method(method, name),
            Event::Class { act: Act::Load, id, name, .. } => self.names.name_class(id, name),
            Event::Vtable { act: Act::Load, id, class, .. } => self.names.vtable(id, class),
            Event::Thread { act: Act::Name, id, name } => self.names.name_thread(id, name),
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
        self.settle();
    }

    pub(super) fn settle(&mut self) {
        self.runtime.settle(false, &self.names, &stamp, &mut self.seen);
    }

    pub(super) fn tick(&mut self) {
        self.runtime.tick(&self.names, &stamp, &mut self.seen);
    }

    pub(super) fn end(&mut self) {
        self.runtime.settle(true, &self.names, &stamp, &mut self.seen);
    }

    /// Reads a stream in pieces, each of which is reported.
    pub(super) fn read(bytes: &[u8], piece: usize) -> Self {
        let (mut process, mut decoder) = (Self::default(), Decoder::default());
        let mut input = BytesMut::new();
        for bytes in bytes.chunks(piece) {
            input.extend_from_slice(bytes);
            if decoder.feed(&mut input, &mut process).is_err() {
                break;
            }
            process.settle();
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
