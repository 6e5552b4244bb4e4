//! Values: one snapshot for each fetch PDU.

use super::entries::{Entries, Row};
use super::state::State;
use super::sys;
use crate::events::{Caps, Delivery, Want};
use crate::model::{EventLeaf, Origin, Pmid, Value, ValueType};
use crate::sources::{PARAM_CLUSTER, SOURCES};
use crate::store::{Peer, SelfStats, Stat};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of event records of one stream, and of all together, in one fetch. The rest comes with the next: a large PDU
/// makes pmcd and the client keep buffers of its size for ever (specs/pcp-figures.md section 4).
const STREAM_BYTES: usize = 1 << 20;
const FETCH_BYTES: usize = 8 << 20;

const NO_VALUE: c_int = 0;
const VALUE: c_int = 1;

/// The fetch that is being answered.
#[derive(Debug, Default)]
pub(super) struct FetchScope {
    now: Duration,
    stale: Duration,
    ctx: u32,
    max_records: usize,
    bytes_left: usize,
    /// Which arrays this PDU asks for, by source and event kind.
    wants: HashMap<(usize, u8), Want>,
    /// Arrays of this PDU: libpcp_pmda reads them when all metrics have been asked for.
    deliveries: HashMap<(usize, u8, u32), Delivery>,
}

impl FetchScope {
    /// A fetch begins: `pmids` are all that it asks for.
    pub(super) fn begin(
        &mut self,
        entries: &Entries,
        pmids: &[u32],
        ctx: i32,
        now: Duration,
        stale: Duration,
        max_records: usize,
    ) {
        self.release();
        (self.now, self.stale, self.ctx) = (now, stale, ctx.cast_unsigned());
        (self.max_records, self.bytes_left) = (max_records, FETCH_BYTES);
        self.wants.clear();
        for pmid in pmids {
            if let Some(Row { origin: Origin::Event(kind, leaf), source: Some(source), .. }) = entries.by_pmid(*pmid) {
                let want = self.wants.entry((*source, *kind)).or_default();
                want.low |= *leaf == EventLeaf::Records;
                want.high |= *leaf == EventLeaf::HighResRecords;
            }
        }
    }

    /// The answer is on its way: its arrays are not needed any more.
    pub(super) fn release(&mut self) {
        self.deliveries = HashMap::new();
    }
}

impl State {
    /// One value into `atom`; libpcp_pmda's status.
    pub(super) fn value(&mut self, index: usize, inst: u32, atom: &mut sys::pmAtomValue) -> c_int {
        let Some(row) = self.entries.row(index) else { return sys::PM_ERR_PMID };
        let Some(serial) = Entries::serial(row.area, row.source) else {
            return match row.origin {
                Origin::SelfStat => self.own(row.item, row.ty, atom),
                _ => NO_VALUE,
            };
        };
        let Some(peer) = self.domains.peer(serial, inst) else { return sys::PM_ERR_INST };
        let agents = serial == crate::store::AGENT_INDOM;
        let fresh = || agents || peer.life.fresh(self.fetch.now, self.fetch.stale);
        let bits = match row.origin {
            Origin::Idle => u64::try_from(peer.life.idle(self.fetch.now).as_nanos()).ok(),
            Origin::Cell if agents => peer.agent.get(row.item),
            Origin::Cell => peer.cells.get(row.item).filter(|_| fresh()),
            Origin::Column(column) if row.ty == ValueType::Text => {
                let text = peer.text(column).filter(|_| fresh());
                return text.map_or(NO_VALUE, |t| put_text(&mut self.scratch, &t, atom));
            }
            Origin::Column(column) => peer.cells.get(column).filter(|_| fresh()),
            Origin::Text if agents => {
                let text =
                    if row.item == 1 { SOURCES.get(peer.source).map_or("", |s| s.name).to_owned() } else { peer.address() };
                return put_text(&mut self.scratch, &text, atom);
            }
            Origin::Text => {
                let text = peer.text(row.item).filter(|_| fresh());
                return text.map_or(NO_VALUE, |t| put_text(&mut self.scratch, &t, atom));
            }
            Origin::Control(verb) => return put_text(&mut self.scratch, &peer.answer(verb), atom),
            Origin::Event(kind, leaf) => {
                let peer = Arc::clone(peer);
                return self.event(&peer, inst, kind, leaf, atom);
            }
            Origin::Param | Origin::SelfStat => None,
        };
        match bits.and_then(|b| Value::from_bits(b, row.ty)) {
            Some(value) => put(&value, atom),
            None => NO_VALUE,
        }
    }

