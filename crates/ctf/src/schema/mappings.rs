//! Mappings: names of values (the enumerations of CTF 1.8).

use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use crate::error::{DeclarationError, bounded};
use crate::limits;

/// An integer range: lowest and highest value, both included.
pub type IntegerRange = (i128, i128);

/// A mapping: a name and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The name in the metadata.
    pub name: Arc<str>,
    /// In the order of the metadata; may overlap the ranges of other mappings.
    pub ranges: Vec<IntegerRange>,
}

/// The mappings of an integer, in the order of the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mappings {
    all: Vec<Mapping>,
    /// Index of the first mapping of each range; sorted, without overlaps.
    first: Vec<(IntegerRange, u32)>,
    /// Index of the first mapping of each value from 0 up to the largest mapped one, at most
    /// [`NEAR`] values. Most values are small.
    near: Vec<Option<u32>>,
    /// Ranges with several names, and the text for them; sorted, without overlaps.
    several: Vec<(IntegerRange, Box<str>)>,
}

/// Values from 0 on whose names are found without a search.
const NEAR: i128 = 64;

/// Approximate limit of the bytes of texts with several names; values beyond it are shown with the
/// first name only.
const SEVERAL: usize = 256 << 10;

impl Mappings {
    /// Merges ranges of the same name, at the position of its first range.
    pub(crate) fn new(
        ranges: impl IntoIterator<Item = (Arc<str>, IntegerRange)>,
    ) -> Result<Self, DeclarationError> {
        let mut mappings: Vec<Mapping> = Vec::new();
        let mut known: HashMap<Arc<str>, usize> = HashMap::new();
        let mut count = 0;
        for (name, range) in ranges {
            count += 1;
            bounded("ranges of an enumeration", count, limits::RANGES)?;
            let at = *known.entry(name.clone()).or_insert(mappings.len());
            match mappings.get_mut(at) {
                Some(mapping) => mapping.ranges.push(range),
                None => mappings.push(Mapping { name, ranges: vec![range] }),
            }
        }
        let ranges = (0..)
            .zip(&mappings)
            .flat_map(|(n, mapping)| mapping.ranges.iter().map(move |range| (*range, n)));
        let several = several(&mappings);
        let first = disjoint(ranges.collect());
        let largest = first.last().map_or(-1, |((_, high), _)| *high);
        let mut mappings = Self { all: mappings, first, near: Vec::new(), several };
        mappings.near =
            (0..largest.saturating_add(1).min(NEAR)).map(|value| mappings.search(value)).collect();
        Ok(mappings)
    }

    /// All mappings, in the order of the metadata.
    #[must_use]
    pub fn all(&self) -> &[Mapping] {
        &self.all
    }

    /// The name of the first mapping that contains a value, by a table or a binary search.
    #[must_use]
    #[inline]
    pub fn first(&self, value: i128) -> Option<&Arc<str>> {
        let near = usize::try_from(value).ok().and_then(|value| self.near.get(value));
        let mapping = near.copied().unwrap_or_else(|| self.search(value))?;
        self.all.get(mapping as usize).map(|mapping| &mapping.name)
    }

    /// The text for a value: its name, or all of its names, `"Z", "A"`, in the order of the metadata
    /// as babeltrace2 2.0 prints them; the first is [`Self::first`].
    #[must_use]
    #[inline]
    pub fn shown(&self, value: i128) -> Option<&str> {
        if !self.several.is_empty()
            && let Some(text) = self.all_names(value)
        {
            return Some(text);
        }
        self.first(value).map(|name| &**name)
    }

    #[cold]
    fn all_names(&self, value: i128) -> Option<&str> {
        let next = self.several.partition_point(|((low, _), _)| *low <= value);
        let ((_, high), text) = self.several.get(next.checked_sub(1)?)?;
        (value <= *high).then_some(text)
    }

    fn search(&self, value: i128) -> Option<u32> {
        let next = self.first.partition_point(|((low, _), _)| *low <= value);
        let ((_, high), mapping) = self.first.get(next.checked_sub(1)?)?;
        (value <= *high).then_some(*mapping)
    }

    /// The names of a value, in the order of the metadata; more than one where ranges overlap.
    /// Linear in the number of mappings.
    pub fn of(&self, value: i128) -> impl Iterator<Item = &Arc<str>> {
        let has = move |mapping: &&Mapping| {
            mapping.ranges.iter().any(|(low, high)| (*low..=*high).contains(&value))
        };
        self.all.iter().filter(has).map(|mapping| &mapping.name)
    }

    /// The mapping with a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Mapping> {
        self.all.iter().find(|mapping| &*mapping.name == name)
    }
}

/// Values that have several names.
fn several(mappings: &[Mapping]) -> Vec<(IntegerRange, Box<str>)> {
    // Starts and ends of ranges; at equal values, ends come first.
    let mut ends: Vec<(i128, bool, usize, usize)> = Vec::new();
    for (n, mapping) in mappings.iter().enumerate() {
        for (at, (low, high)) in mapping.ranges.iter().enumerate() {
            ends.push((*low, true, n, at));
            ends.extend(high.checked_add(1).map(|over| (over, false, n, at)));
        }
    }
    ends.sort_unstable();
    let (mut out, mut spent) = (Vec::new(), 0);
    // Ranges of one name may overlap too.
    let mut open: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut ends = ends.into_iter().peekable();
    while let Some((at, begins, n, range)) = ends.next() {
        if begins {
            open.insert((n, range));
        } else {
            open.remove(&(n, range));
        }
        let until = match ends.peek() {
            Some((next, ..)) if *next == at => continue,
            Some((next, ..)) => next.saturating_sub(1),
            None => i128::MAX,
        };
        if open.len() < 2 {
            continue;
        }
        // In the order of the metadata, as the set is; no two mappings have one name.
        let mut names: Vec<&str> = open
            .iter()
            .filter_map(|(n, _)| mappings.get(*n))
            .map(|mapping| &*mapping.name)
            .collect();
        names.dedup();
        // Many ranges of the same name also cost time.
        spent += open.len();
        if names.len() > 1 {
            let text =
                names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
            spent += text.len();
            out.push(((at, until), text.into()));
        }
        if spent > SEVERAL {
            break;
        }
    }
    out
}

