//! What is counted for one peer between two flushes, and set in its rows: the store is told once for each of a
//! turn.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::longest::Longest;
use super::{NewRow, Recipient, Update};
use crate::heap_size;
use crate::model::{MetricItem, RowItem, STATIC_ITEMS, TableId, Value};

/// Time without a count after which the memory is freed: most peers are idle.
const IDLE: Duration = Duration::from_secs(15);
/// Keys of one table that have slots at the same time. When there are more, all are bound anew: which of
/// them have rows of their own is the store's decision.
const KEYS: usize = 1000;
/// Slot of the row for the keys beyond [`KEYS`], until the next flush.
const REST: u32 = 0;

thread_local! {
    /// The counters of the next peer that counts: none has any between its turns.
    static SPARE: Cell<Option<Box<Counters>>> = const { Cell::new(None) };
}

/// Sums by item, and numbers that are set.
#[derive(Debug)]
struct Counters {
    sums: [u64; STATIC_ITEMS as usize],
    /// A bit for each item that has one.
    touched: u128,
    /// A bit for each of these that was set, and for each that has the bits of an F64.
    set: u128,
    floats: u128,
}

impl Counters {
    fn set(&mut self, item: MetricItem, bits: u64, is_float: bool) {
        let Some(sum) = self.sums.get_mut(usize::from(item.get())) else { return };
        *sum = bits;
        let bit = 1 << item.get();
        self.touched |= bit;
        self.set |= bit;
        self.floats = if is_float { self.floats | bit } else { self.floats & !bit };
    }

    fn forget(&mut self, item: MetricItem) {
        self.touched &= !(1 << item.get());
        self.set &= self.touched;
        self.sums.get_mut(usize::from(item.get())).into_iter().for_each(|sum| *sum = 0);
    }

    fn tell(&mut self, to: &mut dyn Recipient) {
        let mut left = std::mem::take(&mut self.touched);
        let set = std::mem::take(&mut self.set);
        while left != 0 {
            let number = left.trailing_zeros();
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let more = self.sums.get_mut(number as usize).map(std::mem::take).unwrap_or_default();
            #[expect(clippy::cast_possible_truncation, reason = "below 128")]
            let item = MetricItem::new(number as u16);
            to.update(if set & bit == 0 {
                Update::Count { item, more }
            } else if self.floats & bit == 0 {
                Update::Set { item, value: Value::U64(more) }
            } else {
                Update::Set { item, value: Value::F64(f64::from_bits(more)) }
            });
        }
    }
}

fn spare() -> Box<Counters> {
    SPARE.take().unwrap_or_else(|| {
        Box::new(Counters { sums: [0; STATIC_ITEMS as usize], touched: 0, set: 0, floats: 0 })
    })
}

/// A bit for each cell of a row that has a sum, a value that is set, or a maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks {
    added: u32,
    set: u32,
    raised: u32,
}

/// What becomes of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Add,
    Set,
    Raise,
}

impl Marks {
    #[inline(always)]
    fn change(&mut self, sum: &mut u64, cell: usize, value: u64, change: Change) {
        let bit = 1 << cell;
        match change {
            Change::Add => {
                self.added |= bit;
                *sum = sum.wrapping_add(value);
            }
            Change::Set => {
                self.set |= bit;
                *sum = value;
            }
            Change::Raise => {
                self.raised |= bit;
                *sum = value.max(*sum);
            }
        }
    }
}

/// Sums of the rows of one table, by slot, and values of their other cells.
#[derive(Debug, Default)]
struct Rows {
    /// Cells of a row.
    cells: usize,
    /// The one that ranks the rows.
    score: u16,
    /// All cells of slot 0, of slot 1, ...
    sums: Vec<u64>,
    /// What is to be told of each slot.
    marks: Vec<Marks>,
    /// Slots with marks.
    touched: Vec<u32>,
    /// The slots of keys, by their hashes.
    keys: HashMap<u64, u32, RandomState>,
    /// The row of the rest, or the rows of a fixed list, are bound.
    bound: bool,
    /// When something was told of it last.
    used: Duration,
}

heap_size!(Rows { sums, marks, touched, keys });

