//! Finds the parameters that a filter names in packed records.
//!
//! Records of a stream mostly have the same parameters in the same order: a shape. It is found in
//! one record and only confirmed in the next ones, for a few instructions a parameter.

use crate::layout::{HighRes, PARAM_HEADER, Resolution, after, header_at, header_parts};

/// Shapes that are kept, told apart by their number of parameters.
const SHAPES: usize = 8;
/// No parameter.
const NONE: u32 = u32::MAX;
/// Up to this number of wanted parameters they are compared one by one.
const FEW: usize = 8;

/// A parameter in a record. All is 0 if there is no such parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Its offset, and that of the next parameter.
    at: usize,
    next: usize,
    /// As of [`header_at`].
    header: u64,
}

impl Place {
    #[inline(always)]
    const fn new(at: usize, header: u64) -> Self {
        Self { at, next: after(at, header), header }
    }

    #[inline(always)]
    const fn pmid(&self) -> u32 {
        header_parts(self.header).0
    }

    /// Type and length; never 0 in a header.
    #[inline(always)]
    pub(super) const fn word(&self) -> u32 {
        header_parts(self.header).1
    }

    /// The offset of the value.
    #[inline(always)]
    pub(super) const fn value(&self) -> usize {
        self.at + PARAM_HEADER
    }
}

/// The parameters of a record up to the last one that is needed.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// Parameters in their order, as in the record looked at last.
    params: Vec<Place>,
    /// For each slot the number of the first parameter that belongs to it; `u32::MAX` for none.
    slots: Vec<u32>,
    /// Some slots have no parameter, so the records must end here.
    ends: bool,
    learned: bool,
}

impl Shape {
    /// Whether a record has this shape. Only what differs from the record before is written.
    #[inline(always)]
    fn confirm(&mut self, record: &[u8]) -> bool {
        let mut at = HighRes::RECORD_HEADER;
        // One comparison for each parameter finds whether there is another header.
        let Some(last) = record.len().checked_sub(PARAM_HEADER) else { return false };
        for place in &mut self.params {
            if at > last {
                return false;
            }
            let Some(header) = header_at(record, at) else { return false };
            if header != place.header || place.at != at {
                let other = Place::new(at, header);
                if other.pmid() != place.pmid() {
                    return false;
                }
                *place = other;
            }
            at = place.next;
        }
        self.learned && (!self.ends || header_at(record, at).is_none())
    }

    /// Takes the shape of a record. `wanted`: parameters and their slots, in order.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, record: &[u8], wanted: &[(u32, u16)], slots: usize) {
        self.params.clear();
        self.slots.clear();
        self.slots.resize(slots, NONE);
        let (mut at, mut missing) = (HighRes::RECORD_HEADER, slots);
        while missing > 0
            && let Some(header) = header_at(record, at)
        {
            let number = u32::try_from(self.params.len()).unwrap_or(NONE);
            let place = Place::new(at, header);
            let pmid = place.pmid();
            self.params.push(place);
            let few = wanted.len() <= FEW;
            let from = if few { 0 } else { wanted.partition_point(|(other, _)| *other < pmid) };
            let of = wanted.get(from..).unwrap_or_default().iter();
            for (_, slot) in of.take_while(|w| w.0 <= pmid).filter(|w| w.0 == pmid) {
                if let Some(slot) = self.slots.get_mut(usize::from(*slot))
                    && *slot == NONE
                {
                    *slot = number;
                    missing -= 1;
                }
            }
            at = place.next;
        }
        (self.ends, self.learned) = (missing > 0, true);
    }

    /// A slot's parameter in the record looked at last.
    #[inline(always)]
    pub(super) fn place(&self, slot: u16) -> Option<&Place> {
        self.params.get(*self.slots.get(usize::from(slot))? as usize)
    }
}

/// The shapes of the records of a stream.
#[derive(Debug)]
pub(super) struct Finder {
    shapes: [Shape; SHAPES - 1],
    last: Shape,
    slots: usize,
}

impl Finder {
    /// For this number of slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { shapes: Default::default(), last: Shape::default(), slots }
    }

    /// The shape of a record with its places, and the number of parameters examined. `wanted`:
    /// parameters and their slots, in order, the same in all calls.
    #[inline(always)]
    pub(super) fn find(&mut self, record: &[u8], wanted: &[(u32, u16)]) -> (&Shape, u64) {
        let count = record.first_chunk::<{ HighRes::RECORD_HEADER }>().map_or(0, |header| {
            let [.., a, b, c, d] = *header;
            u32::from_ne_bytes([a, b, c, d])
        }) as usize;
        let shape = self.shapes.get_mut(count % SHAPES).unwrap_or(&mut self.last);
        if !shape.confirm(record) {
            shape.learn(record, wanted, self.slots);
        }
        (shape, shape.params.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::padded;
    use crate::{Batch, Pmid, Records, Scalar, Stamp, ValueType};

    /// Slot 0 is parameter 1, slot 1 is 2 or 3, slot 2 is 3 or 4.
    const WANTED: &[(u32, u16)] = &[(1, 0), (2, 1), (3, 1), (3, 2), (4, 2)];

    /// The offset of each slot's value from one walk over the decoded record.
    fn decoded(record: &[u8]) -> Vec<Option<usize>> {
        let record_of = Records::<HighRes>::packed(record).next().expect("one").expect("whole");
        let mut found = vec![None; 3];
        let mut at = HighRes::RECORD_HEADER;
        for param in &record_of.params {
            for (_, slot) in WANTED.iter().filter(|(pmid, _)| *pmid == param.pmid.0) {
                found[usize::from(*slot)].get_or_insert(at + PARAM_HEADER);
            }
            let len = if let Scalar::Text(text) = param.value { padded(text.len()) } else { 8 };
            at += PARAM_HEADER + len;
        }
        found
    }

    proptest! {
        /// Parameters of up to 6, as number or as text of some length; some repeat.
        #[test]
        fn shapes_that_change_are_found(
            records in prop::collection::vec(
                prop::collection::vec((0..7_u32, prop::option::of(0..9_usize)), 0..20),
                1..40,
            ),
            cut in 0..60_usize,
        ) {
            let mut finder = Finder::new(3);
            for params in records.iter().chain(&records) {
                let mut batch = Batch::default();
                batch.record(Stamp::default(), 1);
                for (pmid, text) in params {
                    match text {
                        Some(len) => batch.text(Pmid(*pmid), "\u{1}\0\0\u{4}\0\0\0\u{6}a".split_at(*len).0),
                        None => batch.number(Pmid(*pmid), ValueType::U64, u64::from(*pmid)),
                    }
                }
                let record = batch.packed().to_vec();
                let (shape, _) = finder.find(&record, WANTED);
                let found: Vec<_> = (0..3).map(|slot| shape.place(slot).map(Place::value)).collect();
                prop_assert_eq!(&found, &decoded(&record));
                for (slot, at) in (0..).zip(&found) {
                    let word = shape.place(slot).map(Place::word);
                    let bytes = at.map(|at| record[at - 4..at].try_into().expect("4"));
                    prop_assert_eq!(word, bytes.map(u32::from_ne_bytes));
                }
                // A record that is cut does not disturb the next one.
                finder.find(record.split_at(cut.min(record.len())).0, WANTED);
            }
        }
    }
}
