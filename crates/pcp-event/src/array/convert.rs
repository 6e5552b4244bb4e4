//! Packed records of a stream, copied in low resolution.

use super::{Array, ArrayError};
use crate::layout::{HighRes, LowRes, Resolution};

/// What a record is shorter in low resolution.
const SHORTER: usize = HighRes::RECORD_HEADER - LowRes::RECORD_HEADER;

impl Array<LowRes> {
    /// Appends `count` packed records of high resolution: converted headers, the same parameters.
    /// The records lie in two pieces, and one of them may begin in the first and end in the second.
    /// `ends`: the end offset of each.
    ///
    /// # Errors
    /// [`ArrayError::TooBig`].
    pub(crate) fn add_converted(
        &mut self,
        [a, b]: [&[u8]; 2],
        count: usize,
        ends: impl Iterator<Item = usize>,
    ) -> Result<(), ArrayError> {
        self.close();
        self.make_room((a.len() + b.len()).saturating_sub(SHORTER * count))?;
        let (bytes, mut at) = (&mut self.bytes, 0);
        // Inner iteration, since the ends lie in two pieces too.
        ends.take(count).for_each(|end| {
            match a.get(at..end) {
                Some(record) => convert(record, bytes),
                None if at >= a.len() => {
                    convert(b.get(at - a.len()..end - a.len()).unwrap_or_default(), bytes);
                }
                None => {
                    let rest = b.get(..end - a.len()).unwrap_or_default();
                    convert(&[a.get(at..).unwrap_or_default(), rest].concat(), bytes);
                }
            }
            at = end;
        });
        self.len = self.bytes.len();
        self.records += i32::try_from(count).unwrap_or(i32::MAX);
        self.open = 0;
        Ok(())
    }
}

/// Copies all but the first bytes of the header, then writes the shorter header over its rest: one
/// copy, one check of the room.
#[inline(always)]
fn convert(record: &[u8], out: &mut Vec<u8>) {
    let Some((header, _)) = record.split_first_chunk() else { return };
    let start = out.len();
    out.extend_from_slice(record.get(SHORTER..).unwrap_or_default());
    if let Some(to) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
        *to = LowRes::header_of(header);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Pmid, Records, Stamp, ValueType};

    /// The same records, one by one.
    fn one_by_one(packed: &[u8]) -> Vec<u8> {
        let mut array = Array::<LowRes>::new();
        for record in Records::<HighRes>::packed(packed) {
            let record = record.expect("whole");
            array.add_record(record.stamp, record.flags).expect("fits");
            for param in record.params {
                array.add_param(param.pmid, param.value).expect("fits");
            }
        }
        array.into_bytes()
    }

    #[test]
    fn records_cut_anywhere_are_those_added_one_by_one() {
        let (mut batch, mut ends) = (Batch::default(), Vec::new());
        let times = [(0, 0), (5, 999_999_999), (i64::MAX, 1000), (i64::MIN, 999), (1 << 31, 1001)];
        for (n, (sec, nsec)) in (0..).zip(times) {
            batch.record(Stamp { sec, nsec }, 1 << n);
            batch.text(Pmid(7), "some text".get(n..).unwrap_or_default());
            (0..n as u64).for_each(|n| batch.number(Pmid(8), ValueType::U64, n));
            ends.push(batch.size());
        }
        let packed = batch.packed();
        let expected = one_by_one(packed);
        for cut in 0..=packed.len() {
            let mut array = Array::<LowRes>::new();
            let parts = packed.split_at(cut);
            array.add_converted(parts.into(), ends.len(), ends.iter().copied()).expect("fits");
            assert_eq!(array.into_bytes(), expected, "{cut}");
        }
        let mut array = Array::<LowRes>::new();
        let huge = vec![0; crate::ARRAY_MAX + 20];
        let put = array.add_converted([&huge, &[]], 1, std::iter::once(huge.len()));
        assert_eq!((put, array.records(), array.len()), (Err(ArrayError::TooBig), 0, 8));
    }
}