impl Rows {
    /// Without slots. `cells`: how many a row has, and the one that ranks.
    #[cold]
    fn new((cells, score): (u16, u16), now: Duration) -> Box<Self> {
        Box::new(Self { cells: cells.into(), score, used: now, ..Self::default() })
    }

    /// Most changes are of slots with marks: nothing is called then.
    #[inline(always)]
    fn change(&mut self, slot: u32, item: RowItem, value: u64, change: Change) {
        let (at, cell) = (slot as usize, usize::from(item.get()));
        debug_assert!(cell < self.cells, "{item:?}");
        match (self.marks.get_mut(at), self.sums.get_mut(at * self.cells + cell)) {
            (Some(marks), Some(sum)) if *marks != Marks::default() => {
                marks.change(sum, cell, value, change);
            }
            _ => self.first(slot, item, value, change),
        }
    }

    /// The first change of a slot since it was told.
    #[inline(never)]
    fn first(&mut self, slot: u32, item: RowItem, value: u64, change: Change) {
        let (at, cell) = (slot as usize, usize::from(item.get()));
        if self.marks.len() <= at {
            self.marks.resize(at + 1, Marks::default());
            self.sums.resize((at + 1) * self.cells, 0);
        }
        let place = at * self.cells + cell;
        if let (Some(marks), Some(sum)) = (self.marks.get_mut(at), self.sums.get_mut(place)) {
            self.touched.push(slot);
            marks.change(sum, cell, value, change);
        }
    }

    /// A cell has no value: what was set or raised is not told.
    fn unset(&mut self, slot: u32, item: RowItem) {
        let (at, cell) = (slot as usize, usize::from(item.get()));
        let value = self.sums.get_mut(at * self.cells + cell);
        if let (Some(marks), Some(value)) = (self.marks.get_mut(at), value) {
            marks.set &= !(1 << cell);
            marks.raised &= !(1 << cell);
            *value = 0;
        }
    }

    /// Tells what is kept of a table. Of a row that begins with the sum that ranks: a key that gets a row by it
    /// has the rest there too.
    fn tell(&mut self, table: TableId, now: Duration, to: &mut dyn Recipient) {
        if !self.touched.is_empty() {
            self.used = now;
        }
        let Self { cells, score, sums, marks, touched, .. } = self;
        for slot in touched.drain(..) {
            let at = slot as usize;
            let Marks { added, set, raised } =
                marks.get_mut(at).map(std::mem::take).unwrap_or_default();
            let mut tell = |cell: u16| {
                let sum = sums.get_mut(at * *cells + usize::from(cell)).map(std::mem::take);
                let (item, value) = (RowItem::new(table, cell), sum.unwrap_or_default());
                to.update(match 1 << cell {
                    bit if added & bit != 0 => Update::RowCount { slot, item, more: value },
                    bit if set & bit != 0 => Update::RowSet { slot, item, value },
                    _ => Update::RowMax { slot, item, value },
                });
            };
            let first = added & 1 << *score;
            if first != 0 {
                tell(*score);
            }
            let mut left = (added | set | raised) ^ first;
            while left != 0 {
                #[expect(clippy::cast_possible_truncation, reason = "below 32")]
                tell(left.trailing_zeros() as u16);
                left &= left - 1;
            }
        }
    }

    /// Slots have been bound to rows here.
    fn has_slots(&self) -> bool {
        self.bound || !self.keys.is_empty()
    }
}

/// The sums of one peer since the last flush, and which keys have slots.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// The recipient is told each count at once.
    direct: bool,
    counters: Option<Box<Counters>>,
    /// By table.
    rows: Vec<Option<Box<Rows>>>,
    longest: Vec<Longest>,
    /// Something was counted since the last flush.
    dirty: bool,
    now: Duration,
    /// When something was counted last.
    used: Duration,
}

heap_size!(Counters {});
heap_size!(Sums { counters, rows, longest, each rows });

impl Sums {
    /// Sums that tell each count at once.
    pub(super) fn direct() -> Self {
        Self { direct: true, ..Self::default() }
    }

    pub(super) const fn set_now(&mut self, now: Duration) {
        self.now = now;
    }

