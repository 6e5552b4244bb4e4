//! The answer to a fetch in libpcp's form: a `pmdaResult` with a `pmValueSet` for each metric, in
//! memory that is ours and reused.
//!
//! pmdaFetch(3) walks all instances of a domain for each metric, and allocates each value: with a
//! thousand instances a fetch of ten values costs ten thousand steps. Here only the instances of
//! the profile are touched, and nothing is allocated per value.

use std::ffi::c_int;
use std::mem::{MaybeUninit, align_of, offset_of, size_of, transmute};

use pcp_event::{EventArray, Pmid, ValueType};
use pcp_sys as sys;

use super::blocks::{TextValue, block_header, block_length, c_part, push_block};
use super::budget::{Budget, VALUE, block_bytes};
use crate::error::Error;

/// Memory for libpcp's structures, aligned for pointers.
type Word = MaybeUninit<usize>;

/// Words before `vset` of a `pmdaResult`, before `vlist` of a `pmValueSet`, and of a `pmValue`.
const HEAD_WORDS: usize = offset_of!(sys::PmdaResult, vset) / size_of::<Word>();
const SET_WORDS: usize = offset_of!(sys::pmValueSet, vlist) / size_of::<Word>();
const VALUE_WORDS: usize = size_of::<sys::pmValue>() / size_of::<Word>();

/// Words of the block of a 64-bit number, and the encoded bytes of its value.
const NUMBER_WORDS: usize = 3;
const NUMBER_BYTES: usize = block_bytes(4 * NUMBER_WORDS);
/// A value whose block has no address yet.
const NOWHERE: sys::pmValue__bindgen_ty_1 =
    sys::pmValue__bindgen_ty_1 { pval: std::ptr::null_mut() };

const _: () = {
    assert!(offset_of!(sys::PmdaResult, vset).is_multiple_of(size_of::<Word>()));
    assert!(offset_of!(sys::pmValueSet, vlist).is_multiple_of(size_of::<Word>()));
    assert!(size_of::<sys::pmValue>().is_multiple_of(size_of::<Word>()));
    assert!(align_of::<sys::pmValueSet>() <= align_of::<Word>());
    assert!(size_of::<sys::pmValueBlock>() == 8 && align_of::<sys::pmValueBlock>() == 4);
};

/// The answer to a fetch, one value set for each metric.
///
/// Sets may be built in any order, each between [`begin_set`](Self::begin_set) and
/// [`end_set`](Self::end_set). A set that does not fit into the [`Budget`] becomes `PM_ERR_TOOBIG`;
/// a set that was never built, `PM_ERR_GENERIC`.
#[derive(Debug)]
pub struct Results {
    /// The rest of the budget.
    pub budget: Budget,
    head: Vec<Word>,
    /// All value sets.
    sets: Vec<Word>,
    /// By position in the request: the first word of the set in `sets`, and the bytes that its
    /// values cost.
    places: Vec<Place>,
    /// `pmValueBlock`s of values that do not fit into a `pmValue`.
    blocks: Vec<u32>,
    links: Vec<Link>,
    /// Event arrays that values point to.
    arrays: Vec<EventArray>,
    /// Texts that values point to.
    texts: Vec<TextValue>,
    open: Open,
}

/// Values, one behind the other in `sets`, that point to blocks, one behind the other in `blocks`.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// First words of the values and of the blocks.
    value: usize,
    block: usize,
    count: usize,
    /// Words of each block.
    words: usize,
}

/// First word and cost of a value set.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: usize,
    cost: usize,
}

/// The set under construction, and the state to roll back to.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    place: usize,
    pmid: sys::pmID,
    start: usize,
    blocks: usize,
    links: usize,
    cost: usize,
    /// Between `begin_set` and `end_set`: values outside of a set are dropped.
    building: bool,
    /// `PM_VAL_*`; `None` before the first value.
    format: Option<u32>,
    full: bool,
}

impl Default for Results {
    fn default() -> Self {
        Self {
            budget: Budget::none(),
            head: Vec::new(),
            sets: Vec::new(),
            places: Vec::new(),
            blocks: Vec::new(),
            links: Vec::new(),
            arrays: Vec::new(),
            texts: Vec::new(),
            open: Open::default(),
        }
    }
}

