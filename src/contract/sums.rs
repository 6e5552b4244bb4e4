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
    #[inline(always)]
    fn add(&mut self, item: MetricItem, more: u64) {
        if let Some(sum) = self.sums.get_mut(usize::from(item.get())) {
            *sum = sum.wrapping_add(more);
            self.touched |= 1 << item.get();
        }
    }

    #[inline(always)]
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

/// What becomes of a cell: the same for all rows of its table, always. The word before the cells of a row has
/// two bits for each.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Add = 1,
    Set = 2,
    Raise = 3,
}

impl Change {
    #[inline(always)]
    fn apply(self, row: &mut [u64], item: RowItem, value: u64) {
        let [marks, cells @ ..] = row else { return };
        let Some(cell) = cells.get_mut(usize::from(item.get())) else { return };
        let before = (*marks >> (2 * item.get())) & 3;
        debug_assert!(before == 0 || before == self as u64, "a cell is changed in one way");
        *marks |= (self as u64) << (2 * item.get());
        *cell = match self {
            Self::Add => cell.wrapping_add(value),
            Self::Set => value,
            Self::Raise => value.max(*cell),
        };
    }
}

/// Sums of the rows of one table, by slot, and values of their other cells.
#[derive(Debug, Default)]
struct Rows {
    /// Words of a row: the marks of its cells, see [`Change`], and the cells.
    width: usize,
    /// The cell that ranks the rows.
    score: u16,
    /// All words of slot 0, of slot 1, ...
    words: Vec<u64>,
    /// Slots of which something is to be told.
    touched: Vec<u32>,
    /// The slots of keys, by their hashes.
    keys: HashMap<u64, u32, RandomState>,
    /// The row of the rest, or the rows of a fixed list, are bound.
    bound: bool,
    /// When something was told of it last.
    used: Duration,
}

heap_size!(Rows { words, touched, keys });

impl Rows {
    /// Without slots. `cells`: how many a row has, and the one that ranks.
    #[cold]
    fn new((cells, score): (u16, u16), used: Duration) -> Box<Self> {
        let width = usize::from(cells) + 1;
        Box::new(Self { width, score, used, ..Self::default() })
    }

    /// The words of a row with marks.
    #[inline(always)]
    fn marked(&mut self, slot: u32) -> Option<&mut [u64]> {
        let row = self.words.get_mut(slot as usize * self.width..)?;
        (*row.first()? != 0).then_some(row)
    }

    /// A cell has no value: what it had is not told.
    fn unset(&mut self, slot: u32, item: RowItem) {
        let Some([marks, cells @ ..]) = self.marked(slot) else { return };
        *marks &= !(3 << (2 * item.get()));
        cells.get_mut(usize::from(item.get())).into_iter().for_each(|cell| *cell = 0);
    }

    /// Tells what is kept of a table. Of a row that begins with the sum that ranks: a key that gets a row by it
    /// has the rest there too.
    fn tell(&mut self, table: TableId, now: Duration, to: &mut dyn Recipient) {
        if !self.touched.is_empty() {
            self.used = now;
        }
        let Self { width, score, words, touched, .. } = self;
        for slot in touched.drain(..) {
            let row = words.get_mut(slot as usize * *width..);
            let Some([marks, cells @ ..]) = row else { continue };
            let mut left = std::mem::take(marks);
            let mut next = *score;
            while left != 0 {
                let mark = left >> (2 * next) & 3;
                left ^= mark << (2 * next);
                let cell = cells.get_mut(usize::from(next));
                let (item, value) = (RowItem::new(table, next), cell.map(std::mem::take));
                let value = value.unwrap_or_default();
                match mark {
                    0 => {}
                    1 => to.update(Update::RowCount { slot, item, more: value }),
                    2 => to.update(Update::RowSet { slot, item, value }),
                    _ => to.update(Update::RowMax { slot, item, value }),
                }
                #[expect(clippy::cast_possible_truncation, reason = "at most 32")]
                {
                    next = left.trailing_zeros() as u16 / 2;
                }
            }
        }
    }

