//! What the indexed parameters of calls become in event records: some have a parameter of their
//! own, always (web.url and the like) or because the configuration says so, the others are told
//! together in one text.

use std::sync::Arc;

use crate::model::{MetricSpec, ParamId, Semantics, Units, Update, ValueType, component};
use crate::sources::Sink;
use crate::sources::profiler::metrics::{KNOWN, P_PARAMETERS};
use crate::sources::profiler::words::{Mark, Words};

/// Most parameters that the configuration can name, and bytes of a name.
pub const PARAMETERS_MAX: usize = 32;
/// Bytes of such a name.
pub const PARAMETER_NAME_MAX: usize = 100;

/// What a parameter of calls becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An event parameter of its own.
    Own(ParamId),
    /// One of the others.
    Other,
    /// Not shown: it is a mark.
    Mark,
}

/// A set of parameters that have been told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told(u64);

impl Told {
    /// Adds one; false if it was there.
    pub(crate) const fn add(&mut self, id: ParamId) -> bool {
        let bit = match id {
            ParamId::Item(item) => item as u32,
            ParamId::Slot(slot) => 32 + slot,
        };
        let mask = 1_u64.wrapping_shl(bit);
        let new = self.0 & mask == 0;
        self.0 |= mask;
        new
    }
}

const _: () = assert!(P_PARAMETERS < 32 && PARAMETERS_MAX <= 32, "Told has a bit for each");

/// Roles of the parameters of one connection, by id.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    /// Names that the configuration gives; their positions are slots.
    own: Arc<[String]>,
    /// Ids are dense.
    by_id: Vec<Option<Role>>,
}

impl Roles {
    pub(crate) fn new(own: Arc<[String]>) -> Self {
        Self { own, by_id: Vec::new() }
    }

    /// Brings the parameters of the configuration into being.
    pub(crate) fn define(&self, sink: &mut dyn Sink) {
        for (slot, name) in (0..).zip(self.own.iter()) {
            sink.update(Update::Define { slot, spec: &spec(name) });
        }
    }

    /// The role of a parameter, looked up once.
    pub(crate) fn role(&mut self, id: u32, words: &Words) -> Role {
        if let Some(Some(known)) = self.by_id.get(id as usize) {
            return *known;
        }
        let Some(word) = words.get(id) else { return Role::Other };
        let role = self.decide(word);
        // A word has an id below `limits::WORDS`.
        if self.by_id.len() <= id as usize {
            self.by_id.resize(id as usize + 1, None);
        }
        if let Some(place) = self.by_id.get_mut(id as usize) {
            *place = Some(role);
        }
        role
    }

    fn decide(&self, word: &str) -> Role {
        if let Some((_, item)) = KNOWN.iter().find(|(known, _)| *known == word) {
            return Role::Own(ParamId::Item(*item));
        }
        if let Some((slot, _)) = (0..).zip(self.own.iter()).find(|(_, own)| *own == word) {
            return Role::Own(ParamId::Slot(slot));
        }
        if Mark::ALL.iter().any(|(_, mark)| *mark == word) { Role::Mark } else { Role::Other }
    }

    /// Ids mean something else from now on, or are to be looked up again.
    pub(crate) fn forget_words(&mut self) {
        self.by_id = Vec::new();
    }
}

/// The metric of a configured parameter: `apm.profiler.param.tag.<name>`.
fn spec(name: &str) -> MetricSpec {
    MetricSpec {
        key: name.to_owned(),
        path: format!("tag.{}", component(name)),
        ty: ValueType::Text,
        sem: Semantics::Discrete,
        units: Units::None,
        oneline: format!("indexed parameter {name}"),
        help: format!(
            "The agent calls it {name}; profiler.parameters in the configuration asks for it."
        ),
        labels: vec![("parameter", name.to_owned())],
        persist: name.to_owned(),
    }
}

/// `Dynamic::restore`.
pub(crate) fn restore(line: &str) -> Option<MetricSpec> {
    is_name(line).then(|| spec(line))
}

/// Whether a parameter may be called so: not empty, not too long, without control characters.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= PARAMETER_NAME_MAX && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::profiler::metrics::P_URL;

    #[test]
    fn who_has_a_parameter_of_its_own() {
        let roles = Roles::new(["tenant".to_owned(), "user".to_owned()].into());
        let url = Role::Own(ParamId::Item(P_URL));
        let got = ["web.url", "call.red", "user", "node.name"].map(|word| roles.decide(word));
        assert_eq!(got, [url, Role::Mark, Role::Own(ParamId::Slot(1)), Role::Other]);
        let mut told = Told::default();
        assert!(
            told.add(ParamId::Item(1)) && told.add(ParamId::Slot(31)) && told.add(ParamId::Slot(0))
        );
        assert!(!told.add(ParamId::Item(1)) && !told.add(ParamId::Slot(31)));
    }

    #[test]
    fn a_parameter_comes_back_after_a_restart() {
        let spec = spec("x-Tenant.ID");
        assert_eq!(
            (spec.path.as_str(), restore(&spec.persist)),
            ("tag.x_tenant_id", Some(spec.clone()))
        );
        assert_eq!(restore("a\u{7}"), None);
    }
}