/// Cuts ranges so that none overlap; overlapping values belong to the lowest index. Sorted.
pub(crate) fn disjoint(mut ranges: Vec<(IntegerRange, u32)>) -> Vec<(IntegerRange, u32)> {
    use std::cmp::Reverse;
    ranges.sort_unstable();
    let mut out: Vec<(IntegerRange, u32)> = Vec::new();
    // Open ranges, lowest index first, with their ends.
    let mut open: BinaryHeap<Reverse<(u32, i128)>> = BinaryHeap::new();
    let mut next = ranges.into_iter().peekable();
    let mut at = i128::MIN;
    loop {
        if open.is_empty() {
            let Some(((low, _), _)) = next.peek() else { return out };
            at = at.max(*low);
        }
        while let Some(((_, high), number)) = next.next_if(|((low, _), _)| *low <= at) {
            open.push(Reverse((number, high)));
        }
        let Some(Reverse((number, high))) = open.peek().copied() else { continue };
        if high < at {
            open.pop();
            continue;
        }
        // Up to the end of this range or the start of the next.
        let until = next.peek().map_or(high, |((low, _), _)| high.min(low.saturating_sub(1)));
        match out.last_mut() {
            Some(((_, last), same)) if *same == number && last.checked_add(1) == Some(at) => {
                *last = until
            }
            _ => out.push(((at, until), number)),
        }
        match until.checked_add(1) {
            Some(n) => at = n,
            None => return out,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_first_of_all(
            ranges in proptest::collection::vec((0_u8..4, -20_i128..20, 0_i128..9), 0..12),
        ) {
            // Not in the order of the alphabet.
            let named = |n: u8| Arc::from(["c", "a", "d", "b"][usize::from(n)]);
            let mappings = Mappings::new(ranges.into_iter().map(|(n, low, more)| (named(n), (low, low + more)))).unwrap();
            for value in -25..35 {
                prop_assert_eq!(mappings.first(value), mappings.of(value).next(), "{}", value);
                let all: Vec<String> = mappings.of(value).map(|name| format!("\"{name}\"")).collect();
                let shown = if all.len() > 1 { Some(all.join(", ")) } else { mappings.of(value).next().map(ToString::to_string) };
                prop_assert_eq!(mappings.shown(value), shown.as_deref(), "{}", value);
            }
        }
    }

    /// The cases and texts of babeltrace2 2.0.4.
    #[test]
    fn labels_come_in_the_order_of_the_metadata() {
        type Ranges<'a> = &'a [(&'a str, i128, i128)];
        type Cases<'a> = &'a [(i128, Option<&'a str>)];
        let all: [(Ranges<'_>, Cases<'_>); 4] = [
            (
                &[("Z", 1, 9), ("A", 5, 20)],
                &[(6, Some("\"Z\", \"A\"")), (1, Some("Z")), (12, Some("A")), (30, None)],
            ),
            (&[("A", 5, 20), ("Z", 1, 9)], &[(6, Some("\"A\", \"Z\""))]),
            (
                &[("a", 1, 1), ("b", 1, 1), ("c", 0, 3), ("0", 1, 1), ("B", 1, 1)],
                &[(1, Some("\"a\", \"b\", \"c\", \"0\", \"B\""))],
            ),
            // Two ranges of one name are one mapping, at the place of the first.
            (
                &[("C", 1, 1), ("B", 1, 5), ("C", 5, 5)],
                &[(1, Some("\"C\", \"B\"")), (5, Some("\"C\", \"B\"")), (3, Some("B"))],
            ),
        ];
        for (ranges, cases) in all {
            let ranges = ranges.iter().map(|(name, low, high)| (Arc::from(*name), (*low, *high)));
            let mappings = Mappings::new(ranges).unwrap();
            for (value, text) in cases {
                assert_eq!(mappings.shown(*value), *text, "{value}");
                let first = mappings.first(*value).map(|name| &**name);
                assert!(text.is_none_or(|text| {
                    text.trim_start_matches('"').starts_with(first.unwrap_or("?"))
                }));
            }
        }
    }

    #[test]
    fn names_that_all_overlap_have_a_bound() {
        let all = (0..10_000)
            .map(|n| (Arc::from(format!("a name, number {n}")), (i128::from(n), 20_000)));
        let mappings = Mappings::new(all).unwrap();
        assert_eq!(mappings.shown(0), Some("a name, number 0"));
        assert_eq!(mappings.shown(1), Some("\"a name, number 0\", \"a name, number 1\""));
        assert_eq!(mappings.shown(9_999), Some("a name, number 0"));
        assert!(mappings.several.iter().map(|(_, text)| text.len()).sum::<usize>() < 2 * SEVERAL);
    }

    #[test]
    fn ends_of_everything() {
        let whole = (i128::MIN, i128::MAX);
        assert_eq!(
            disjoint(vec![(whole, 1), ((5, 5), 0)]),
            [((i128::MIN, 4), 1), ((5, 5), 0), ((6, i128::MAX), 1)]
        );
        assert_eq!(
            disjoint(vec![((3, 4), 0), ((5, 6), 0), ((9, 9), 0)]),
            [((3, 6), 0), ((9, 9), 0)]
        );
        assert_eq!(disjoint(vec![]), []);
    }
}
