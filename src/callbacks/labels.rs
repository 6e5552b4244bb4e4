//! Labels of all levels.

use pmda::{InDom, LabelSet, LabelTarget};

use super::entries::Entries;
use super::instances::Instances;
use crate::catalogue::{AGENT_INDOM, Catalogue};

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
    let (labels, source): (LabelSet, &str) = match instances.peer(serial, inst) {
        Some(peer) => {
            (peer.labels().iter().map(|(k, v)| (&**k, v.as_str())).collect(), peer.protocol())
        }
        None => {
            let (.., source) = catalogue.indoms().find(|(_, i, _)| i.serial == serial)?;
            (instances.rows(serial)?.get(&inst)?.labels().into_iter().collect(), source.name)
        }
    };
    Some(labels.with("source", source))
}
