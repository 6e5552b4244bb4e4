//! Labels of all levels.

use pmda::{InDom, LabelSet, LabelTarget};
use rustix::system::uname;

use super::entries::Entries;
use super::instances::Instances;
use crate::catalogue::{AGENT_INDOM, Catalogue, SERVICE_INDOM, ServiceOf, SourceTable};
use crate::store::{HOST, Peer, Row};

/// The label set of one level; `None` if it has no labels.
pub(super) fn of(
    target: LabelTarget,
    catalogue: &Catalogue,
    entries: &Entries,
    instances: &Instances,
) -> Option<LabelSet> {
    let one = |name: &str, value: &str| Some(LabelSet::new().with(name, value));
    match target {
        LabelTarget::Domain => one("agent", "apm"),
        LabelTarget::InDom(indom) if indom.serial() == AGENT_INDOM => one("instances", "agent"),
        LabelTarget::InDom(indom) if indom.serial() == SERVICE_INDOM => one("instances", "service"),
        LabelTarget::InDom(indom) => {
            let (name, ..) = catalogue.indoms().find(|(_, own, _)| own.serial == indom.serial())?;
            one("instances", name)
        }
        LabelTarget::Cluster(cluster) => one("source", catalogue.of_cluster(cluster)?.name),
        LabelTarget::Metric(pmid) => {
            let labels = &entries.by_pmid(pmid.0)?.labels;
            (!labels.is_empty()).then(|| labels.iter().map(|(k, v)| (*k, v.as_str())).collect())
        }
        LabelTarget::Instance(indom, inst) => of_instance(indom, inst, catalogue, instances),
        _ => None,
    }
}

fn of_instance(
    indom: InDom,
    inst: u32,
    catalogue: &Catalogue,
    instances: &Instances,
) -> Option<LabelSet> {
    let serial = indom.serial();
    if serial == SERVICE_INDOM {
        let service = instances.services().get(&inst)?;
        return of_row(&service.row, catalogue.source(service.source)?, true);
    }
    if let Some(peer) = instances.peer(serial, inst) {
        return of_peer(peer, catalogue.source(peer.source)?);
    }
    let (.., source) = catalogue.indoms().find(|(_, i, _)| i.serial == serial)?;
    let services = source.service.and_then(|service| source.tables.get(service.table.index()));
    let of_service = services.is_some_and(|table| table.indom.serial == serial);
    of_row(instances.rows(serial)?.get(&inst)?, source, of_service)
}

/// Labels of an instance: its own, and what every instance of every source has: its source, its runtime,
/// its service if that is known. A peer has its host too, and its container if it is in one.
fn labels<K: Into<String>>(
    source: &SourceTable,
    service: Option<&str>,
    own: impl Iterator<Item = (K, String)>,
) -> LabelSet {
    let runtime = Some(source.runtime_label).filter(|runtime| !runtime.is_empty());
    let known = [("runtime", runtime), ("service", service)];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let all: LabelSet = known.collect();
    own.fold(all, |all, (name, value)| all.with(name, value)).with("source", source.name)
}

fn of_peer(peer: &Peer, source: &SourceTable) -> Option<LabelSet> {
    let own = peer.labels();
    let service = source.service.and_then(|services| match services.of_peer {
        ServiceOf::Name(service) => Some(service(&peer.name)),
        ServiceOf::Label(label) => {
            own.iter().find(|(name, _)| **name == *label).map(|(_, v)| v.as_str())
        }
    });
    let mut all: Vec<(&str, String)> = own.iter().map(|(n, value)| (&**n, value.clone())).collect();
    if all.iter().all(|(name, _)| *name != HOST) {
        all.push((HOST, uname().nodename().to_string_lossy().into_owned()));
    }
    Some(labels(source, service, all.into_iter()))
}

fn of_row(row: &Row, source: &SourceTable, of_service: bool) -> Option<LabelSet> {
    let service = of_service.then_some(&*row.key);
    Some(labels(source, service, row.labels().into_iter()))
}
