//! What a peer adds to the rows of its service.

use std::time::Duration;

use super::Connection;
use crate::catalogue::{OTHER, ServiceRows, ServiceSum};
use crate::contract::Service;
use crate::model::{MetricItem, RowItem, STACK_NAME, TableId};
use crate::store::Share;

/// Slot of the row of the service.
const SLOT: u32 = 0;
/// Least time between two deliveries: the peers of a service write to the same row. It is a hundredth
/// of the shortest interval that rates are looked at in: what is not delivered when a row is read is
/// counted in the next interval.
const PACE: Duration = Duration::from_millis(10);
/// How often the peer is made a member again.
const MEMBER: Duration = Duration::from_millis(900);

/// The service of a peer, and what the peer has counted since the last delivery.
#[derive(Debug)]
pub(super) struct Served {
    service: Service,
    /// Name of the peer.
    instance: Box<str>,
    /// Of each sum.
    sums: Box<[u64]>,
    /// Values that were set, by sum and slot.
    known: Vec<(usize, u32, u64)>,
    /// Something has been counted since the last delivery.
    touched: bool,
    /// When the next delivery may be, and when the peer is to be made a member again: its row may have lost
    /// or got its instance.
    next: Duration,
    member: Duration,
}

impl Served {
    /// A counter is set: it counts what it grew by.
    fn grown(&mut self, sum: usize, slot: u32, value: u64) {
        let known = self.known.iter_mut().find(|(of, at, _)| (*of, *at) == (sum, slot));
        let more = match known {
            Some((_, _, known)) => {
                let before = std::mem::replace(known, value.max(*known));
                value.saturating_sub(before)
            }
            None => {
                self.known.push((sum, slot, value));
                if self.service.is_new { value } else { 0 }
            }
        };
        self.add(sum, more);
    }

    fn add(&mut self, sum: usize, more: u64) {
        self.touched |= more > 0;
        self.sums.get_mut(sum).into_iter().for_each(|sum| *sum = sum.wrapping_add(more));
    }

    /// The key of a row of the service; `None`: the row of the rest of all services.
    fn key(&self, rows: &ServiceRows, own: Option<&str>) -> Option<String> {
        let name = &*self.service.name;
        match own {
            Some(own) if rows.label.is_some() => Some(format!("{name}::{own}")),
            Some(stack) if stack != OTHER => {
                let mut key = format!("{},{stack}", name.replace(',', ";"));
                // Frames that do not fit are left out.
                let start = key.as_bytes().get(..=STACK_NAME);
                if let Some(end) = start.and_then(|start| memchr::memrchr(b',', start)) {
                    key.truncate(end);
                }
                Some(key)
            }
            _ => None,
        }
    }

    /// The key without the name of the peer.
    fn own<'k>(&self, key: &'k str) -> &'k str {
        let rest = key.strip_prefix(&*self.instance).and_then(|rest| rest.strip_prefix("::"));
        rest.unwrap_or(key)
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.service.name.capacity()
            + size_of_val(&*self.sums)
            + self.known.capacity() * size_of::<(usize, u32, u64)>()
    }
}

impl Connection {
    /// The peer is one of a service from now on.
    pub(super) fn serve(&mut self, instance: &str, service: &Service) {
        let Some(services) = self.table.service else { return };
        self.bind_row(services.table, SLOT, Some(&service.name));
        self.label_row(services.table, SLOT, service, None);
        for sum in services.sums {
            self.count_row(SLOT, sum.sum(), 0);
        }
        let position = |item: RowItem| {
            let of = |sum: &ServiceSum| matches!(sum, ServiceSum::OfRows(of, ..) if *of == item);
            services.sums.iter().position(of)
        };
        let before = service.before.iter();
        let before =
            before.filter_map(|(item, slot, value)| Some((position(*item)?, *slot, *value)));
        self.served = Some(Box::new(Served {
            service: service.clone(),
            instance: instance.into(),
            sums: vec![0; services.sums.len()].into(),
            known: before.collect(),
            touched: false,
            next: self.now.monotonic,
            member: self.now.monotonic + MEMBER,
        }));
        self.join_row(services.table, SLOT);
    }

