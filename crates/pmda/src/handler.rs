//! The answers of an agent.

use std::time::Duration;

use pcp_event::{Pmid, Value};

use crate::error::Error;
use crate::fetch::{FetchLimits, FetchRequest, Results, fetch_values};
use crate::ids::{Attribute, ContextId, InDom, LabelTarget, TextTarget};
use crate::labels::LabelSet;
use crate::store::StoreRequest;
use crate::tables::Tables;

/// The answers of an agent. All methods are called on the thread of the main loop, one at a time. A
/// panic becomes `PM_ERR_GENERIC` for the client, and the agent keeps running.
///
/// Names and descriptors come from the [`Tables`]; every method has a default.
#[expect(unused_variables, reason = "defaults ignore their arguments")]
pub trait Handler {
    /// Called when the main loop was woken, after each request, and at least once a second: adds new metrics.
    fn update(&mut self, tables: &mut Tables) {}

    /// Called before libpcp_pmda reads the instances of a domain: replaces them if they have
    /// changed.
    fn refresh(&mut self, indom: InDom, tables: &mut Tables) {}

    /// The value of a metric and instance ([`IN_NULL`](crate::IN_NULL) without an instance domain);
    /// `None` if there is none now.
    ///
    /// # Errors
    /// Sent to the client if no instance of the metric has a value.
    fn value(&mut self, pmid: Pmid, inst: u32) -> Result<Option<Value>, Error> {
        Err(Error::PMID)
    }

    /// Answers a fetch. By default each instance in the profile is refreshed and gets its
    /// [`value`](Self::value).
    fn fetch(&mut self, request: &FetchRequest<'_>, tables: &mut Tables, results: &mut Results) {
        fetch_values(self, request, tables, results);
    }

    /// Limits of the next answer to a fetch. Values that do not fit are answered by an error.
    fn fetch_limits(&self) -> FetchLimits {
        FetchLimits::default()
    }

    /// Stores values from a client.
    ///
    /// # Errors
    /// Sent to the client.
    fn store(&mut self, request: &StoreRequest<'_>) -> Result<(), Error> {
        Err(Error::PERMISSION)
    }

    /// The one-line or the long help text. `None`: the text comes from the help file of
    /// [`PmdaInfo`](crate::PmdaInfo).
    fn text(&mut self, target: TextTarget, one_line: bool) -> Option<String> {
        None
    }

    /// Labels of one level.
    fn labels(&mut self, target: LabelTarget) -> Option<LabelSet> {
        None
    }

    /// A credential of a client context, passed on by pmcd.
    fn attribute(&mut self, context: ContextId, attribute: Attribute) {}

    /// A client context has ended.
    fn end_context(&mut self, context: ContextId) {}

    /// Called after the answer to a request was sent.
    fn answered(&mut self, report: Answered) {}
}

/// Measurements of an answered request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Answered {
    /// CPU time of the main loop's thread.
    pub time: Duration,
    /// Labels of some instances are missing: the limit of 100 ms was reached.
    pub cut: bool,
}
