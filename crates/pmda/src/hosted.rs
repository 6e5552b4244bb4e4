//! The agent as the callbacks find it. Two of libpcp_pmda's callbacks have no argument that could
//! carry it, so it is in a thread-local, borrowed for the length of one callback.

use std::cell::RefCell;
use std::ffi::CString;
use std::rc::Rc;

use crate::fetch::Results;
use crate::handler::Handler;
use crate::process::Allowance;
use crate::tables::Tables;

/// An agent between its start and its end.
pub(crate) struct Hosted {
    pub(crate) handler: Rc<RefCell<dyn Handler>>,
    pub(crate) tables: Tables,
    /// The answer to the last fetch: libpcp_pmda sends it after the callback has returned.
    pub(crate) results: Results,
    /// The last help text: libpcp_pmda reads it after the callback has returned.
    pub(crate) text: CString,
    /// The time limit of the current request.
    pub(crate) allowance: Allowance,
    /// Metrics were added after the last fetch.
    pub(crate) names_changed: bool,
}

thread_local! {
    static HOSTED: RefCell<Option<Hosted>> = const { RefCell::new(None) };
}

/// Sets or removes the agent of this thread.
pub(crate) fn install(hosted: Option<Hosted>) {
    drop(HOSTED.replace(hosted));
}

/// Runs `f` on the agent; `None` before the start and after the end.
pub(crate) fn with<R>(f: impl FnOnce(&mut Hosted) -> R) -> Option<R> {
    HOSTED.with_borrow_mut(|hosted| hosted.as_mut().map(f))
}

/// Runs `f` on the handler and the tables.
pub(crate) fn with_handler<R>(f: impl FnOnce(&mut dyn Handler, &mut Tables) -> R) -> Option<R> {
    with(|hosted| {
        let handler = Rc::clone(&hosted.handler);
        let mut handler = handler.borrow_mut();
        f(&mut *handler, &mut hosted.tables)
    })
}
