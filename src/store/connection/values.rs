//! Values of static and dynamic metrics.

use std::num::{NonZeroU16, NonZeroU32};

use super::totals::growth;
use super::{BATCH_MAX, Connection, SLOTS_MAX, Target, batch};
use crate::catalogue::Stat;
use crate::contract::SampleValue;
use crate::events::flags;
use crate::model::{EventKindId, MetricItem, MetricSpec, Place, Stamp, Value, ValueType};
use crate::store::log_throttle::LogThrottle;
use crate::store::peer::Kept;

impl Connection {
    pub(super) fn define(&mut self, slot: u32, spec: &MetricSpec) {
        let slot = slot as usize;
        if slot >= SLOTS_MAX {
            return;
        }
        if self.slots.len() <= slot {
            if self.slots.capacity() <= slot {
                // Not twice as many: thousands of agents have some hundred slots each.
                let more = (slot + 1 - self.slots.len()).max(self.slots.len() / 8).max(8);
                self.slots.reserve_exact(more);
            }
            self.slots.resize(slot + 1, None);
        }
        let (store, source) = (&self.store, self.source);
        let metric = match &self.peer {
            Some(peer) => {
                let metric = store.define_for(source, spec, &mut peer.names());
                metric.inspect(|m| {
                    if peer.is_read() && m.spec.place.has_param() {
                        m.seen();
                    }
                })
            }
            None => store.define_for(source, spec, &mut self.names),
        };
        if metric.is_none()
            && let Some(n) = self.throttle.allow(self.now.monotonic)
        {
            log::warn!(
                "{}: {} is not shown: limits.names (or a peer's share of it) or limits.name_length is reached{}",
                self.name(),
                spec.key,
                LogThrottle::more(n)
            );
        }
        let total = metric.as_ref().and_then(|metric| self.total_of(metric, spec));
        if let Some(place) = self.slots.get_mut(slot) {
            *place = metric.map(|m| Target {
                column: m.column(),
                ty: m.spec.ty,
                param: NonZeroU32::new(m.param.0).filter(|_| m.spec.place.has_param()),
                table: match m.spec.place {
                    Place::Rows(_, table) => Some(table),
                    _ => None,
                },
                seen: false,
                total: total.and_then(NonZeroU16::new),
            });
        }
    }

    pub(super) fn unshown(&mut self, more: u64) {
        self.store.stats.add(Stat::NamesRejected, more);
        if let Some(n) = self.throttle.allow(self.now.monotonic) {
            log::warn!(
                "{}: {more} metrics are not shown: limits.names is reached{}",
                self.name(),
                LogThrottle::more(n)
            );
        }
    }

    pub(super) fn hide(&self, slot: u32) {
        let target = self.slots.get(slot as usize).copied().flatten();
        if let (Some(peer), Some(target)) = (&self.peer, target) {
            peer.hide(target.column);
        }
    }

    pub(super) fn set(&mut self, item: MetricItem, value: &Value) {
        let ty = match value {
            Value::Text(text) => return self.set_text(item.get(), text),
            Value::I32(_) | Value::I64(_) => ValueType::I64,
            Value::F32(_) | Value::F64(_) => ValueType::F64,
            _ => ValueType::U64,
        };
        if let (Some(peer), Some(bits)) = (&self.peer, value.to_bits(ty)) {
            peer.cells.set(item.get(), bits);
            self.serve_set(item, bits);
        }
    }

    pub(super) fn set_text(&mut self, column: u16, text: &str) {
        let Some(peer) = &self.peer else { return };
        match peer.set_text(column, text, &self.store.memory) {
            Kept::Whole => {}
            Kept::Cut => self.store.stats.add(Stat::TextsCut, 1),
            Kept::Dropped => {
                if let Some(n) = self.throttle.allow(self.now.monotonic) {
                    log::warn!(
                        "{}: a text is not shown: limits.memory is reached{}",
                        self.name(),
                        LogThrottle::more(n)
                    );
                }
            }
        }
    }

    pub(super) fn sample(
        &mut self,
        kind: EventKindId,
        stamp: Stamp,
        values: &[(u32, SampleValue)],
    ) {
        let Some(peer) = self.peer.clone() else { return };
        let mut records =
            batch(&mut self.events, &self.table, kind).map(std::mem::take).unwrap_or_default();
        records.record(stamp, flags::POINT);
        let sums = if self.table.totals.is_some() { values.len() } else { 0 };
        let mut grown = Vec::with_capacity(sums);
        for (slot, value) in values {
            let Some(target) = self.slots.get_mut(*slot as usize).and_then(Option::as_mut) else {
                continue;
            };
            let first = !std::mem::replace(&mut target.seen, true);
            if target.ty == ValueType::Text {
                if let SampleValue::Value(Value::Text(text)) = value {
                    let (column, param) = (target.column, target.param());
                    if let Some(param) = param {
                        records.text(param, text);
                    }
                    self.set_text(column, text);
                }
                continue;
            }
            peer.cells.update(target.column, |before| {
                let bits = match value {
                    SampleValue::Wrapping32(v) => widen(before, *v, first),
                    SampleValue::Value(value) => value.to_bits(target.ty)?,
                };
                if let Some(total) = target.total
                    && let Some(more) = growth(peer.origin, before, bits)
                {
                    grown.push((total.get(), more));
                }
                if let Some(param) = target.param() {
                    records.number(param, target.ty, bits);
                }
                Some(bits)
            });
        }
        self.add_totals(&grown);
        let large = records.size() > BATCH_MAX;
        if let Some(batch) = self.events.get_mut(kind.index()) {
            *batch = records;
        }
        if large {
            self.deliver(kind);
        }
    }
}

/// Widens a counter of 32 bits that wraps: the low half is the peer's value, the high half counts
/// the wraps.
///
/// `first`: the first value of a connection. The peer may be the same process, or another process
/// of the same name and number (every main process of a container is number 1). If the counter went
/// down from its lower half, it is taken for another process.
pub(super) const fn widen(before: Option<u64>, now: u32, first: bool) -> u64 {
    let now = now as u64;
    match before {
        None => now,
        Some(before) => {
            let same_era = before & !0xffff_ffff | now;
            if same_era >= before {
                same_era
            } else if first && before & 0x8000_0000 == 0 {
                now
            } else {
                same_era.saturating_add(1 << 32)
            }
        }
    }
}
