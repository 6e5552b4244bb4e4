//! Selection of an option by the value of a selector.

use std::collections::HashMap;
use std::ops::Range as Ops;

use super::node::{Kind, NodeId, Nodes};
use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;
use crate::schema::{IntegerRange, Mappings, Variant, disjoint};

/// Ranges of a selector's values, mapped to `u64` so that signed and unsigned values sort alike. No
/// value is in two ranges.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    signed: bool,
    /// From, to, option; sorted.
    ranges: Vec<(u64, u64, u32)>,
    /// Options of the values from 0 on, at most [`NEAR`]: most selectors are small.
    near: Vec<Option<u32>>,
    /// Operations of each option.
    pub(super) options: Vec<Ops<usize>>,
    /// The operation after the options.
    pub(super) after: usize,
    /// Whether a value may select no option.
    pub(super) optional: bool,
}

/// Values from 0 on whose options are found without a search.
const NEAR: u64 = 32;

/// Maps a value to `u64` so that negative numbers sort before the others.
const fn ordered(value: u64, signed: bool) -> u64 {
    if signed { value ^ 1 << 63 } else { value }
}

impl Choice {
    /// Ranges of each option; where they overlap, the first option wins.
    pub(super) fn new(
        signed: bool,
        options: &[Vec<IntegerRange>],
    ) -> Result<Self, DeclarationError> {
        let count = options.iter().map(Vec::len).sum::<usize>() as u64;
        bounded("ranges of a variant", count, limits::RANGES)?;
        let limits = if signed {
            (i128::from(i64::MIN), i128::from(i64::MAX))
        } else {
            (0, i128::from(u64::MAX))
        };
        let place = |v: i128| u64::try_from(v - limits.0).unwrap_or_default();
        let mut all: Vec<(IntegerRange, u32)> = Vec::new();
        for (option, ranges) in (0..).zip(options) {
            let within =
                ranges.iter().map(|(low, high)| ((*low).max(limits.0), (*high).min(limits.1)));
            all.extend(within.filter(|(low, high)| low <= high).map(|range| (range, option)));
        }
        let ranges: Vec<_> = disjoint(all)
            .into_iter()
            .map(|((low, high), option)| (place(low), place(high), option))
            .collect();
        let largest = ranges.last().map_or(0, |(_, high, _)| ordered(*high, signed));
        let mut choice = Self { signed, ranges, ..Self::default() };
        if largest < 1 << 63 {
            let near = 0..=largest.min(NEAR - 1);
            choice.near = near.map(|value| choice.search(value)).collect();
        }
        Ok(choice)
    }

    /// Allows values that select no option.
    pub(super) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// Index of the option for a value (for a signed value: its bits).
    #[inline]
    pub(super) fn option(&self, value: u64) -> Option<u32> {
        match usize::try_from(value).ok().and_then(|value| self.near.get(value)) {
            Some(option) => *option,
            None => self.search(value),
        }
    }

    fn search(&self, value: u64) -> Option<u32> {
        let value = ordered(value, self.signed);
        let next = self.ranges.partition_point(|(low, ..)| *low <= value);
        let (_, high, option) = self.ranges.get(next.checked_sub(1)?)?;
        (value <= *high).then_some(*option)
    }
}

/// The ranges of a variant's options: from the metadata, or from the mappings of the selector.
pub(super) fn ranges(variant: &Variant, mappings: Option<&Mappings>) -> Vec<Vec<IntegerRange>> {
    if let Some(ranges) = &variant.ranges {
        return ranges.clone();
    }
    let mappings = mappings.map(Mappings::all).unwrap_or_default();
    let by_name: HashMap<&str, &Vec<IntegerRange>> =
        mappings.iter().map(|mapping| (&*mapping.name, &mapping.ranges)).collect();
    let of = |name: &str| by_name.get(name).map(|ranges| (*ranges).clone());
    let option = |raw: &str| {
        // Tracers prefix keywords with an underscore, sometimes on one side only.
        of(raw)
            .or_else(|| of(&format!("_{raw}")))
            .or_else(|| raw.strip_prefix('_').and_then(of))
            .unwrap_or_default()
    };
    variant.options.iter().map(|field| option(&field.raw)).collect()
}

/// Ranges of the selector for which an optional is present.
pub(super) fn present(
    nodes: &Nodes,
    selector: NodeId,
    told: Option<&Vec<IntegerRange>>,
) -> Result<Vec<IntegerRange>, DeclarationError> {
    match (told, nodes.get(selector).map(|n| n.kind)) {
        (Some(ranges), _) => Ok(ranges.clone()),
        (None, Some(Kind::Boolean(_))) => Ok(vec![(1, i128::from(u64::MAX))]),
        _ => malformed!("optional without ranges"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slowly(options: &[Vec<IntegerRange>], value: i128) -> Option<u32> {
        let covers = |ranges: &Vec<IntegerRange>| {
            ranges.iter().any(|(low, high)| (*low..=*high).contains(&value))
        };
        options.iter().position(covers).map(|n| u32::try_from(n).unwrap())
    }

    proptest! {
        #[test]
        fn the_first_option_that_has_it(
            options in proptest::collection::vec(proptest::collection::vec((-20_i128..20, 0_i128..9), 0..4), 0..5),
            signed: bool,
        ) {
            let options: Vec<Vec<IntegerRange>> =
                options.into_iter().map(|o| o.into_iter().map(|(low, more)| (low, low + more)).collect()).collect();
            let choice = Choice::new(signed, &options).unwrap();
            for value in -30_i64..40 {
                if signed || value >= 0 {
                    prop_assert_eq!(choice.option(value.cast_unsigned()), slowly(&options, value.into()), "{}", value);
                }
            }
        }
    }

    #[test]
    fn ends_of_the_numbers() {
        let all = |low, high| vec![vec![(5, 5)], vec![(low, high)]];
        let unsigned = Choice::new(false, &all(0, i128::from(u64::MAX))).unwrap();
        assert_eq!(
            [0, 4, 5, 6, u64::MAX].map(|v| unsigned.option(v)),
            [Some(1), Some(1), Some(0), Some(1), Some(1)]
        );
        let signed = Choice::new(true, &all(i128::MIN, 0)).unwrap();
        let of = |v: i64| signed.option(v.cast_unsigned());
        assert_eq!(
            [i64::MIN, -1, 0, 1, 5, i64::MAX].map(of),
            [Some(1), Some(1), Some(1), None, Some(0), None]
        );
    }
}
