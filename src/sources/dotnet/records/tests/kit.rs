//! A sink that unpacks records, and streams to play into it.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use flate2::read::GzDecoder;

use crate::contract::Sink;
use crate::contract::{ParamId, Update};
use crate::events::{Batch, HighRes, Records as Packed};
use crate::model::{EventKindId, MetricItem, MetricSpec, Now, Pmid, Stamp, ValueType};
use crate::sources::dotnet::Config;
use crate::sources::dotnet::metrics as m;
use crate::sources::dotnet::stream::{Parts, Stream, Ticks};

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) kind: EventKindId,
    pub(super) stamp: Stamp,
    pub(super) flags: u32,
    pub(super) params: Vec<(String, String)>,
}

impl Seen {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(of, _)| of == name).map(|(_, value)| &**value)
    }

    /// Names of its parameters.
    pub(super) fn names(&self) -> Vec<&str> {
        self.params.iter().map(|(name, _)| &**name).collect()
    }
}

/// Unpacks records.
#[derive(Debug, Default)]
pub(super) struct Unpacked {
    pub(super) specs: Vec<Option<MetricSpec>>,
    /// Parameters for which there is room; `None`: all.
    pub(super) room: Option<usize>,
    pub(super) records: Vec<Seen>,
    pub(super) counts: Vec<(MetricItem, u64)>,
    pub(super) errors: Vec<String>,
    /// Bytes of the largest batch.
    pub(super) largest: usize,
}

impl Unpacked {
    pub(super) fn count(&self, item: MetricItem) -> u64 {
        self.counts.iter().filter(|(of, _)| *of == item).map(|(_, more)| more).sum()
    }

    pub(super) fn of(&self, kind: EventKindId) -> Vec<&Seen> {
        self.records.iter().filter(|record| record.kind == kind).collect()
    }

    fn name(&self, pmid: Pmid) -> String {
        let item = usize::from(pmid.item());
        match pmid.cluster() {
            0 => m::PARAMS[item - 1].name.to_owned(),
            n => self.specs[usize::from(n - 1) * 1024 + item].as_ref().unwrap().path.clone(),
        }
    }
}

impl Sink for Unpacked {
    fn update(&mut self, update: Update<'_>) {
        match update {
            Update::Define { slot, spec } => {
                let slot = slot as usize;
                if self.specs.len() <= slot {
                    self.specs.resize(slot + 1, None);
                }
                let defined = self.specs.iter().flatten().count();
                if self.room.is_none_or(|room| defined < room) {
                    self.specs[slot] = Some(spec.clone());
                }
            }
            Update::Count { item, more } => self.counts.push((item, more)),
            Update::Error(text) => self.errors.push(text.to_owned()),
            _ => {}
        }
    }

    fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)> {
        match id {
            ParamId::Item(item) => {
                let def = m::PARAMS.get(usize::from(item.get()) - 1)?;
                Some((Pmid::new(400, 0, item.get()), def.ty))
            }
            ParamId::Slot(slot) => {
                let spec = self.specs.get(slot as usize)?.as_ref()?;
                let [cluster, item] =
                    [slot / 1024 + 1, slot % 1024].map(|n| u16::try_from(n).unwrap());
                Some((Pmid::new(400, cluster, item), spec.ty))
            }
        }
    }

    fn append(&mut self, kind: EventKindId, records: &mut Batch) {
        self.largest = self.largest.max(records.size());
        let packed = Packed::<HighRes>::packed(records.packed()).map(Result::unwrap);
        let seen = packed.map(|record| Seen {
            kind,
            stamp: record.stamp,
            flags: record.flags,
            params: record
                .params
                .iter()
                .map(|param| (self.name(param.pmid), param.value.to_string()))
                .collect(),
        });
        let seen: Vec<_> = seen.collect();
        self.records.extend(seen);
        records.clear();
    }
}

/// All kinds, and no limit.
pub(super) fn all() -> Config {
    let kinds = ["gc", "exception", "contention", "starvation", "assembly", "method", "allocation"];
    Config {
        records: kinds.map(str::to_owned).to_vec(),
        records_rate: 1_000_000,
        contention_record: 0,
        ..Config::default()
    }
}

/// The stream of a capture.
pub(super) fn capture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("qa/corpus/dotnet");
    let file = std::fs::File::open(path.join(format!("{name}.s2c.gz"))).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    if bytes.starts_with(b"DOTNET_IPC_V1") {
        bytes.drain(..usize::from(u16::from_le_bytes([bytes[14], bytes[15]])));
    }
    bytes
}

/// Plays a stream in pieces of this many bytes; each is a turn of the reader, and `batch` of them
/// are a batch.
pub(super) fn play_in(bytes: &[u8], config: &Config, piece: usize, batch: usize) -> Unpacked {
    let mut sink = Unpacked::default();
    play_into(bytes, config, (piece, batch), &mut sink);
    sink
}

pub(super) fn play_into(
    bytes: &[u8],
    config: &Config,
    (piece, batch): (usize, usize),
    sink: &mut Unpacked,
) -> Parts {
    let (mut stream, mut parts) = (Stream::default(), Parts::new(config, Box::new(Named)));
    let mut input = BytesMut::new();
    let now = Now { wall: Stamp { sec: 1_800_000_000, nsec: 0 }, monotonic: Duration::ZERO };
    for (n, piece) in bytes.chunks(piece).enumerate() {
        input.extend_from_slice(piece);
        let _ = stream.feed(now, Ticks(0), &mut input, &mut parts, sink);
        stream.report(now, &mut parts, sink);
        if n % batch == batch - 1 {
            parts.quiet(sink);
        }
    }
    parts.quiet(sink);
    parts.quiet(sink);
    parts
}

/// Plays a capture as a whole.
pub(super) fn play(name: &str, config: &Config) -> Unpacked {
    play_in(&capture(name), config, usize::MAX, 1)
}

/// Knows all threads, and stack 1.
#[derive(Debug)]
struct Named;

impl super::super::Lookup for Named {
    fn thread_name(&mut self, thread: u64) -> Option<String> {
        Some(format!("t{thread}"))
    }

    fn stack(&mut self, id: u32, to: &mut String) {
        to.push_str(&format!("Main,Of{id}"));
    }
}
