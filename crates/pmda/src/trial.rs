//! A handler without pmcd.

use std::ffi::c_int;

use pcp_event::Pmid;
use pcp_sys as sys;

use crate::agent::StartError;
use crate::error::Error;
use crate::fetch::{Budget, FetchRequest, Profile, Results};
use crate::handler::Handler;
use crate::ids::ContextId;
use crate::process::work_time;
use crate::tables::Tables;

/// A [`Handler`] without pmcd, for its tests and benchmarks. Requests take the same way as those of
/// an agent, with the same limits.
///
/// Not `Send`: libpcp_pmda has no locks.
#[derive(Debug)]
pub struct Trial<H> {
    handler: H,
    tables: Tables,
    results: Results,
}

impl<H: Handler> Trial<H> {
    /// An agent of a domain, with the tables that `build` fills.
    ///
    /// # Errors
    /// Errors of `build`, or of libpcp when it has no memory for a name space.
    pub fn new(
        domain: u32,
        build: impl FnOnce(&mut Tables) -> Result<H, StartError>,
    ) -> Result<Self, StartError> {
        let mut tables = Tables::new(domain)?;
        let handler = build(&mut tables)?;
        Ok(Self { handler, tables, results: Results::default() })
    }

    /// The handler.
    pub const fn handler(&mut self) -> &mut H {
        &mut self.handler
    }

    /// What the main loop does after a wake-up and between requests: [`Handler::update`].
    pub fn update(&mut self) {
        self.handler.update(&mut self.tables);
    }

    /// Fetches all instances of metrics for a client context, as libpcp_pmda gets them. Returns the
    /// number of values of each, or the error in its place.
    pub fn fetch(&mut self, context: ContextId, pmids: &[Pmid]) -> Vec<Result<usize, Error>> {
        let ids: Vec<u32> = pmids.iter().map(|pmid| pmid.0).collect();
        let request = FetchRequest { context, pmids: &ids, profile: Profile::ALL };
        let limits = self.handler.fetch_limits();
        self.results.begin(ids.len(), Budget::new(ids.len(), limits, work_time(), work_time));
        self.handler.fetch(&request, &mut self.tables, &mut self.results);
        let answer = self.results.finish(0);
        let counts = (0..ids.len()).map(|place| {
            // SAFETY: the answer has a set for each PMID, until `release` below.
            let count = unsafe { set_values(answer, place) };
            usize::try_from(count).map_err(|_| Error::of_status(count).unwrap_or(Error::GENERIC))
        });
        let counts = counts.collect();
        self.results.release();
        counts
    }
}

/// `numval` of a set of an answer.
///
/// # Safety
/// `answer` must be a whole answer with more sets than `place`.
unsafe fn set_values(answer: *const sys::PmdaResult, place: usize) -> c_int {
    // SAFETY: as the caller promises.
    let sets = unsafe { &raw const (*answer).vset }.cast::<*const sys::pmValueSet>();
    // SAFETY: as above.
    let set = unsafe { sets.add(place) };
    // SAFETY: as above.
    let set = unsafe { set.read() };
    // SAFETY: the pointer is that of a set of the answer.
    unsafe { (*set).numval }
}

#[cfg(test)]
mod tests {
    use pcp_event::{Value, ValueType};

    use super::*;
    use crate::tables::Metric;

    struct Two;

    impl Handler for Two {
        fn value(&mut self, pmid: Pmid, inst: u32) -> Result<Option<Value>, Error> {
            match pmid.item() {
                0 => Ok(Some(Value::U32(inst))),
                1 => Ok((inst == 3).then_some(Value::U64(1 << 40))),
                _ => Err(Error::PMID),
            }
        }
    }

    #[test]
    fn a_fetch_says_how_many_values_each_metric_has() {
        let built = Trial::new(40, |tables| {
            let indom = tables.add_indom(0);
            tables.set_instances(indom, [(3, "three"), (4, "four")]);
            let metrics = [("trial.a", ValueType::U32), ("trial.b", ValueType::U64)];
            let metrics = [0, 1].map(|item| {
                let (name, ty) = metrics[usize::from(item)];
                Metric { indom: Some(indom), ..tables.metric(name, 0, item, ty) }
            });
            tables.add_metrics(&metrics)?;
            Ok(Two)
        });
        let mut trial = built.unwrap_or_else(|e| panic!("{e}"));
        let pmid = |item| Pmid::new(40, 0, item);
        for _ in 0..2 {
            let counts = trial.fetch(ContextId(1), &[pmid(0), pmid(1), pmid(2), pmid(0)]);
            assert_eq!(counts, [Ok(2), Ok(1), Err(Error::PMID), Ok(2)]);
        }
    }
}
