//! The layout of a region (docs/protocols/jvm-hsperfdata.md 2): [`prologue`], [`directory`] of its
//! entries, and the [`counters`] that are looked up in it.

mod counters;
mod directory;
mod entry;
mod prologue;

pub(crate) use counters::Counter;
pub(crate) use directory::{Directory, Values};
#[cfg(test)]
pub(crate) use entry::{Entry, Place, Walk};
#[cfg(test)]
pub(crate) use prologue::PROLOGUE;
pub(crate) use prologue::{Prologue, Refusal};
