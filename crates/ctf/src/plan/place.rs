//! Compile-time knowledge of a bit offset.

/// An offset that is `rest` more than a multiple of `of` bits (a power of two).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    of: u64,
    rest: u64,
}

impl Place {
    /// A multiple of `of` bits.
    pub(super) const fn multiple(of: u64) -> Self {
        Self { of, rest: 0 }
    }

    pub(super) const fn at_byte(self) -> bool {
        self.of.is_multiple_of(8) && self.rest.is_multiple_of(8)
    }

    /// Bits of padding before a field of this alignment, if known.
    pub(super) const fn padding(self, align: u64) -> Option<u64> {
        if align > self.of { None } else { Some(self.rest.wrapping_neg() & (align - 1)) }
    }

    /// After alignment.
    pub(super) const fn aligned(self, align: u64) -> Self {
        match self.padding(align) {
            Some(bits) => self.after(bits),
            None => Self::multiple(align),
        }
    }

    /// The offset plus `bits`.
    pub(super) const fn after(self, bits: u64) -> Self {
        Self { of: self.of, rest: self.rest.wrapping_add(bits) & (self.of - 1) }
    }

    /// The offset plus an unknown multiple of `bits`.
    pub(super) fn after_some(self, bits: u64) -> Self {
        let of = self.of.min(1 << bits.trailing_zeros().min(62));
        Self { of, rest: self.rest & (of - 1) }
    }

    /// The knowledge that is true of both offsets.
    pub(super) fn or(self, other: Self) -> Self {
        let mut of = self.of.min(other.of);
        while (self.rest ^ other.rest) & (of - 1) != 0 {
            of /= 2;
        }
        Self { of, rest: self.rest & (of - 1) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The knowledge is true of every possible offset.
        #[test]
        fn nothing_is_said_that_is_not_so(start in 0_u64..512, steps in proptest::collection::vec((0_u8..4, 0_u64..70), 0..12)) {
            let (mut place, mut position) = (Place::multiple(1), start);
            for (what, n) in steps {
                let align = 1 << (n % 7);
                match what {
                    0 => {
                        if let Some(bits) = place.padding(align) {
                            prop_assert_eq!(bits, position.next_multiple_of(align) - position);
                        }
                        (place, position) = (place.aligned(align), position.next_multiple_of(align));
                    }
                    1 => (place, position) = (place.after(n), position + n),
                    2 => (place, position) = (place.after_some(n), position + 3 * n),
                    _ => place = place.or(place.after(n)),
                }
                prop_assert_eq!(position % place.of, place.rest);
                prop_assert!(!place.at_byte() || position % 8 == 0);
            }
        }
    }
}
