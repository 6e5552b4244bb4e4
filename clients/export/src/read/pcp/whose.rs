//! Names and labels of instances, and names of parameters.

use std::collections::HashMap;
use std::sync::Arc;

use pmda::InDom;
use pmda::client::Context;
use serde_json::Value as Json;

use super::streams::Stream;
use crate::model::{Instance, Labels, Origin};
use crate::read::domain::Domain;

/// Parameters whose names are kept.
const MOST_NAMES: usize = 65_536;

/// Who is known.
#[derive(Debug)]
pub(super) struct Whose {
    host: Arc<str>,
    domains: HashMap<u32, Domain>,
    names: HashMap<u32, Arc<str>>,
}

impl Whose {
    pub(super) fn new(host: String) -> Self {
        let (domains, names) = Default::default();
        Self { host: host.into(), domains, names }
    }

    /// All may be others.
    pub(super) fn forget(&mut self) {
        self.domains.clear();
        self.names.clear();
    }

    /// Where records of an instance come from; one that is not known has its number for a name.
    pub(super) fn origin(
        &mut self,
        context: &Context,
        stream: &Stream,
        instance: i32,
        now: i64,
    ) -> Arc<Origin> {
        let domain = stream.desc.indom.unwrap_or(InDom(0));
        let made =
            |of: &Arc<Instance>| Arc::new(Origin::new(&stream.source, &stream.kind, of.clone()));
        let (host, live) = (&self.host, !context.is_archive());
        let known = self.domains.entry(domain.0).or_default();
        if !live {
            known.label(instance, now, || labels(context, domain));
        }
        match known.get(instance, now, live, || all(context, domain, host)) {
            Some(known) => {
                let of = &known.instance;
                known.origins.entry(stream.desc.pmid).or_insert_with(|| made(of)).clone()
            }
            None => {
                let (name, labels) = (instance.to_string().into(), Default::default());
                made(&Arc::new(Instance { name, labels, host: host.clone() }))
            }
        }
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

/// The instances that there are.
fn all(context: &Context, domain: InDom, host: &Arc<str>) -> Option<Vec<(i32, Instance)>> {
    let names = context.instances(domain).ok()?;
    let mut labels = labels(context, domain);
    let instances = names.into_iter().map(|(id, name)| {
        let labels = labels.remove(&id).unwrap_or_default();
        (id, Instance { name: name.into(), labels, host: host.clone() })
    });
    Some(instances.collect())
}

/// Labels by instance. Without any there are records still.
fn labels(context: &Context, domain: InDom) -> HashMap<i32, Labels> {
    let labels = context.labels(domain).unwrap_or_default();
    labels.into_iter().map(|(id, json)| (id.cast_signed(), parsed(&json))).collect()
}

fn parsed(json: &str) -> Labels {
    let Ok(Json::Object(all)) = serde_json::from_str(json) else { return Default::default() };
    let texts = all.into_iter().map(|(name, value)| match value {
        Json::String(text) => (name.into(), text.into()),
        other => (name.into(), other.to_string().into()),
    });
    texts.collect()
}
