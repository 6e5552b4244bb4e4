//! What a parameter of a call becomes in its record: an event parameter of its own, a part of `parameters`, or
//! nothing; and the event parameters that the configuration names.

use std::sync::Arc;

use crate::contract::{ParamId, Peer};
use crate::events::is_bare;
use crate::model::{MetricSpec, Place, Semantics, Units, ValueType, component};
use crate::sources::profiler::dictionary::{Dictionary, KnownWord};
use crate::sources::profiler::metrics::{KNOWN, P_PARAMETERS};

/// Parameters that the configuration can name, at most.
pub const PARAMETERS_MAX: usize = 32;
/// Bytes of such a name, at most.
pub const PARAMETER_NAME_MAX: usize = 100;

/// Query strings have secrets: records have them if the configuration names them.
const QUERY: &str = "web.query";

/// How a record contains a parameter of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamRole {
    /// As a separate event parameter.
    Own(ParamId),
    /// Within the event parameter `parameters`. `bare`: its name needs no quotes.
    Other { bare: bool },
    /// Not at all: it is a known word, or has secrets.
    Unshown,
}

/// The event parameters that a record has already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reported(u64);

impl Reported {
    /// Adds a parameter; false if the record has it.
    pub(crate) const fn add(&mut self, id: ParamId) -> bool {
        let bit = match id {
            ParamId::Item(item) => item.get() as u32,
            ParamId::Slot(slot) => 32 + slot,
        };
        let mask = 1_u64.wrapping_shl(bit);
        let new = self.0 & mask == 0;
        self.0 |= mask;
        new
    }
}

const _: () =
    assert!(P_PARAMETERS.get() < 32 && PARAMETERS_MAX <= 32, "Reported has a bit for each");

/// Roles of the parameters of one connection, by id.
#[derive(Debug, Default)]
pub(crate) struct ParamRoles {
    /// Names from the configuration; their positions are slots.
    own: Arc<[String]>,
    /// Indexed by id: ids are dense.
    by_id: Vec<Option<ParamRole>>,
}

crate::heap_size!(ParamRoles { by_id });

impl ParamRoles {
    pub(crate) fn new(own: Arc<[String]>) -> Self {
        Self { own, by_id: Vec::new() }
    }

    /// Number of the event parameters that the configuration names.
    pub(super) fn slots(&self) -> usize {
        self.own.len()
    }

    /// Defines the event parameters that the configuration names.
    pub(crate) fn define(&self, peer: &mut Peer) {
        for (slot, name) in (0..).zip(self.own.iter()) {
            peer.define(slot, &spec(name));
        }
    }

    /// The role of a parameter, cached by id.
    #[inline(always)]
    pub(crate) fn role(&mut self, id: u32, words: &Dictionary) -> ParamRole {
        match self.by_id.get(id as usize) {
            Some(Some(known)) => *known,
            _ => self.find_role(id, words),
        }
    }

    #[inline(never)]
    fn find_role(&mut self, id: u32, words: &Dictionary) -> ParamRole {
        let Some(word) = words.get(id) else { return ParamRole::Other { bare: false } };
        let role = self.decide(word);
        // Ids of words are below `limits::WORDS`.
        if self.by_id.len() <= id as usize {
            self.by_id.resize(id as usize + 1, None);
        }
        if let Some(place) = self.by_id.get_mut(id as usize) {
            *place = Some(role);
        }
        role
    }

    fn decide(&self, word: &str) -> ParamRole {
        if word == QUERY && !self.own.iter().any(|own| own == word) {
            return ParamRole::Unshown;
        }
        if let Some((_, item)) = KNOWN.iter().find(|(known, _)| *known == word) {
            return ParamRole::Own(ParamId::Item(*item));
        }
        if let Some((slot, _)) = (0..).zip(self.own.iter()).find(|(_, own)| *own == word) {
            return ParamRole::Own(ParamId::Slot(slot));
        }
        if KnownWord::ALL.iter().any(|(_, known)| *known == word) {
            ParamRole::Unshown
        } else {
            ParamRole::Other { bare: is_bare(word.as_bytes()) }
        }
    }

    /// Drops the cached roles.
    pub(crate) fn reset_dictionary(&mut self) {
        self.by_id = Vec::new();
    }
}

/// The metric of a configured parameter: `apm.profiler.param.tag.<name>`.
fn spec(name: &str) -> MetricSpec {
    MetricSpec {
        key: name.to_owned(),
        place: Place::Param,
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
    is_parameter_name(line).then(|| spec(line))
}

/// Whether `name` is a legal parameter name: 1 to [`PARAMETER_NAME_MAX`] bytes without control
/// characters.
#[must_use]
pub fn is_parameter_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= PARAMETER_NAME_MAX && !name.chars().any(char::is_control)
}

#[cfg(test)]
#[path = "tests/roles.rs"]
mod tests;