    #[inline]
    pub(super) fn add(&mut self, item: MetricItem, more: u64, to: &mut dyn Recipient) {
        if self.direct {
            return to.update(Update::Count { item, more });
        }
        self.dirty = true;
        let counters = self.counters.get_or_insert_with(spare);
        if let Some(sum) = counters.sums.get_mut(usize::from(item.get())) {
            *sum = sum.wrapping_add(more);
            counters.touched |= 1 << item.get();
        }
    }

    /// A number is told at the end of the turn, what else there is at once.
    #[inline]
    pub(super) fn set(&mut self, item: MetricItem, value: Value, to: &mut dyn Recipient) {
        let (bits, is_float) = match value {
            _ if self.direct => return to.update(Update::Set { item, value }),
            Value::U32(number) => (number.into(), false),
            Value::U64(number) => (number, false),
            Value::F64(number) => (number.to_bits(), true),
            _ => return to.update(Update::Set { item, value }),
        };
        self.dirty = true;
        self.counters.get_or_insert_with(spare).set(item, bits, is_float);
    }

    /// A metric has no value from now on: what was counted before does not come back.
    pub(super) fn unset(&mut self, item: MetricItem, to: &mut dyn Recipient) {
        if let Some(counters) = &mut self.counters {
            counters.forget(item);
        }
        self.longest.retain(|longest| longest.item != item);
        to.update(Update::Unset { item });
    }

    #[inline]
    pub(super) fn row(
        &mut self,
        slot: u32,
        item: RowItem,
        value: u64,
        change: Change,
        to: &mut dyn Recipient,
    ) {
        match self.rows.get_mut(item.table().index()) {
            Some(Some(rows)) if !self.direct => {
                self.dirty = true;
                rows.change(slot, item, value, change);
            }
            _ => self.first(slot, item, value, change, to),
        }
    }

    /// The first change in a table since its memory was freed.
    #[cold]
    fn first(
        &mut self,
        slot: u32,
        item: RowItem,
        value: u64,
        change: Change,
        to: &mut dyn Recipient,
    ) {
        if self.direct {
            return to.update(match change {
                Change::Add => Update::RowCount { slot, item, more: value },
                Change::Set => Update::RowSet { slot, item, value },
                Change::Raise => Update::RowMax { slot, item, value },
            });
        }
        self.dirty = true;
        self.rows(item.table(), to).change(slot, item, value, change);
    }

    /// Adds to counters of a row, those of 0 left out.
    #[inline]
    pub(super) fn row_add_all<const N: usize>(
        &mut self,
        slot: u32,
        items: &[RowItem; N],
        more: [u64; N],
        to: &mut dyn Recipient,
    ) {
        let Some(first) = items.first() else { return };
        if self.direct {
            for (item, more) in items.iter().zip(more).filter(|(_, more)| *more > 0) {
                to.update(Update::RowCount { slot, item: *item, more });
            }
            return;
        }
        self.dirty = true;
        let rows = self.rows(first.table(), to);
        for (item, more) in items.iter().zip(more) {
            if more > 0 {
                rows.change(slot, *item, more, Change::Add);
            }
        }
    }

    /// A cell of a row has no value from now on.
    pub(super) fn row_unset(&mut self, slot: u32, item: RowItem, to: &mut dyn Recipient) {
        if let Some(Some(rows)) = self.rows.get_mut(item.table().index()) {
            rows.unset(slot, item);
        }
        to.update(Update::RowUnset { slot, item });
    }

