//! Client contexts: who they are, and the filters that they have set.

use super::access::Credentials;
use crate::events::Filter;
use std::collections::HashMap;
use std::sync::Arc;

/// Most filters of a context for single instances.
const INSTANCES_MAX: usize = 4096;
/// Most users whose refused filters are kept.
const REFUSED_MAX: usize = 256;

/// A source and one of its event kinds.
pub(super) type Kind = (usize, u8);

/// The filters of a context for one kind of events.
#[derive(Debug, Default)]
struct Filters {
    /// For every instance that has none of its own, those that are yet to come too.
    all: Option<Arc<Filter>>,
    /// `None`: this instance is not filtered, whatever `all` says.
    own: HashMap<u32, Option<Arc<Filter>>>,
}

/// One client context.
#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) who: Credentials,
    filters: HashMap<Kind, Filters>,
}

impl Context {
    /// The filter in force for an instance.
    pub(super) fn filter(&self, kind: Kind, inst: u32) -> Option<&Arc<Filter>> {
        let filters = self.filters.get(&kind)?;
        filters.own.get(&inst).unwrap_or(&filters.all).as_ref()
    }

    /// Sets or removes the filter of all instances, or of some.
    pub(super) fn set_filter(&mut self, kind: Kind, instances: Option<&[u32]>, filter: Option<&Arc<Filter>>) {
        let filters = self.filters.entry(kind).or_default();
        match instances {
            None => *filters = Filters { all: filter.cloned(), own: HashMap::new() },
            Some(some) => {
                for inst in some {
                    if filters.own.len() < INSTANCES_MAX || filters.own.contains_key(inst) {
                        filters.own.insert(*inst, filter.cloned());
                    }
                }
            }
        }
    }

    fn each_filter(&mut self, kind: impl Fn(usize) -> bool, mut change: impl FnMut(&mut Arc<Filter>)) {
        for filters in self.filters.iter_mut().filter(|((source, _), _)| kind(*source)).map(|(_, f)| f) {
            filters.all.iter_mut().chain(filters.own.values_mut().flatten()).for_each(&mut change);
        }
    }
}

/// All client contexts by pmcd's number, and the newest refused filters by kind and user.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    by_number: HashMap<i32, Context>,
    refused: HashMap<(Kind, Option<u32>), String>,
}

impl Contexts {
    /// A context, made when first heard of.
    pub(super) fn get(&mut self, ctx: i32) -> &mut Context {
        self.by_number.entry(ctx).or_default()
    }

    /// A context, if anything is known of it.
    pub(super) fn known(&self, ctx: i32) -> Option<&Context> {
        self.by_number.get(&ctx)
    }

    /// A context has ended; its number will be used again.
    pub(super) fn forget(&mut self, ctx: i32) {
        self.by_number.remove(&ctx);
    }

    /// Why the newest filter of this context's user was refused.
    pub(super) fn refused(&self, kind: Kind, ctx: i32) -> Option<&str> {
        let uid = self.by_number.get(&ctx).and_then(|c| c.who.uid());
        self.refused.get(&(kind, uid)).map(String::as_str)
    }

    /// The newest filter of this context's user was refused, or taken.
    pub(super) fn set_refused(&mut self, kind: Kind, ctx: i32, why: Option<String>) {
        let uid = self.get(ctx).who.uid();
        match why {
            Some(why) => {
                if self.refused.len() >= REFUSED_MAX {
                    self.refused.clear();
                }
                self.refused.insert((kind, uid), why);
            }
            None => drop(self.refused.remove(&(kind, uid))),
        }
    }

    /// New metrics have come: what the names in filters stand for may be more.
    pub(super) fn renew_filters(&mut self, source: usize, parse: impl Fn(&str) -> Option<Filter>) {
        for context in self.by_number.values_mut() {
            context.each_filter(
                |s| s == source,
                |filter| {
                    if let Some(new) = parse(filter.text()) {
                        *filter = Arc::new(new);
                    }
                },
            );
        }
    }
}
