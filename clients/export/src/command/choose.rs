//! Which records were asked for, by trace and service.

use crate::meaning::{Item, Service};
use crate::model::Record;

/// Chooses records.
#[derive(Debug, Default)]
pub(super) struct Choose {
    trace: Option<String>,
    service: Option<String>,
    /// Stops are spans of their own.
    all: bool,
}

impl Choose {
    /// `trace`: an id or its begin; `service`: a pattern.
    pub(super) fn new(trace: Option<&str>, service: Option<&str>, all: bool) -> Self {
        Self { trace: trace.map(normal), service: service.map(str::to_owned), all }
    }

    /// Whether a record was asked for. Stops of a process belong to its spans.
    pub(super) fn takes(&self, record: &Record) -> bool {
        if self.trace.is_none() && self.service.is_none() {
            return true;
        }
        let item = Item::new(record);
        if (item.is_stop() || &*record.origin.kind == "contention") && !self.all {
            return true;
        }
        let of_trace = self.trace.as_ref().is_none_or(|wanted| {
            let id = record.first(&["trace", "trace.id"]);
            id.is_some_and(|id| normal(&id).starts_with(&**wanted))
        });
        of_trace
            && self.service.as_ref().is_none_or(|pattern| {
                let Service { namespace, name } = Service::of(record);
                let whole = format!("{namespace}/{name}");
                [&*name, &whole].iter().any(|n| pcp_event::glob(pattern.as_bytes(), n.as_bytes()))
            })
    }
}

/// Capitals, hyphens of a UUID and zeros before an id make no difference.
fn normal(id: &str) -> String {
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    digits.to_ascii_lowercase().trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Flags, Instance, Origin, Value};

    #[test]
    fn traces_and_services_are_chosen() {
        let record = |kind: &str, trace: &str| {
            let labels = [("namespace".into(), "shop".into()), ("service".into(), "orders".into())];
            let instance = Instance {
                name: "shop/orders/pod".into(),
                labels: labels.into(),
                ..Default::default()
            };
            let origin = Arc::new(Origin::new("profiler", kind, Arc::new(instance)));
            let parameters = vec![("trace.id".into(), Value::Text(trace.into()))];
            Record { time: 1, origin, flags: Flags::default(), missed: 0, paired: None, parameters }
        };
        let call = record("call", "defc044a09325626");
        let takes = |trace, service, all| Choose::new(trace, service, all).takes(&call);
        assert!(takes(None, None, false));
        assert!(takes(Some("0000000000000000DEFC044A09325626"), None, false));
        assert!(takes(Some("defc"), Some("ord*"), false));
        assert!(takes(None, Some("shop/orders"), false));
        assert!(!takes(Some("efc0"), None, false));
        assert!(!takes(None, Some("shop"), false));
        let pause = record("pause", "");
        assert!(Choose::new(Some("defc"), None, false).takes(&pause));
        assert!(!Choose::new(Some("defc"), None, true).takes(&pause));
    }
}
