//! Names and labels of instances, and names of parameters.

use std::collections::HashMap;
use std::sync::Arc;

use pmda::InDom;
use pmda::client::Context;
use serde_json::Value as Json;

use super::streams::Stream;
use crate::model::{Instance, Origin};

/// After this, in ns of the records' clock, names and labels are asked for again: some come late.
const STALE: i64 = 60_000_000_000;
/// Parameters whose names are kept.
const MOST_NAMES: usize = 65_536;

/// Who is known.
#[derive(Debug)]
pub(super) struct Whose {
    host: Arc<str>,
    domains: HashMap<u32, Domain>,
    origins: HashMap<(u32, i32), Arc<Origin>>,
    names: HashMap<u32, Arc<str>>,
}

/// The instances of a domain.
#[derive(Debug, Default)]
struct Domain {
    asked: i64,
    of: HashMap<i32, Arc<Instance>>,
}

impl Whose {
    pub(super) fn new(host: String) -> Self {
        let (domains, origins, names) = Default::default();
        Self { host: host.into(), domains, origins, names }
    }

    /// All may be others.
    pub(super) fn forget(&mut self) {
        self.domains.clear();
        self.origins.clear();
        self.names.clear();
    }

    /// Where records of an instance come from.
    pub(super) fn origin(
        &mut self,
        context: &Context,
        stream: &Stream,
        instance: i32,
        now: i64,
    ) -> Arc<Origin> {
        let domain = stream.desc.indom.unwrap_or(InDom(0));
        let known = self.domains.entry(domain.0).or_default();
        let stale = now.saturating_sub(known.asked) >= STALE;
        if (stale || !known.of.contains_key(&instance)) && known.asked != now {
            known.asked = now;
            if known.ask(context, domain, &self.host) {
                self.origins.clear();
            }
        }
        let known = known.of.entry(instance).or_insert_with(|| {
            let name = instance.to_string().into();
            Arc::new(Instance { name, labels: Default::default(), host: self.host.clone() })
        });
        let origin = self
            .origins
            .entry((stream.desc.pmid, instance))
            .or_insert_with(|| Arc::new(Origin::new(&stream.source, &stream.kind, known.clone())));
        origin.clone()
    }

    /// The name of a parameter.
    pub(super) fn parameter(&mut self, context: &Context, pmid: u32) -> Arc<str> {
        if let Some(name) = self.names.get(&pmid) {
            return name.clone();
        }
        let name: Arc<str> = match context.name(pmid) {
            Ok(name) => name.split_once(".param.").map_or(&*name, |(_, name)| name).into(),
            Err(_) => format!("parameter {pmid}").into(),
        };
        if self.names.len() < MOST_NAMES {
            self.names.insert(pmid, name.clone());
        }
        name
    }
}

impl Domain {
    /// Whether something is other than before.
    fn ask(&mut self, context: &Context, domain: InDom, host: &Arc<str>) -> bool {
        // Without labels there are records still.
        let labels = context.labels(domain).unwrap_or_default();
        let mut labels: HashMap<i32, _> =
            labels.into_iter().map(|(id, json)| (id.cast_signed(), parsed(&json))).collect();
        let mut changed = false;
        for (id, name) in context.instances(domain).unwrap_or_default() {
            let labels = labels.remove(&id).unwrap_or_default();
            let instance = Instance { name: name.into(), labels, host: host.clone() };
            if self.of.get(&id).is_none_or(|known| **known != instance) {
                self.of.insert(id, Arc::new(instance));
                changed = true;
            }
        }
        changed
    }
}

fn parsed(json: &str) -> std::collections::BTreeMap<Box<str>, Box<str>> {
    let Ok(Json::Object(all)) = serde_json::from_str(json) else { return Default::default() };
    let texts = all.into_iter().map(|(name, value)| match value {
        Json::String(text) => (name.into(), text.into()),
        other => (name.into(), other.to_string().into()),
    });
    texts.collect()
}
