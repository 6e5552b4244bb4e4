//! Fetches: request, profile, budget, and the answer in libpcp's form.

mod blocks;
mod budget;
mod default;
mod profile;
mod results;

pub use blocks::TextValue;
pub use budget::{Budget, FetchLimits, block_bytes};
pub use default::fetch_values;
use pcp_event::Pmid;
pub use profile::{Profile, Wanted};
pub use results::Results;

use crate::ids::ContextId;

/// A fetch of one client context.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FetchRequest<'a> {
    /// The fetching context.
    pub context: ContextId,
    /// PMIDs as `u32` ([`Pmid`]), one value set each, in this order; a PMID may be repeated.
    pub pmids: &'a [u32],
    /// The instances that the context has selected.
    pub profile: Profile<'a>,
}

impl FetchRequest<'_> {
    /// The metrics in their order, with the positions of their value sets in the answer.
    pub fn places(&self) -> impl Iterator<Item = (usize, Pmid)> {
        self.pmids.iter().map(|pmid| Pmid(*pmid)).enumerate()
    }
}