impl Results {
    /// Clears the answer after it was sent. Returns its bytes, 0 without an answer.
    pub(crate) fn release(&mut self) -> usize {
        let bytes = if self.places.is_empty() { 0 } else { self.budget.used() };
        self.clear();
        bytes
    }

    /// Clears the answer. Keeps at most 64 Ki elements of each vector's memory for the next.
    fn clear(&mut self) {
        const KEPT: usize = 64 << 10;
        let Self { head, sets, places, blocks, links, arrays, texts, open, budget } = self;
        head.clear();
        sets.clear();
        places.clear();
        blocks.clear();
        links.clear();
        *arrays = Vec::new();
        texts.clear();
        head.shrink_to(KEPT);
        sets.shrink_to(KEPT);
        places.shrink_to(KEPT);
        blocks.shrink_to(KEPT);
        links.shrink_to(KEPT);
        texts.shrink_to(KEPT);
        (*open, *budget) = (Open::default(), Budget::none());
    }
}

impl Results {
    /// Begins an answer of `count` sets.
    pub(crate) fn begin(&mut self, count: usize, budget: Budget) {
        self.clear();
        self.budget = budget;
        self.places.resize(count, Place::default());
        // The set of each position that is never built.
        self.sets.resize(SET_WORDS, Word::zeroed());
        self.header(0, 0, Error::GENERIC.code(), sys::PM_VAL_INSITU);
    }

    /// Writes the header of the set that begins at word `start`.
    fn header(&mut self, start: usize, pmid: sys::pmID, count: c_int, format: u32) {
        let Some(words) = self.sets.get_mut(start..start + SET_WORDS) else {
            debug_assert!(false, "no set begins at {start}");
            return;
        };
        let set = words.as_mut_ptr().cast::<sys::pmValueSet>();
        // SAFETY: `words` reach up to `vlist`, aligned for the structure; here and below.
        unsafe { (*set).pmid = pmid };
        // SAFETY: as above.
        unsafe { (*set).numval = count };
        // SAFETY: as above.
        unsafe { (*set).valfmt = format.cast_signed() };
    }

    /// Begins the set of the metric at `place` of the request.
    pub fn begin_set(&mut self, place: usize, pmid: Pmid) {
        self.open = Open {
            place,
            pmid: pmid.0,
            start: self.sets.len(),
            blocks: self.blocks.len(),
            links: self.links.len(),
            building: true,
            ..Open::default()
        };
        self.sets.extend([Word::zeroed(); SET_WORDS]);
    }

    /// Ends the set. `otherwise` is its status if it has no values. `false`: the set did not fit
    /// and becomes `PM_ERR_TOOBIG`.
    pub fn end_set(&mut self, otherwise: Result<(), Error>) -> bool {
        let Open { place, pmid, start, blocks, links, cost, building, format, full } = self.open;
        if !building {
            debug_assert!(false, "no set has begun");
            return false;
        }
        if full {
            self.sets.truncate(start + SET_WORDS);
            self.blocks.truncate(blocks);
            self.links.truncate(links);
            self.budget.refund(cost);
        }
        let values = self.sets.len().saturating_sub(start + SET_WORDS) / VALUE_WORDS;
        let count = match c_int::try_from(values) {
            _ if full => Error::TOOBIG.code(),
            Ok(0) => otherwise.map_or_else(Error::code, |()| 0),
            count => count.unwrap_or(c_int::MAX),
        };
        self.header(start, pmid, count, format.unwrap_or(sys::PM_VAL_INSITU));
        if let Some(place) = self.places.get_mut(place) {
            *place = Place { start, cost: if full { 0 } else { cost } };
        }
        self.open = Open::default();
        !full
    }

    /// Answers position `place` with the set of position `of`: the same memory, but libpcp copies
    /// it again. `false`: the copy did not fit and becomes `PM_ERR_TOOBIG`.
    pub fn repeat_set(&mut self, place: usize, of: usize, pmid: Pmid) -> bool {
        let Some(first) = self.places.get(of).copied() else { return false };
        if self.budget.pay(first.cost) {
            if let Some(place) = self.places.get_mut(place) {
                *place = first;
            }
            return true;
        }
        self.begin_set(place, pmid);
        self.open.full = true;
        self.end_set(Ok(()))
    }

