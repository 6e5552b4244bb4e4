//! Client contexts: who they are, and the filters that they have set.

use std::cell::{Ref, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use pmda::ContextId;

use super::credentials::Credentials;
use crate::events::{Filter, FilterError, ParameterNames};
use crate::model::{SourceId, StreamKind};

/// Most filters for single instances, of a context and of all.
const INSTANCES_MAX: usize = 4096;
const INSTANCES_ALL: usize = 64 << 10;
/// Most different filters, of a context and of all, and the bytes that all may take.
const FILTERS_MAX: usize = 32;
const FILTERS_ALL: usize = 256;
const FILTERS_BYTES: usize = 8 << 20;
/// Most users and contexts whose refused filters are kept.
const REFUSED_MAX: usize = 256;

/// A filter that one or more contexts have set: the same text of a source is kept once.
#[derive(Clone, Debug)]
pub(super) struct Held(Rc<RefCell<Filter>>);

impl Held {
    /// The filter, whose names stand for what is known by now.
    pub(super) fn renewed(&self, names: &dyn ParameterNames) -> Ref<'_, Filter> {
        if let Ok(mut filter) = self.0.try_borrow_mut() {
            filter.refresh(names);
        }
        self.0.borrow()
    }

    pub(super) fn text(&self) -> String {
        self.0.borrow().text().to_owned()
    }

    fn memory(&self) -> usize {
        self.0.borrow().memory()
    }
}

/// Why a filter is not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotTaken {
    #[error(transparent)]
    Wrong(#[from] FilterError),
    #[error("{0}: set fewer, or use those that are in force")]
    TooMany(String),
}

/// The filters of a context for one kind of events.
#[derive(Debug, Default)]
struct Filters {
    /// For every instance that has none of its own, those that are yet to come too.
    all: Option<Held>,
    /// `None`: this instance is not filtered, whatever `all` says.
    own: HashMap<u32, Option<Held>>,
}

/// One client context.
#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) who: Credentials,
    filters: HashMap<StreamKind, Filters>,
}

impl Context {
    /// The filter in force for an instance.
    pub(super) fn filter(&self, kind: StreamKind, inst: u32) -> Option<&Held> {
        let filters = self.filters.get(&kind)?;
        filters.own.get(&inst).unwrap_or(&filters.all).as_ref()
    }

    /// How many instances have filters of their own.
    fn own(&self) -> usize {
        self.filters.values().map(|f| f.own.len()).sum()
    }

    /// How many different filters are set.
    fn different(&self) -> usize {
        let all = self.filters.values().flat_map(|f| f.all.iter().chain(f.own.values().flatten()));
        let mut places: Vec<*const RefCell<Filter>> = all.map(|held| Rc::as_ptr(&held.0)).collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    }
}

/// All client contexts by pmcd's number, and the newest refused filters by kind and user.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    by_number: HashMap<ContextId, Context>,
    filters: HashMap<(SourceId, String), Held>,
    refused: HashMap<(StreamKind, Whose), String>,
}

/// Whose a refused filter is. A user sees it in another context too, as pmstore(1) ends with its
/// own; of whom nobody knows who it is, the context alone sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Whose {
    User(u32),
    Context(ContextId),
}

impl Contexts {
    /// A context, made when first heard of.
    pub(super) fn get(&mut self, ctx: ContextId) -> &mut Context {
        self.by_number.entry(ctx).or_default()
    }

    /// A context, if anything is known of it.
    pub(super) fn known(&self, ctx: ContextId) -> Option<&Context> {
        self.by_number.get(&ctx)
    }

    /// A context has ended; its number will be used again.
    pub(super) fn forget(&mut self, ctx: ContextId) {
        self.by_number.remove(&ctx);
        self.refused.retain(|(_, whose), _| *whose != Whose::Context(ctx));
        self.purge();
    }

    fn whose(&self, ctx: ContextId) -> Whose {
        self.by_number.get(&ctx).and_then(|c| c.who.uid()).map_or(Whose::Context(ctx), Whose::User)
    }

    /// Why the newest filter of this context, or of its user, was refused.
    pub(super) fn refused(&self, kind: StreamKind, ctx: ContextId) -> Option<&str> {
        self.refused.get(&(kind, self.whose(ctx))).map(String::as_str)
    }

    /// The newest filter of this context was refused, or taken.
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

    /// Filters that no context has any more.
    fn purge(&mut self) {
        self.filters.retain(|_, held| Rc::strong_count(&held.0) > 1);
    }

    /// The filter of a text: one that is in force already, or a new one.
    pub(super) fn filter(
        &mut self,
        source: SourceId,
        ctx: ContextId,
        text: &str,
        names: &dyn ParameterNames,
    ) -> Result<Held, NotTaken> {
        let key = (source, text.to_owned());
        let known = self.filters.get(&key).cloned();
        if self.get(ctx).different() >= FILTERS_MAX {
            return Err(NotTaken::TooMany(format!(
                "this client has {FILTERS_MAX} different filters"
            )));
        }
        if let Some(held) = known {
            return Ok(held);
        }
        self.purge();
        let bytes: usize = self.filters.values().map(Held::memory).sum();
        if self.filters.len() >= FILTERS_ALL || bytes >= FILTERS_BYTES {
            let (count, mib) = (self.filters.len(), FILTERS_BYTES >> 20);
            return Err(NotTaken::TooMany(format!(
                "all clients have {count} different filters of {bytes} bytes; at most {FILTERS_ALL} and {mib} MiB are kept"
            )));
        }
        let held = Held(Rc::new(RefCell::new(Filter::parse(text, names)?)));
        self.filters.insert(key, held.clone());
        Ok(held)
    }

    /// Sets or removes the filter of all instances of a context, or of some. `false`: there are too
    /// many instances.
    pub(super) fn set_filter(
        &mut self,
        ctx: ContextId,
        kind: StreamKind,
        instances: Option<&[u32]>,
        filter: Option<&Held>,
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
