//! Event records of calls.

use std::sync::Arc;

use arrayvec::ArrayVec;

use crate::events::flags::POINT;
use crate::model::{
    EventParam, EventValue, MetricSpec, ParamId, Semantics, Stamp, Units, Update, ValueType,
    component,
};
use crate::sources::Sink;
use crate::sources::profiler::dictionary::method_name::nameless;
use crate::sources::profiler::dictionary::{Dictionary, KnownWord};
use crate::sources::profiler::limits;
use crate::sources::profiler::metrics::{self as m, KNOWN, P_PARAMETERS, ns};
use crate::sources::profiler::streams::record::{Call, Pointer};

/// Bytes of one parameter of a record.
const VALUE: usize = 1024;

/// A call as an event record shows it, with what it needs from the dictionary still as ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingCall {
    pub(crate) start_ms: i64,
    pub(crate) duration_ms: u64,
    pub(crate) method: u32,
    pub(crate) thread: Option<Arc<str>>,
    pub(crate) cpu_ms: u64,
    pub(crate) wait_ms: u64,
    pub(crate) queue_wait_ms: u32,
    pub(crate) memory: u64,
    pub(crate) nested: u32,
    pub(crate) io: [u64; 4],
    pub(crate) transactions: u64,
    pub(crate) pointer: Pointer,
    /// Ids of parameters and where their values end in `text`.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) text: String,
    /// Its numbers, if they are not counted yet.
    pub(crate) uncounted: Option<Box<Call<'static>>>,
}

impl PendingCall {
    /// Becomes `call`; keeps its memory.
    pub(crate) fn take(&mut self, call: &Call<'_>) {
        (self.start_ms, self.duration_ms, self.method) =
            (call.start_ms, call.duration_ms, call.method);
        self.thread = call.thread_name.map(Arc::clone);
        (self.cpu_ms, self.wait_ms, self.queue_wait_ms) =
            (call.cpu_ms, call.wait_ms, call.queue_wait_ms);
        (self.memory, self.nested, self.transactions) =
            (call.memory, call.calls, call.transactions);
        self.io = [call.file_read, call.file_written, call.net_read, call.net_written];
        self.pointer = call.pointer;
        self.params.clear();
        self.text.clear();
        for param in call.params.iter() {
            let start = self.text.len();
            param.value.push_to(&mut self.text);
            if self.text.len() - start > VALUE {
                let end = (start..=start + VALUE)
                    .rev()
                    .find(|i| self.text.is_char_boundary(*i))
                    .unwrap_or(start);
                self.text.truncate(end);
            }
            // A call's text is far below 4 GiB.
            self.params.push((param.id, u32::try_from(self.text.len()).unwrap_or(u32::MAX)));
        }
        self.uncounted = None;
    }

    /// Gives memory back that a large call took.
    pub(crate) fn shrink(&mut self) {
        if self.text.capacity() > limits::IDLE_BUFFER {
            (self.text, self.params) = (String::new(), Vec::new());
        }
    }

    /// It has a parameter.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.params.iter().any(|(p, _)| *p == id)
    }

    pub(crate) fn params(&self) -> impl Iterator<Item = (u32, &str)> {
        let mut start = 0;
        self.params.iter().map(move |(id, end)| {
            let end = *end as usize;
            let value = self.text.get(start..end).unwrap_or_default();
            start = end;
            (*id, value)
        })
    }

    /// All names have come.
    pub(crate) fn is_named(&self, words: &Dictionary) -> bool {
        words.get(self.method).is_some()
            && self.params.iter().all(|(id, _)| words.get(*id).is_some())
    }
}

/// The parameters of one record, without an allocation.
type Params<'a> = ArrayVec<EventParam<'a>, { m::PARAMS.len() + PARAMETERS_MAX }>;

/// Bytes of all parameters that have none of their own.
const PARAMETERS: usize = 4096;

/// Makes the records of one connection.
#[derive(Debug, Default)]
pub(crate) struct CallRecords {
    roles: ParamRoles,
    others: String,
}

impl CallRecords {
    pub(crate) fn new(parameters: Arc<[String]>) -> Self {
        Self { roles: ParamRoles::new(parameters), others: String::new() }
    }

    /// Brings the parameters of the configuration into being.
    pub(crate) fn define(&self, sink: &mut dyn Sink) {
        self.roles.define(sink);
    }

    /// Ids mean something else from now on.
    pub(crate) fn reset_dictionary(&mut self) {
        self.roles.reset_dictionary();
    }

    /// No call has come for a while.
    pub(crate) fn shrink(&mut self) {
        self.roles.reset_dictionary();
        self.others = String::new();
    }

