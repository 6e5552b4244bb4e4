//! Client contexts: their credentials and filters.

use std::cell::{Ref, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use pmda::ContextId;

use super::credentials::Credentials;
use crate::events::{Filter, FilterError, ParameterNames};
use crate::model::{SourceId, StreamKind};

/// Most filters for single instances: of one context, and of all.
const INSTANCES_MAX: usize = 4096;
const INSTANCES_ALL: usize = 64 << 10;
/// Most different filters of one context and of all, and most bytes of all.
const FILTERS_MAX: usize = 32;
const FILTERS_ALL: usize = 256;
const FILTERS_BYTES: usize = 8 << 20;
/// Most refused filters that are kept.
const REFUSED_MAX: usize = 256;

/// A filter of one or more contexts: equal texts of a source share one.
#[derive(Clone, Debug)]
pub(super) struct SharedFilter(Rc<RefCell<Filter>>);

impl SharedFilter {
    /// The filter, after an update of the parameters that its names match by now.
    pub(super) fn refreshed(&self, names: &dyn ParameterNames) -> Ref<'_, Filter> {
        if let Ok(mut filter) = self.0.try_borrow_mut() {
            filter.refresh(names);
        }
        self.0.borrow()
    }

    pub(super) fn text(&self) -> String {
        self.0.borrow().text().to_owned()
    }

    /// Its names that no parameter has yet.
    pub(super) fn unknown(&self) -> String {
        self.0.borrow().unknown().collect::<Vec<_>>().join(", ")
    }

    fn memory(&self) -> usize {
        self.0.borrow().memory()
    }
}

/// The reason why a filter is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilterRefused {
    #[error(transparent)]
    Invalid(#[from] FilterError),
    #[error("{0}: set fewer, or use those that are in force")]
    TooMany(String),
}

/// The filters of a context for one kind of events.
#[derive(Debug, Default)]
struct Filters {
    /// The filter of each instance that is not in `own`, present or future.
    all: Option<SharedFilter>,
    /// `None`: this instance is not filtered, whatever `all` is.
    own: HashMap<u32, Option<SharedFilter>>,
}

/// One client context.
#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) who: Credentials,
    filters: HashMap<StreamKind, Filters>,
}

impl Context {
    /// The filter in force for an instance.
    pub(super) fn filter(&self, kind: StreamKind, inst: u32) -> Option<&SharedFilter> {
        let filters = self.filters.get(&kind)?;
        filters.own.get(&inst).unwrap_or(&filters.all).as_ref()
    }

    /// Number of entries for single instances.
    fn own(&self) -> usize {
        self.filters.values().map(|f| f.own.len()).sum()
    }

    /// Number of different filters.
    fn different(&self) -> usize {
        let all = self.filters.values().flat_map(|f| f.all.iter().chain(f.own.values().flatten()));
        let mut places: Vec<*const RefCell<Filter>> =
            all.map(|shared| Rc::as_ptr(&shared.0)).collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    }
}

/// All client contexts by pmcd's number, the filters in use, and the newest refused filters.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    by_number: HashMap<ContextId, Context>,
    filters: HashMap<(SourceId, String), SharedFilter>,
    refused: HashMap<(StreamKind, RefusalOwner), String>,
}

/// The owner of a refused filter. A user sees it in other contexts too, since the context of
/// pmstore(1) ends with it; an unknown user's, and that of a client of pmproxy, is seen in the same context only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RefusalOwner {
    User(u32),
    Context(ContextId),
}

impl Contexts {
    /// A context, made at its first request.
    pub(super) fn get(&mut self, ctx: ContextId) -> &mut Context {
        self.by_number.entry(ctx).or_default()
    }

    /// A context that has made a request or has credentials.
    pub(super) fn known(&self, ctx: ContextId) -> Option<&Context> {
        self.by_number.get(&ctx)
    }

    /// Removes an ended context; pmcd reuses its number.
    pub(super) fn forget(&mut self, ctx: ContextId) {
        self.by_number.remove(&ctx);
        self.refused.retain(|(_, whose), _| *whose != RefusalOwner::Context(ctx));
        self.purge();
    }

    fn whose(&self, ctx: ContextId) -> RefusalOwner {
        self.by_number
            .get(&ctx)
            .filter(|c| !c.who.is_pmproxy())
            .and_then(|c| c.who.uid())
            .map_or(RefusalOwner::Context(ctx), RefusalOwner::User)
    }

    /// The reason why the newest filter of this context, or of its user, was refused.
    pub(super) fn refused(&self, kind: StreamKind, ctx: ContextId) -> Option<&str> {
        self.refused.get(&(kind, self.whose(ctx))).map(String::as_str)
    }

    /// Records why the newest filter of this context was refused; `None`: it was accepted.
    pub(super) fn set_refused(&mut self, kind: StreamKind, ctx: ContextId, why: Option<String>) {
        let whose = self.whose(ctx);
        match why {
            Some(why) => {
                if self.refused.len() >= REFUSED_MAX {
                    self.refused.clear();
                }
                self.refused.insert((kind, whose), why);
            }
            None => drop(self.refused.remove(&(kind, whose))),
        }
    }

    /// Drops filters that no context has.
    fn purge(&mut self) {
        self.filters.retain(|_, shared| Rc::strong_count(&shared.0) > 1);
    }

    /// The filter of a text: one in force, or a new one.
    pub(super) fn filter(
        &mut self,
        source: SourceId,
        ctx: ContextId,
        text: &str,
        names: &dyn ParameterNames,
    ) -> Result<SharedFilter, FilterRefused> {
        let key = (source, text.to_owned());
        let known = self.filters.get(&key).cloned();
        if self.get(ctx).different() >= FILTERS_MAX {
            return Err(FilterRefused::TooMany(format!(
                "this client has {FILTERS_MAX} different filters"
            )));
        }
        if let Some(shared) = known {
            return Ok(shared);
        }
        self.purge();
        let bytes: usize = self.filters.values().map(SharedFilter::memory).sum();
        if self.filters.len() >= FILTERS_ALL || bytes >= FILTERS_BYTES {
            let (count, mib) = (self.filters.len(), FILTERS_BYTES >> 20);
            return Err(FilterRefused::TooMany(format!(
                "all clients have {count} different filters of {bytes} bytes; at most {FILTERS_ALL} and {mib} MiB are kept"
            )));
        }
        let shared = SharedFilter(Rc::new(RefCell::new(Filter::parse(text, names)?)));
        self.filters.insert(key, shared.clone());
        Ok(shared)
    }

    /// Sets or removes the filter of all instances of a context, or of some. `false`: there are too
    /// many entries, and some instances got none.
    pub(super) fn set_filter(
        &mut self,
        ctx: ContextId,
        kind: StreamKind,
        instances: Option<&[u32]>,
        filter: Option<&SharedFilter>,
    ) -> bool {
        let others: usize =
            self.by_number.iter().filter(|(other, _)| **other != ctx).map(|(_, c)| c.own()).sum();
        let context = self.get(ctx);
        let mut own = context.own();
        let filters = context.filters.entry(kind).or_default();
        let Some(some) = instances else {
            *filters = Filters { all: filter.cloned(), own: HashMap::new() };
            self.purge();
            return true;
        };
        let mut fits = true;
        for inst in some {
            if filters.own.contains_key(inst) || own < INSTANCES_MAX && others + own < INSTANCES_ALL
            {
                own += usize::from(filters.own.insert(*inst, filter.cloned()).is_none());
            } else {
                fits = false;
            }
        }
        fits
    }
}