    /// Rejects the set under construction: it becomes `PM_ERR_TOOBIG`.
    pub const fn refuse(&mut self) {
        self.open.full = true;
    }

    /// Whether the set under construction is rejected.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.open.full
    }

    /// Takes the bytes of a value from the budget; `false`: the set does not fit.
    fn room(&mut self, format: u32, value: usize) -> bool {
        if self.open.full || !self.open.building {
            debug_assert!(self.open.building, "a value outside of a set");
            return false;
        }
        let first = self.open.format.is_none();
        if *self.open.format.get_or_insert(format) != format {
            debug_assert!(false, "a set with numbers in place and values in blocks");
            self.open.full = true;
            return false;
        }
        let before = self.budget.bytes();
        self.open.full = !self.budget.pay_value(first, value);
        self.open.cost += before - self.budget.bytes();
        !self.open.full
    }

    fn push(&mut self, inst: u32, value: sys::pmValue__bindgen_ty_1) {
        self.sets.extend(value_words(inst, value));
    }

    /// Adds a 32-bit or 64-bit number, whose bits are the low ones of `bits`.
    pub fn number(&mut self, inst: u32, ty: ValueType, bits: u64) {
        let (wide, format, bytes) = layout(ty);
        if !self.room(format, bytes) {
            return;
        }
        if !wide {
            return self.push(inst, in_place(bits));
        }
        let (value, block) = (self.sets.len(), self.blocks.len());
        self.push(inst, NOWHERE);
        self.blocks.extend(number_block(block_header(12, ty), bits));
        self.link(Link { value, block, count: 1, words: NUMBER_WORDS });
    }

    /// Adds numbers of one type by instance, all or none.
    pub fn numbers(&mut self, ty: ValueType, numbers: impl Iterator<Item = (u32, u64)> + Clone) {
        let count = numbers.clone().count();
        let (wide, format, bytes) = layout(ty);
        if count == 0 || !self.room(format, count.saturating_mul(bytes)) {
            return;
        }
        let start = self.sets.len();
        self.sets.resize(start + count * VALUE_WORDS, Word::zeroed());
        let (sets, _) = self.sets.split_at_mut(start).1.as_chunks_mut::<VALUE_WORDS>();
        if !wide {
            for (to, (inst, bits)) in sets.iter_mut().zip(numbers) {
                *to = value_words(inst, in_place(bits));
            }
            return;
        }
        let block = self.blocks.len();
        self.blocks.resize(block + count * NUMBER_WORDS, 0);
        let (blocks, _) = self.blocks.split_at_mut(block).1.as_chunks_mut::<NUMBER_WORDS>();
        let header = block_header(12, ty);
        for ((to, block), (inst, bits)) in sets.iter_mut().zip(blocks).zip(numbers) {
            *to = value_words(inst, NOWHERE);
            *block = number_block(header, bits);
        }
        self.link(Link { value: start, block, count, words: NUMBER_WORDS });
    }

    /// Adds a string, cut at a NUL and at 16 MiB.
    pub fn text(&mut self, inst: u32, text: &str) {
        let bytes = c_part(text);
        if self.room(sys::PM_VAL_SPTR, block_bytes(block_length(bytes))) {
            let (value, block) = (self.sets.len(), self.blocks.len());
            self.push(inst, NOWHERE);
            push_block(&mut self.blocks, bytes);
            self.link(Link { value, block, count: 1, words: self.blocks.len() - block });
        }
    }

    /// Adds a string that is kept elsewhere: the answer points to it.
    pub fn text_value(&mut self, inst: u32, text: &TextValue) {
        if self.room(sys::PM_VAL_SPTR, block_bytes(text.len())) {
            // libpcp reads `pval` only, unless the format is PM_VAL_DPTR.
            let pval = text.as_ptr().cast_mut().cast();
            self.push(inst, sys::pmValue__bindgen_ty_1 { pval });
            // The words stay where they are while an Arc of them exists.
            self.texts.push(text.clone());
        }
    }

    /// Adds an event array.
    pub fn array(&mut self, inst: u32, array: EventArray) {
        // libpcp reads the first 32 bits in place; allocators align more strictly than that.
        if !array.as_ptr().addr().is_multiple_of(align_of::<u32>()) {
            debug_assert!(false, "an array at an odd address");
            return self.refuse();
        }
        if !self.room(sys::PM_VAL_SPTR, block_bytes(array.len())) {
            return;
        }
        // libpcp reads `pval` only, unless the format is PM_VAL_DPTR.
        let pval = array.as_ptr().cast_mut().cast();
        self.push(inst, sys::pmValue__bindgen_ty_1 { pval });
        // The bytes stay where they are when the Vec moves.
        self.arrays.push(array);
    }

    /// Adds values that point to blocks. Numbers behind numbers of the same set need one link.
    fn link(&mut self, more: Link) {
        match self.links.last_mut() {
            Some(Link { value, block, count, words })
                if *words == more.words
                    && *value + *count * VALUE_WORDS == more.value
                    && *block + *count * *words == more.block =>
            {
                *count += more.count;
            }
            _ => self.links.push(more),
        }
    }

    /// The finished result; valid until the next call on `self`. `status` is stored where pmcd
    /// looks for changes: the first byte of the time stamp, which PMDAs otherwise leave unset.
    pub(crate) fn finish(&mut self, status: u8) -> *mut sys::PmdaResult {
        let blocks = self.blocks.as_mut_ptr();
        for Link { value, block, count, words } in self.links.drain(..) {
            let values = self.sets.get_mut(value..value + count * VALUE_WORDS).unwrap_or_default();
            for (n, value) in values.chunks_exact_mut(VALUE_WORDS).enumerate() {
                let value = value.as_mut_ptr().cast::<sys::pmValue>();
                debug_assert!(block + n * words < self.blocks.len());
                // SAFETY: a link is made with a block at this place, and both go together.
                let pval = unsafe { blocks.add(block + n * words) }.cast();
                // SAFETY: the words are those of a value; only a member is written.
                unsafe { (*value).value = sys::pmValue__bindgen_ty_1 { pval } };
            }
        }
        let count = c_int::try_from(self.places.len()).unwrap_or(c_int::MAX);
        self.head.clear();
        self.head.resize(HEAD_WORDS, Word::zeroed());
        let sets = self.sets.as_mut_ptr();
        for place in &self.places {
            debug_assert!(place.start < self.sets.len());
            // SAFETY: a set begins at this word.
            let set = unsafe { sets.add(place.start) };
            self.head.push(Word::new(set.expose_provenance()));
        }
        // Room for the one element that C declares, also when there are no metrics.
        self.head.push(Word::zeroed());
        let result = self.head.as_mut_ptr().cast::<sys::PmdaResult>();
        // SAFETY: HEAD_WORDS words reach up to `vset`; here and below.
        unsafe { (*result).numpmid = count };
        // SAFETY: as above; the time stamp comes first and is all zeros.
        unsafe { result.cast::<u8>().write(status) };
        result
    }
}