    fn own(&mut self, item: u16, ty: ValueType, atom: &mut sys::pmAtomValue) -> c_int {
        let stats = &self.store.stats;
        let bits = match SelfStats::by_item(item) {
            Some(Stat::Version) => return put_text(&mut self.scratch, env!("CARGO_PKG_VERSION"), atom),
            Some(Stat::ConfigFile) => {
                let file = stats.config_file();
                return put_text(&mut self.scratch, &file, atom);
            }
            Some(Stat::Uptime) => u64::try_from(stats.uptime(self.fetch.now).as_nanos()).unwrap_or(u64::MAX),
            Some(Stat::MemoryEvents) => self.store.budget.held() as u64,
            Some(Stat::MemoryLimit) => self.store.budget.limit() as u64,
            Some(stat) => stats.get(stat),
            None => return sys::PM_ERR_PMID,
        };
        Value::from_bits(bits, ty).map_or(NO_VALUE, |v| put(&v, atom))
    }

    fn event(&mut self, peer: &Arc<Peer>, inst: u32, kind: u8, leaf: EventLeaf, atom: &mut sys::pmAtomValue) -> c_int {
        let Some(stream) = peer.existing_stream(kind) else { return NO_VALUE };
        let stats = stream.stats();
        atom.ull = match leaf {
            EventLeaf::Count => stats.count,
            EventLeaf::Bytes => stats.bytes,
            EventLeaf::Lost => stats.lost,
            EventLeaf::Memory => stats.memory,
            EventLeaf::Clients => stats.clients.into(),
            EventLeaf::Table => {
                let entries = &self.entries;
                let prefix = format!("apm.{}.param.", SOURCES.get(peer.source).map_or("", |s| s.name));
                let name = |p: Pmid| entries.by_pmid(p.0).map(|r| r.name.trim_start_matches(&prefix).to_owned());
                let text = crate::store::csv(stream, name);
                return put_text(&mut self.scratch, &text, atom);
            }
            EventLeaf::Records | EventLeaf::HighResRecords => {
                let key = (peer.source, kind, inst);
                let (fetch, domain) = (&mut self.fetch, self.store.domain());
                let delivery = fetch.deliveries.entry(key).or_insert_with(|| {
                    let want = fetch.wants.get(&(peer.source, kind)).copied().unwrap_or_default();
                    let records = if fetch.bytes_left == 0 { 0 } else { fetch.max_records };
                    let caps = Caps { records, bytes: STREAM_BYTES.min(fetch.bytes_left) };
                    let cluster = SOURCES.get(peer.source).map_or(0, |s| s.cluster + PARAM_CLUSTER);
                    stream.read(fetch.ctx, want, caps, Pmid::new(domain, cluster, 0))
                });
                let array = if leaf == EventLeaf::Records { &delivery.low } else { &delivery.high };
                let Some(array) = array else { return NO_VALUE };
                fetch.bytes_left = fetch.bytes_left.saturating_sub(array.len());
                // pmValueBlock and pmEventArray begin with 32 bits, and C reads them in place: malloc aligns more than that.
                debug_assert!(array.as_ptr().addr().is_multiple_of(4));
                atom.vbp = array.as_ptr().cast_mut().cast();
                return VALUE;
            }
        };
        VALUE
    }
}

fn put(value: &Value, atom: &mut sys::pmAtomValue) -> c_int {
    match value {
        Value::I32(v) => atom.l = *v,
        Value::U32(v) | Value::Wrapping32(v) => atom.ul = *v,
        Value::I64(v) => atom.ll = *v,
        Value::U64(v) => atom.ull = *v,
        Value::F32(v) => atom.f = *v,
        Value::F64(v) => atom.d = *v,
        Value::Text(_) => return NO_VALUE,
    }
    VALUE
}

/// A string value: libpcp_pmda copies it before it asks for the next value, so one buffer serves all.
fn put_text(scratch: &mut std::ffi::CString, text: &str, atom: &mut sys::pmAtomValue) -> c_int {
    *scratch = super::text::c_string(text);
    atom.cp = scratch.as_ptr().cast_mut();
    VALUE
}