    /// The slot of the row of a key, which is bound if it is new.
    #[inline]
    pub(super) fn slot<const N: usize>(
        &mut self,
        items: &[RowItem; N],
        hash: u64,
        to: &mut dyn Recipient,
        bind: impl FnOnce(NewRow<'_>),
    ) -> u32 {
        const { assert!(N > 0, "a row has a counter") };
        let Some(table) = items.first().map(|item| item.table()) else { return REST };
        let rows = self.rows(table, to);
        if let Some(slot) = rows.keys.get(&hash) {
            return *slot;
        }
        let is_rest = rows.keys.len() >= KEYS;
        if is_rest && std::mem::replace(&mut rows.bound, true) {
            return REST;
        }
        let slot = if is_rest { REST } else { u32::try_from(rows.keys.len() + 1).unwrap_or(REST) };
        if !is_rest {
            rows.keys.insert(hash, slot);
        }
        bind(NewRow { to, table, slot, is_rest });
        for item in items {
            to.update(Update::RowCount { slot, item: *item, more: 0 });
        }
        slot
    }

    /// Whether the rows of a fixed list were not bound yet: they are from now on.
    pub(super) fn binds(&mut self, table: TableId, to: &dyn Recipient) -> bool {
        !std::mem::replace(&mut self.rows(table, to).bound, true)
    }

    /// The slots of a table are about to lead elsewhere.
    pub(super) fn flush_table(&mut self, table: TableId, to: &mut dyn Recipient) {
        if let Some(Some(rows)) = self.rows.get_mut(table.index()) {
            rows.tell(table, self.now, to);
        }
    }

    /// The slots of a table are free.
    pub(super) fn forget_table(&mut self, table: TableId) {
        self.rows.get_mut(table.index()).into_iter().for_each(|rows| *rows = None);
    }

    /// A value of which the largest of the last minute is shown.
    pub(super) fn longest(&mut self, item: MetricItem, value: u64, to: &mut dyn Recipient) {
        self.dirty = true;
        let at = self.longest.iter().position(|longest| longest.item == item);
        let at = at.unwrap_or_else(|| {
            self.longest.push(Longest::new(item));
            self.longest.len() - 1
        });
        let Some(longest) = self.longest.get_mut(at) else { return };
        longest.add(value, self.now);
        if self.direct {
            longest.tell(self.now, to);
        }
    }

    /// Tells all sums. Frees the memory of tables in which nothing was counted for some time: others may be
    /// told of all the time.
    #[inline]
    pub(super) fn flush(&mut self, to: &mut dyn Recipient) {
        if !self.longest.is_empty() {
            let now = self.now;
            self.longest.retain_mut(|longest| longest.tell(now, to));
        }
        if std::mem::take(&mut self.dirty) || self.counters.is_some() {
            self.used = self.now;
            self.tell(to);
        } else if !self.rows.is_empty() && self.now.saturating_sub(self.used) >= IDLE {
            self.free(to);
        }
    }

    /// What is counted before the peer is shown waits until it is, or is refused.
    fn tell(&mut self, to: &mut dyn Recipient) {
        let goes = |to: &dyn Recipient| to.is_shown() || to.refusal().is_some();
        if let Some(mut counters) = self.counters.take_if(|_| goes(to)) {
            counters.tell(to);
            SPARE.set(Some(counters));
        }
        for (table, rows) in (0..).map(TableId::new).zip(&mut self.rows) {
            let Some(some) = rows else { continue };
            some.tell(table, self.now, to);
            if some.keys.len() >= KEYS || self.now.saturating_sub(some.used) >= IDLE {
                if some.has_slots() {
                    to.update(Update::FreeRows { table });
                }
                *rows = None;
            }
        }
    }

    /// Tells all sums and forgets the slots of keys: they are bound anew when they count again.
    pub(super) fn free(&mut self, to: &mut dyn Recipient) {
        self.tell(to);
        // Who has another name from now on shows nothing.
        self.longest.iter_mut().for_each(Longest::tell_again);
        for (table, rows) in (0..).map(TableId::new).zip(std::mem::take(&mut self.rows)) {
            if rows.is_some_and(|rows| rows.has_slots()) {
                to.update(Update::FreeRows { table });
            }
        }
    }

    /// The rows of a table.
    #[inline]
    fn rows(&mut self, table: TableId, to: &dyn Recipient) -> &mut Rows {
        let at = table.index();
        if self.rows.len() <= at {
            self.rows.resize_with(at + 1, || None);
        }
        #[expect(clippy::indexing_slicing, reason = "there are that many")]
        let rows = &mut self.rows[at];
        let now = self.now;
        rows.get_or_insert_with(|| Rows::new(to.row_cells(table), now))
    }
}

#[cfg(test)]
#[path = "sums_tests.rs"]
mod tests;
