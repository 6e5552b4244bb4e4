//! What an agent answers.

use std::time::Duration;

use pcp_event::{Pmid, Value};

use crate::error::Error;
use crate::fetch::{FetchRequest, Results, fetch_values};
use crate::ids::{Attribute, ContextId, InDom, LabelTarget, TextTarget};
use crate::labels::LabelSet;
use crate::store::StoreRequest;
use crate::tables::Tables;

/// The answers of an agent. The framework calls these on the thread of the main loop, one at a
/// time; a panic becomes `PM_ERR_GENERIC` for the client and the agent goes on.
///
/// Names and descriptors come from the [`Tables`]; every method has a default.
#[expect(unused_variables, reason = "defaults ignore their arguments")]
pub trait Handler {
    /// Before each request, and whenever the main loop wakes: adds metrics that have come.
    fn update(&mut self, tables: &mut Tables) {}

    /// Before libpcp_pmda reads the instances of a domain: replaces them if they have changed.
    fn refresh(&mut self, indom: InDom, tables: &mut Tables) {}

    /// The value of a metric and instance ([`IN_NULL`](crate::IN_NULL) without an instance domain);
    /// `None` if there is none now.
    ///
    /// # Errors
    /// Sent to the client if no instance of the metric has a value.
    fn value(&mut self, pmid: Pmid, inst: u32) -> Result<Option<Value>, Error> {
        Err(Error::PMID)
    }

    /// A fetch. By default each instance that the profile asks for is refreshed and gets its
    /// [`value`](Self::value).
    fn fetch(&mut self, request: &FetchRequest<'_>, tables: &mut Tables, results: &mut Results) {
        fetch_values(self, request, tables, results);
    }

    /// A store request.
    ///
    /// # Errors
    /// Sent to the client.
    fn store(&mut self, request: &StoreRequest<'_>) -> Result<(), Error> {
        Err(Error::PERMISSION)
    }

    /// A help text of one line or of many. `None`: the text is looked up in the help file of
    /// [`PmdaInfo`](crate::PmdaInfo).
    fn text(&mut self, target: TextTarget, one_line: bool) -> Option<String> {
        None
    }

    /// Labels of one level.
    fn labels(&mut self, target: LabelTarget) -> Option<LabelSet> {
        None
    }

    /// pmcd passes on a credential of a client context.
    fn attribute(&mut self, context: ContextId, attribute: Attribute) {}

    /// A client context has ended.
    fn end_context(&mut self, context: ContextId) {}

    /// A request has been answered, and the answer sent.
    fn answered(&mut self, report: Answered) {}
}

/// How a request was answered.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Answered {
    /// CPU time that the thread has taken.
    pub time: Duration,
    /// Labels of some instances are missing: there are more than can be sent in time.
    pub cut: bool,
}
