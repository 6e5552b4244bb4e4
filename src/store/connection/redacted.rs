//! The one place at which texts of peers are searched for what nobody may see: behind it are values, instances,
//! labels, records and lines of the log.

use std::borrow::Cow;

use super::{BATCH_MAX, Connection};
use crate::contract::{Identity, Recipient as _, SampleValue, Update};
use crate::events::{Batch, Later};
use crate::model::redact::Redact;
use crate::model::{Condition, Departure, EventKindId, MetricSpec, Value};

impl Connection {
    /// Applies what is said, with its texts as they may be seen. The names of peers, services and metrics stay:
    /// they are what is continued after a restart.
    #[cold]
    pub(super) fn update_redacted(&mut self, update: Update<'_>, redact: &Redact) {
        let text = |text: String| redact.text(&text).into_owned();
        match update {
            Update::Identity(id) => self.apply(Update::Identity(identity(id, redact))),
            Update::Condition(is) => self.apply(Update::Condition(condition(is, redact))),
            Update::Error(what) => self.apply(Update::Error(&redact.text(what))),
            Update::Answer { control, text: said } => {
                self.apply(Update::Answer { control, text: text(said) });
            }
            Update::Set { item, value: v } => {
                self.apply(Update::Set { item, value: value(v, redact) })
            }
            Update::Define { slot, spec } => {
                let labels = spec.labels.iter().map(|(k, v)| (*k, redact.text(v).into_owned()));
                let spec = MetricSpec {
                    oneline: redact.text(&spec.oneline).into_owned(),
                    help: redact.text(&spec.help).into_owned(),
                    labels: labels.collect(),
                    ..spec.clone()
                };
                self.apply(Update::Define { slot, spec: &spec });
            }
            Update::Value { slot, row, value: v } => {
                self.apply(Update::Value { slot, row, value: value(v, redact) });
            }
            Update::Sample { kind, stamp, values } => {
                let values: Vec<_> = values
                    .iter()
                    .map(|(slot, sample)| match sample {
                        SampleValue::Value(v) => (*slot, value(v.clone(), redact).into()),
                        wrapping => (*slot, wrapping.clone()),
                    })
                    .collect();
                self.apply(Update::Sample { kind, stamp, values: &values });
            }
            Update::Row { table, slot, key: Some(key) } => {
                // The owner in front is a name.
                let owner = self.peer.as_ref().map_or("", |peer| &*peer.name);
                let own = key.strip_prefix(owner).filter(|own| own.starts_with("::"));
                let (owner, own) = key.split_at(own.map_or(0, |_| owner.len()));
                let key = match redact.text(own) {
                    Cow::Borrowed(_) => Cow::Borrowed(key),
                    Cow::Owned(own) => Cow::Owned([owner, &own].concat()),
                };
                self.apply(Update::Row { table, slot, key: Some(&key) });
            }
            Update::RowLabels { table, slot, labels } => {
                let texts: Vec<_> = labels.iter().map(|(k, v)| (*k, redact.text(v))).collect();
                let labels: Vec<_> = texts.iter().map(|(k, v)| (*k, &**v)).collect();
                self.apply(Update::RowLabels { table, slot, labels: &labels });
            }
            other => self.apply(other),
        }
    }

    /// Records that would be packed when they are read are packed at once.
    #[cold]
    pub(super) fn append_redacted(&mut self, kind: EventKindId, later: &Later) {
        let mut from = 0;
        while from < later.count {
            let mut batch = Batch::default();
            let left = usize::try_from(later.count - from).unwrap_or(usize::MAX);
            later.records.pack(from, left, BATCH_MAX, &mut batch);
            if batch.is_empty() {
                break;
            }
            from += batch.len() as u64;
            self.append(kind, &mut batch);
        }
    }
}

/// The end of a connection, as it may be seen.
pub(super) fn departure(end: Departure, redact: &Redact) -> Departure {
    Departure { why: redact.text(&end.why).into_owned().into(), ..end }
}

fn identity(id: Identity, redact: &Redact) -> Identity {
    let labels = id.labels.into_iter().map(|(k, v)| (k, redact.text(&v).into_owned()));
    Identity { labels: labels.collect(), ..id }
}

fn condition(condition: Condition, redact: &Redact) -> Condition {
    let text = |text: Cow<'static, str>| redact.text(&text).into_owned().into();
    match condition {
        Condition::Sound => Condition::Sound,
        Condition::Impaired(why) => Condition::Impaired(text(why)),
        Condition::Starting(why) => Condition::Starting(text(why)),
        Condition::Unread(why) => Condition::Unread(text(why)),
    }
}

fn value(value: Value, redact: &Redact) -> Value {
    match value {
        Value::Text(text) => Value::text(&redact.text(&text)),
        number => number,
    }
}

#[cfg(test)]
#[path = "redacted_tests.rs"]
mod tests;