    fn label_row(
        &mut self,
        table: TableId,
        slot: u32,
        service: &Service,
        own: Option<(&'static str, &str)>,
    ) {
        let Some(bound) = self.bound(table, slot) else { return };
        let of_service = service.labels.iter().map(|(name, value)| (*name, &**value));
        let labels: Vec<_> = of_service.chain(own).collect();
        bound.set_labels(&labels);
    }

    /// A counter of the peer has grown.
    pub(super) fn serve_count(&mut self, item: MetricItem, more: u64) {
        let (Some(served), Some(services)) = (&mut self.served, &self.table.service) else {
            return;
        };
        for (sum, _) in (0..).zip(services.sums).filter(|(_, sum)| sum.is_of(item)) {
            served.add(sum, more);
        }
    }

    /// A counter of the peer was set.
    pub(super) fn serve_set(&mut self, item: MetricItem, value: u64) {
        let (Some(served), Some(services)) = (&mut self.served, &self.table.service) else {
            return;
        };
        for (sum, _) in (0..).zip(services.sums).filter(|(_, sum)| sum.is_of(item)) {
            served.grown(sum, 0, value);
        }
    }

    /// A counter of one of the peer's rows was set, or has grown by `value`.
    pub(super) fn serve_row(&mut self, slot: u32, item: RowItem, value: u64, is_set: bool) {
        let (Some(served), Some(services)) = (&mut self.served, &self.table.service) else {
            return;
        };
        let of = |sum: &ServiceSum| {
            matches!(sum, ServiceSum::OfRows(of, at, _)
                if *of == item && at.is_none_or(|at| at == slot))
        };
        match services.sums.iter().position(of) {
            Some(sum) if is_set => served.grown(sum, slot, value),
            Some(sum) => served.add(sum, value),
            None => {}
        }
        let mut rows = services.rows.iter().flat_map(|rows| rows.sums);
        if !is_set && let Some((_, sum)) = rows.find(|(of, _)| *of == item) {
            self.count_row(slot, *sum, value);
        }
    }

    /// A slot is bound to a row of the peer: in the table of the service to that of the same key.
    pub(super) fn serve_bind(&mut self, table: TableId, slot: u32, key: Option<&str>) {
        let Some((rows, of_service)) = self.rows_of_service(table) else { return };
        let Some(served) = self.served.take() else { return };
        let own = key.map(|key| served.own(key));
        self.bind_row(of_service, slot, served.key(&rows, own).as_deref());
        if let Some(own) = rows.label.zip(own) {
            self.label_row(of_service, slot, &served.service, Some(own));
        }
        self.served = Some(served);
    }

    /// What services have of a table of the peer, and their table.
    fn rows_of_service(&self, table: TableId) -> Option<(ServiceRows, TableId)> {
        let mut all = self.table.service.iter().flat_map(|services| services.rows);
        all.find_map(|rows| rows.tables().filter(|(of, _)| *of == table).map(|(_, to)| (*rows, to)))
    }

    /// All slots of a table of the peer are free: in the table of the service too.
    pub(super) fn serve_free(&mut self, table: TableId) {
        if let Some((_, of_service)) = self.rows_of_service(table) {
            self.free_rows(of_service);
        }
    }

    /// Adds what was counted to the row of the service, if the last time was not right before, and at the end.
    pub(super) fn deliver_service(&mut self, is_last: bool) {
        let now = self.now.monotonic;
        let (Some(mut served), Some(services)) = (self.served.take(), self.table.service) else {
            return;
        };
        if now >= served.member {
            served.member = now + MEMBER;
            self.join_row(services.table, SLOT);
        }
        if served.touched && (is_last || now >= served.next) {
            (served.touched, served.next) = (false, now + PACE);
            let share = self.peer.as_ref().map(|peer| peer.share()).unwrap_or_default();
            for (sum, made) in services.sums.iter().zip(&mut served.sums) {
                let waits = matches!(sum, ServiceSum::Alone(..)) && share != Share::Alone;
                if waits && share == Share::Awaited && !is_last {
                    served.touched |= *made > 0;
                    continue;
                }
                let more = std::mem::take(made);
                if more > 0 && (!waits || share == Share::Awaited) {
                    self.count_row(SLOT, sum.sum(), more);
                }
            }
        }
        self.served = Some(served);
    }
}

#[cfg(test)]
#[path = "served_tests.rs"]
mod tests;