    /// Binds a key that has no slot, and returns its slot.
    #[cold]
    fn bind<const N: usize>(
        &mut self,
        items: &[RowItem; N],
        hash: u64,
        to: &mut dyn Recipient,
        bind: impl FnOnce(NewRow<'_>),
    ) -> u32 {
        let Some(table) = items.first().map(|item| item.table()) else { return REST };
        let is_rest = self.keys.len() >= KEYS;
        if is_rest && std::mem::replace(&mut self.bound, true) {
            return REST;
        }
        let slot = if is_rest { REST } else { u32::try_from(self.keys.len() + 1).unwrap_or(REST) };
        if !is_rest {
            self.keys.insert(hash, slot);
        }
        bind(NewRow { to, table, slot, is_rest });
        for item in items {
            to.update(Update::RowCount { slot, item: *item, more: 0 });
        }
        slot
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
    now: Duration,
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

    /// Inlined, since most items are constants: a sum and a bit of a known place change then.
    #[inline(always)]
    pub(super) fn add(&mut self, item: MetricItem, more: u64, to: &mut dyn Recipient) {
        match &mut self.counters {
            Some(counters) => counters.add(item, more),
            None => self.first_add(item, more, to),
        }
    }

    #[cold]
    fn first_add(&mut self, item: MetricItem, more: u64, to: &mut dyn Recipient) {
        if self.direct {
            return to.update(Update::Count { item, more });
        }
        self.counters.insert(spare()).add(item, more);
    }

    /// A number is told at the end of the turn, what else there is at once.
    #[inline(always)]
    pub(super) fn set(&mut self, item: MetricItem, value: Value, to: &mut dyn Recipient) {
        let (bits, is_float) = match value {
            Value::U32(number) => (number.into(), false),
            Value::U64(number) => (number, false),
            Value::F64(number) => (number.to_bits(), true),
            _ => return to.update(Update::Set { item, value }),
        };
        match &mut self.counters {
            Some(counters) => counters.set(item, bits, is_float),
            None => self.first_set(item, value, bits, to),
        }
    }

    #[cold]
    fn first_set(&mut self, item: MetricItem, value: Value, bits: u64, to: &mut dyn Recipient) {
        let is_float = matches!(value, Value::F64(_));
        if self.direct {
            return to.update(Update::Set { item, value });
        }
        self.counters.insert(spare()).set(item, bits, is_float);
    }

    /// A metric has no value from now on: what was counted before does not come back.
    pub(super) fn unset(&mut self, item: MetricItem, to: &mut dyn Recipient) {
        if let Some(counters) = &mut self.counters {
            counters.forget(item);
        }
        self.longest.retain(|longest| longest.item != item);
        to.update(Update::Unset { item });
    }

    /// Most changes are of rows with marks: nothing is called then.
    #[inline(always)]
    pub(super) fn row(
        &mut self,
        slot: u32,
        item: RowItem,
        value: u64,
        change: Change,
        to: &mut dyn Recipient,
    ) {
        match self.marked(item.table(), slot) {
            Some(row) => change.apply(row, item, value),
            None => self.first(slot, item, value, change, to),
        }
    }

    #[inline(always)]
    fn marked(&mut self, table: TableId, slot: u32) -> Option<&mut [u64]> {
        self.rows.get_mut(table.index())?.as_mut()?.marked(slot)
    }

    /// The first change of a row since it was told.
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
        let rows = self.rows(item.table(), to);
        let at = slot as usize * rows.width;
        if rows.words.len() <= at {
            rows.words.resize(at + rows.width, 0);
        }
        rows.touched.push(slot);
        change.apply(rows.words.get_mut(at..).unwrap_or_default(), item, value);
    }

    /// Adds to counters of a row, those of 0 left out.
    #[inline(always)]
    pub(super) fn row_add_all<const N: usize>(
        &mut self,
        slot: u32,
        items: &[RowItem; N],
        more: [u64; N],
        to: &mut dyn Recipient,
    ) {
        let Some(first) = items.first() else { return };
        match self.marked(first.table(), slot) {
            Some(row) => {
                // Of a length that the compiler knows: a zip would be called.
                for n in 0..N {
                    if let (Some(item), Some(more @ 1..)) = (items.get(n), more.get(n)) {
                        Change::Add.apply(row, *item, *more);
                    }
                }
            }
            None => self.first_all(slot, items, &more, to),
        }
    }

    #[cold]
    fn first_all(&mut self, slot: u32, items: &[RowItem], more: &[u64], to: &mut dyn Recipient) {
        for (item, more) in items.iter().zip(more).filter(|(_, more)| **more > 0) {
            self.row(slot, *item, *more, Change::Add, to);
        }
    }

    /// The same for the row of a key, which is bound if it is new.
    #[inline]
    pub(super) fn count_row<const N: usize>(
        &mut self,
        items: &[RowItem; N],
        hash: u64,
        more: [u64; N],
        to: &mut dyn Recipient,
        bind: impl FnOnce(NewRow<'_>),
    ) {
        const { assert!(N > 0, "a row has a counter") };
        let Some(first) = items.first() else { return };
        let rows = self.rows(first.table(), to);
        let slot = match rows.keys.get(&hash) {
            Some(slot) => *slot,
            None => rows.bind(items, hash, to, bind),
        };
        self.row_add_all(slot, items, more, to);
    }

    /// A cell of a row has no value from now on.
    pub(super) fn row_unset(&mut self, slot: u32, item: RowItem, to: &mut dyn Recipient) {
        if let Some(Some(rows)) = self.rows.get_mut(item.table().index()) {
            rows.unset(slot, item);
        }
        to.update(Update::RowUnset { slot, item });
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
        if self.counters.is_some() || !self.rows.is_empty() {
            self.tell(to);
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
        if self.rows.iter().all(Option::is_none) {
            self.rows = Vec::new();
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
        match &mut self.rows[at] {
            Some(rows) => rows,
            none => none.insert(Rows::new(to.row_cells(table), self.now)),
        }
    }
}

#[cfg(test)]
#[path = "sums_tests.rs"]
mod tests;