    /// A call; `method`: its name, if that has come.
    pub(crate) fn emit(
        &mut self,
        entry: &PendingCall,
        method: Option<&str>,
        words: &Dictionary,
        sink: &mut dyn Sink,
    ) {
        let unnamed;
        let method = match method {
            Some(name) => name,
            None => {
                unnamed = nameless(entry.method);
                &unnamed
            }
        };
        let error = words.id_of(KnownWord::Red).is_some_and(|id| entry.has(id));
        let (mut others, mut reported) = (std::mem::take(&mut self.others), Reported::default());
        others.clear();
        let mut params = Params::new();
        params.push(EventParam::text(m::P_METHOD, method));
        if let Some(thread) = &entry.thread {
            params.push(EventParam::text(m::P_THREAD, thread));
        }
        for (id, value) in entry.params() {
            match self.roles.role(id, words) {
                // The values of a list, and ids of several tracing systems: the first is reported.
                ParamRole::Own(id) if reported.add(id) => {
                    params.push(EventParam { id, value: EventValue::Text(value) })
                }
                ParamRole::Own(_) => {}
                ParamRole::Other => match words.get(id) {
                    Some(name) => push_other(&mut others, name, value),
                    None => push_other(&mut others, &nameless(id), value),
                },
                ParamRole::KnownWord => {}
            }
        }
        if !others.is_empty() {
            params.push(EventParam::text(m::P_PARAMETERS, &others));
        }
        params.push(EventParam::number(m::P_DURATION, ns(entry.duration_ms)));
        let [file_read, file_written, net_read, net_written] = entry.io;
        for (item, number) in [
            (m::P_ERROR, error.into()),
            (m::P_CPU, ns(entry.cpu_ms)),
            (m::P_WAIT, ns(entry.wait_ms)),
            (m::P_QUEUE_WAIT, ns(entry.queue_wait_ms.into())),
            (m::P_MEMORY, entry.memory),
            (m::P_NESTED, entry.nested.into()),
            (m::P_FILE_READ, file_read),
            (m::P_FILE_WRITTEN, file_written),
            (m::P_NET_READ, net_read),
            (m::P_NET_WRITTEN, net_written),
            (m::P_TRANSACTIONS, entry.transactions),
            (m::P_TRACE_FILE, entry.pointer.file.into()),
            (m::P_TRACE_OFFSET, entry.pointer.offset.into()),
            (m::P_TRACE_INDEX, entry.pointer.index.into()),
        ] {
            if number > 0 {
                params.push(EventParam::number(item, number));
            }
        }
        sink.update(Update::Event {
            kind: m::CALL,
            stamp: Stamp::from_millis(entry.start_ms),
            flags: POINT,
            params: &params,
        });
        drop(params);
        self.others = others;
    }
}

/// Appends `name=value` to the text of other parameters.
fn push_other(out: &mut String, name: &str, value: &str) {
    if out.len() + name.len() + value.len() + 2 > PARAMETERS {
        return;
    }
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(name);
    if !value.is_empty() {
        out.push('=');
        out.push_str(value);
    }
}

/// Most parameters that the configuration can name, and bytes of a name.
pub const PARAMETERS_MAX: usize = 32;
/// Bytes of such a name.
pub const PARAMETER_NAME_MAX: usize = 100;

/// What a parameter of calls becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamRole {
    /// An event parameter of its own.
    Own(ParamId),
    /// One of the others.
    Other,
    /// Not shown: it is a mark.
    KnownWord,
}

/// A set of parameters that have been reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reported(u64);

impl Reported {
    /// Adds one; false if it was there.
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

/// ParamRoles of the parameters of one connection, by id.
#[derive(Debug, Default)]
pub(crate) struct ParamRoles {
    /// Names that the configuration gives; their positions are slots.
    own: Arc<[String]>,
    /// Ids are dense.
    by_id: Vec<Option<ParamRole>>,
}

impl ParamRoles {
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
    pub(crate) fn role(&mut self, id: u32, words: &Dictionary) -> ParamRole {
        if let Some(Some(known)) = self.by_id.get(id as usize) {
            return *known;
        }
        let Some(word) = words.get(id) else { return ParamRole::Other };
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

    fn decide(&self, word: &str) -> ParamRole {
        if let Some((_, item)) = KNOWN.iter().find(|(known, _)| *known == word) {
            return ParamRole::Own(ParamId::Item(*item));
        }
        if let Some((slot, _)) = (0..).zip(self.own.iter()).find(|(_, own)| *own == word) {
            return ParamRole::Own(ParamId::Slot(slot));
        }
        if KnownWord::ALL.iter().any(|(_, mark)| *mark == word) {
            ParamRole::KnownWord
        } else {
            ParamRole::Other
        }
    }

    /// Ids mean something else from now on, or are to be looked up again.
    pub(crate) fn reset_dictionary(&mut self) {
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
    use crate::sources::profiler::metrics::P_DURATION;
    use crate::sources::profiler::metrics::P_URL;

    #[test]
    fn who_has_a_parameter_of_its_own() {
        let roles = ParamRoles::new(["tenant".to_owned(), "user".to_owned()].into());
        let url = ParamRole::Own(ParamId::Item(P_URL));
        let got = ["web.url", "call.red", "user", "node.name"].map(|word| roles.decide(word));
        assert_eq!(
            got,
            [url, ParamRole::KnownWord, ParamRole::Own(ParamId::Slot(1)), ParamRole::Other]
        );
        let mut reported = Reported::default();
        assert!(
            reported.add(ParamId::Item(P_DURATION))
                && reported.add(ParamId::Slot(31))
                && reported.add(ParamId::Slot(0))
        );
        assert!(!reported.add(ParamId::Item(P_DURATION)) && !reported.add(ParamId::Slot(31)));
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
