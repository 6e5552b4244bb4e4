//! Packed records that are copied to the end of an array, of which some then stay: so that those
//! that pass a filter need not be copied again.

use super::{Array, ArrayError};
use crate::layout::Resolution;

impl<R: Resolution> Array<R> {
    /// Copies packed records of this resolution behind the array, to which they do not belong yet:
    /// [`Self::retain`] follows.
    ///
    /// # Errors
    /// [`ArrayError::TooBig`].
    pub(crate) fn stage(&mut self, parts: [&[u8]; 2]) -> Result<(), ArrayError> {
        self.close();
        self.make_room(parts.iter().map(|part| part.len()).sum())?;
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        Ok(())
    }

    /// Appends those of the records behind the array that are accepted. `ends`: the end offset of
    /// each. Returns their number and bytes.
    pub(crate) fn retain(
        &mut self,
        ends: &[usize],
        accepts: impl Fn(&[u8]) -> bool,
    ) -> (usize, usize) {
        let (before, mut records) = (self.len, 0);
        // The first byte of the current run of accepted records, and the next record.
        let (mut run, mut at) = (before, before);
        for end in ends {
            let end = before + end;
            if accepts(self.bytes.get(at..end).unwrap_or_default()) {
                records += 1;
            } else {
                if at > run {
                    self.append_run(run, at);
                }
                run = end;
            }
            at = end;
        }
        if at > run {
            self.append_run(run, at);
        }
        self.records += i32::try_from(records).unwrap_or(i32::MAX);
        self.open = 0;
        (records, self.len - before)
    }

    /// Appends the bytes [start, end), which lie behind the array or begin at its end.
    fn append_run(&mut self, start: usize, end: usize) {
        let length = end.min(self.bytes.len()).saturating_sub(start);
        if start != self.len && length > 0 {
            self.bytes.copy_within(start..start + length, self.len);
        }
        self.len += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, HighRes, Pmid, Stamp, check};

    /// Records of different lengths, and the end of each.
    fn records() -> (Vec<u8>, Vec<usize>) {
        let mut batch = Batch::default();
        let ends = (0..10_usize).map(|n| {
            batch.record(Stamp { sec: 7, nsec: 8 }, 1);
            batch.text(Pmid(1), &"x".repeat(n * 37 % 50));
            batch.packed().len()
        });
        let ends = ends.collect();
        (batch.packed().to_vec(), ends)
    }

    #[test]
    fn those_accepted_stay_in_their_order() {
        let (packed, ends) = records();
        let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let record = |n: usize| packed.get(starts[n]..starts[n + 1]).expect("whole");
        for mask in 0..1_usize << ends.len() {
            let (mut array, mut expected) = (Array::<HighRes>::new(), Array::<HighRes>::new());
            for array in [&mut array, &mut expected] {
                array.add_missed(Stamp::default(), 3).expect("fits");
            }
            // Twice, the second time in two pieces.
            for cut in [packed.len(), 1 + mask % packed.len()] {
                let parts = packed.split_at(cut.min(packed.len()));
                array.stage([parts.0, parts.1]).expect("fits");
                let accepts = |bytes: &[u8]| {
                    (0..ends.len()).any(|n| mask >> n & 1 == 1 && record(n) == bytes)
                };
                let before = array.len();
                let kept = (0..ends.len()).filter(|n| accepts(record(*n)));
                let count = kept.inspect(|n| {
                    expected.add_packed([record(*n), &[]], 1).expect("fits");
                });
                let count = count.count();
                assert_eq!(array.retain(&ends, accepts), (count, expected.len() - before));
            }
            assert_eq!(array.bytes(), expected.bytes(), "{mask:b}");
            assert!(check::<HighRes>(array.bytes()).is_ok());
            // The array can be continued.
            array.add_record(Stamp::default(), 1).expect("fits");
            array.add_u32(Pmid(2), 5).expect("fits");
            assert!(check::<HighRes>(array.bytes()).is_ok());
        }
    }
}
