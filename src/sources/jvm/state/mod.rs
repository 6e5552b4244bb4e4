//! What the values of a region mean: [`facts`] that do not change, with the [`flags`] of the command
//! line; the [`figures`] of each reading, with those of [`memory`]; the longest [`pauses`].

mod facts;
mod figures;
mod flags;
mod memory;
mod pauses;

pub(crate) use facts::{Facts, shown};
pub(crate) use figures::Figures;
pub(crate) use memory::POOLS;
pub(crate) use pauses::Longest;

#[cfg(test)]
pub(crate) use self::{facts::Collector, figures::Collections, memory::Heap};
