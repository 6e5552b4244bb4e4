//! Fetches: request, profile, budget, and the answer in libpcp's form.

mod arrays;
mod budget;
mod default;
mod profile;
mod results;

pub use budget::{Budget, block_bytes};
pub use default::fetch_values;
use pcp_event::Pmid;
pub use profile::{Profile, Wanted};
pub use results::Results;

use crate::ids::ContextId;

/// A fetch of one client context.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FetchRequest<'a> {
    /// The context that fetches.
    pub context: ContextId,
    /// Metrics, as `u32` of [`Pmid`]: one value set each, in this order; a PMID may come again.
    pub pmids: &'a [u32],
    /// The instances that the context asks for.
    pub profile: Profile<'a>,
}

impl FetchRequest<'_> {
    /// The metrics in their order, with their places in the answer.
    pub fn places(&self) -> impl Iterator<Item = (usize, Pmid)> {
        self.pmids.iter().map(|pmid| Pmid(*pmid)).enumerate()
    }
}