/// Whether numbers of a type are in blocks, the format of their values, and the encoded bytes of one.
const fn layout(ty: ValueType) -> (bool, u32, usize) {
    match ty {
        ValueType::I32 | ValueType::U32 | ValueType::F32 => (false, sys::PM_VAL_INSITU, VALUE),
        _ => (true, sys::PM_VAL_SPTR, NUMBER_BYTES),
    }
}

/// A number of 32 bits.
const fn in_place(bits: u64) -> sys::pmValue__bindgen_ty_1 {
    #[expect(clippy::cast_possible_truncation, reason = "32-bit types have 32 bits")]
    let lval = (bits as u32).cast_signed();
    sys::pmValue__bindgen_ty_1 { lval }
}

/// The block of a 64-bit number.
const fn number_block(header: u32, bits: u64) -> [u32; NUMBER_WORDS] {
    let [a, b, c, d, rest @ ..] = bits.to_ne_bytes();
    [header, u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes(rest)]
}

/// A value as words.
const fn value_words(inst: u32, value: sys::pmValue__bindgen_ty_1) -> [Word; VALUE_WORDS] {
    let value = sys::pmValue { inst: inst.cast_signed(), value };
    // SAFETY: words of any content, of the same size.
    unsafe { transmute::<sys::pmValue, [Word; VALUE_WORDS]>(value) }
}

#[cfg(test)]
mod tests;
