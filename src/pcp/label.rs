//! Labels of all levels as JSON.

use std::ffi::c_int;

use serde_json::{Map, Value};

use super::entries::Entries;
use super::state::Domains;
use super::sys;
use crate::catalogue::{AGENT_INDOM, Catalogue};

fn json(pairs: impl IntoIterator<Item = (impl Into<String>, impl Into<Value>)>) -> String {
    Value::Object(pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect::<Map<_, _>>())
        .to_string()
}

/// Labels of a domain, instance domain, cluster or metric; `None` where there are none.
pub(super) fn of(
    catalogue: &Catalogue,
    entries: &Entries,
    ident: u32,
    level: u32,
) -> Option<String> {
    match level {
        sys::PM_LABEL_DOMAIN => Some(json([("agent", "apm")])),
        sys::PM_LABEL_INDOM => match ident & 0x3f_ffff {
            AGENT_INDOM => Some(json([("instances", "agent")])),
            serial => catalogue
                .indoms()
                .find(|(_, indom, _)| indom.serial == serial)
                .map(|(name, ..)| json([("instances", name)])),
        },
        sys::PM_LABEL_CLUSTER => {
            let cluster = u16::try_from(ident >> 10 & 0xfff).ok()?;
            Some(json([("source", catalogue.of_cluster(cluster)?.name)]))
        }
        sys::PM_LABEL_ITEM => {
            let row = entries.by_pmid(ident)?;
            (!row.labels.is_empty()).then(|| json(row.labels.iter().map(|(k, v)| (*k, v.as_str()))))
        }
        _ => None,
    }
}

/// Labels of an instance.
pub(super) fn of_instance(
    catalogue: &Catalogue,
    domains: &Domains,
    indom: sys::pmInDom,
    inst: u32,
) -> Option<String> {
    let serial = indom & 0x3f_ffff;
    let (words, source) = match domains.peer(serial, inst) {
        Some(peer) => (peer.labels(), peer.protocol()),
        None => {
            let (.., source) = catalogue.indoms().find(|(_, i, _)| i.serial == serial)?;
            let own = domains.rows(serial)?.get(&inst)?.labels();
            (own.into_iter().map(|(k, v)| (k.into(), v)).collect(), source.name)
        }
    };
    let labels = words.iter().map(|(k, v)| (&**k, v.as_str())).chain([("source", source)]);
    Some(json(labels))
}

/// Adds JSON to a label set, as pmdaAddLabels(3) does; its status.
pub(super) fn add(set: *mut *mut sys::pmLabelSet, json: &str) -> c_int {
    let text = super::text::c_string(json);
    // SAFETY: `set` is libpcp_pmda's; format and argument are C strings; the text is copied.
    unsafe { sys::pmdaAddLabels(set, c"%s".as_ptr(), text.as_ptr()) }
}
