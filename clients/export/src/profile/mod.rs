//! Profiles: stacks with the time that was spent in each of them, without what it called.

mod folded;
mod pcp;
mod pprof;
mod push;
mod speedscope;

use std::collections::HashMap;

pub use folded::folded;
pub use pcp::Stacktraces;
pub use pprof::{pprof, units};
pub use push::Push;
pub use speedscope::speedscope;

/// A stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The service or program; of the Java profiler with its namespace, `shop/orders`.
    pub service: Box<str>,
    /// `profiler`; empty: not known.
    pub source: Box<str>,
    /// The outermost first; never empty.
    pub frames: Vec<Box<str>>,
    /// ns.
    pub value: u64,
    /// ns between two samples; `None`: the time was measured.
    pub sampled: Option<u64>,
}

/// Stacks of a time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Each stack once, those with most time first.
    pub stacks: Vec<Folded>,
    /// When it began, in ns since 1970, and how long it took; 0: not known.
    pub start: i64,
    /// See `start`.
    pub length: u64,
}

impl Profile {
    /// Stacks, of which some may be the same.
    #[must_use]
    pub fn new(stacks: impl IntoIterator<Item = Folded>, start: i64, length: u64) -> Self {
        let mut places = HashMap::new();
        let mut found: Vec<Folded> = Vec::new();
        for stack in stacks {
            let key = (stack.service.clone(), stack.source.clone(), stack.frames.clone());
            let place = *places.entry(key).or_insert(found.len());
            match found.get_mut(place) {
                Some(known) => known.value = known.value.saturating_add(stack.value),
                None => found.push(stack),
            }
        }
        found.retain(|stack| stack.value > 0);
        found.sort_by(|a, b| {
            let key = |one: &Folded| (one.service.clone(), one.frames.clone());
            b.value.cmp(&a.value).then_with(|| key(a).cmp(&key(b)))
        });
        Self { stacks: found, start, length }
    }

    /// The services, those with most time first, with their sums in ns.
    #[must_use]
    pub fn services(&self) -> Vec<(&str, u64)> {
        let mut sums: HashMap<&str, u64> = HashMap::new();
        for stack in &self.stacks {
            let sum = sums.entry(&stack.service).or_default();
            *sum = sum.saturating_add(stack.value);
        }
        let mut found: Vec<_> = sums.into_iter().collect();
        found.sort_by_key(|(service, sum)| (std::cmp::Reverse(*sum), *service));
        found
    }
}
