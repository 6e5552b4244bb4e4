//! Event records of calls: [`PendingCall`] is the copy of a call that such a record needs,
//! [`CallRecords`] encodes it, [`ParamRoles`] maps its parameters.

use std::sync::Arc;

use arrayvec::ArrayVec;

use super::pack::Headers;
use crate::contract::{EventParam, EventValue, ParamId, Peer};
use crate::events::flags::POINT;
use crate::model::{MetricSpec, Place, Semantics, Stamp, Units, ValueType, component};
use crate::sources::profiler::dictionary::method_name::nameless;
use crate::sources::profiler::dictionary::{Dictionary, KnownWord};
use crate::sources::profiler::limits;
use crate::sources::profiler::metrics::{self as m, KNOWN, P_PARAMETERS, ns};
use crate::sources::profiler::streams::record::{Call, Pointer};

/// Bytes of one parameter of a record, at most.
const VALUE: usize = 1024;

/// A call for an event record, with ids in place of words.
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
    /// Ids of parameters and the ends of their values in `text`.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) text: String,
    /// The numbers of a call that is not counted yet.
    pub(crate) uncounted: Option<Box<Call<'static>>>,
}

impl PendingCall {
    /// Replaces the content by `call`, reusing the memory.
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
            cut_value(&mut self.text, start);
            // `limits::CALL_TEXT` is far below 4 GiB.
            self.params.push((param.id, u32::try_from(self.text.len()).unwrap_or(u32::MAX)));
        }
        self.uncounted = None;
    }

    /// Frees the memory of a large call.
    pub(crate) fn shrink(&mut self) {
        if self.text.capacity() > limits::IDLE_BUFFER {
            (self.text, self.params) = (String::new(), Vec::new());
        }
    }

    /// Whether the call has parameter `id`.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.params.iter().any(|(p, _)| *p == id)
    }

    /// The ids of its parameters.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + Clone {
        self.params.iter().map(|(id, _)| *id)
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

    /// All ids have words.
    pub(crate) fn is_named(&self, words: &Dictionary) -> bool {
        words.get(self.method).is_some()
            && self.params.iter().all(|(id, _)| words.get(*id).is_some())
    }
}

/// The parameters of one record, without an allocation.
type Params<'a> = ArrayVec<EventParam<'a>, { m::PARAMS.len() + PARAMETERS_MAX }>;

/// Bytes of the event parameter `parameters`, at most.
const PARAMETERS: usize = 4096;

/// Encodes the records of one connection.
#[derive(Debug, Default)]
pub(crate) struct CallRecords {
    pub(super) roles: ParamRoles,
    /// UTF-8.
    others: Vec<u8>,
    /// A value that is not short and ASCII.
    pub(super) value: String,
    /// Made for the first record that is packed.
    pub(super) headers: Option<Box<Headers>>,
}

impl CallRecords {
    pub(crate) fn new(parameters: Arc<[String]>) -> Self {
        Self { roles: ParamRoles::new(parameters), ..Self::default() }
    }

    /// Defines the event parameters that the configuration names.
    pub(crate) fn define(&mut self, peer: &mut Peer) {
        self.roles.define(peer);
        self.headers = None;
    }

    /// The dictionary was reset: ids get other words.
    pub(crate) fn reset_dictionary(&mut self) {
        self.roles.reset_dictionary();
        self.headers = None;
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.headers.as_ref().map_or(0, |headers| headers.memory())
    }

    /// Frees memory that an idle connection does not need.
    pub(crate) fn shrink(&mut self) {
        self.roles.reset_dictionary();
        (self.others, self.value, self.headers) = (Vec::new(), String::new(), None);
    }

    /// Emits the record of a call. `method`: its short name, if known.
    pub(crate) fn emit(
        &mut self,
        entry: &PendingCall,
        method: Option<&str>,
        words: &Dictionary,
        peer: &mut Peer,
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
                // Only the first value of a list, or of the ids of several tracing systems, is
                // reported.
                ParamRole::Own(id) if reported.add(id) => {
                    params.push(EventParam { id, value: EventValue::Text(value) })
                }
                ParamRole::Own(_) => {}
                ParamRole::Other => {
                    let unnamed;
                    let name = match words.get(id) {
                        Some(name) => name,
                        None => {
                            unnamed = nameless(id);
                            &*unnamed
                        }
                    };
                    push_other(others.len(), name, value.as_bytes(), |piece| {
                        others.extend_from_slice(piece);
                    });
                }
                ParamRole::KnownWord => {}
            }
        }
        // Whole names and values, all of them UTF-8.
        let text = std::str::from_utf8(&others).unwrap_or_default();
        if !text.is_empty() {
            params.push(EventParam::text(m::P_PARAMETERS, text));
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
        peer.event(m::CALL, Stamp::from_millis(entry.start_ms), POINT, &params);
        drop(params);
        self.others = others;
    }
}

/// Cuts the value that begins at `start` to [`VALUE`] bytes.
pub(super) fn cut_value(text: &mut String, start: usize) {
    if text.len() - start > VALUE {
        let end =
            (start..=start + VALUE).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(start);
        text.truncate(end);
    }
}

/// Appends `name=value` to the event parameter `parameters`, which has `len` bytes.
#[inline(always)]
pub(super) fn push_other(len: usize, name: &str, value: &[u8], mut push: impl FnMut(&[u8])) {
    if len + name.len() + value.len() + 2 > PARAMETERS {
        return;
    }
    if len > 0 {
        push(b" ");
    }
    push(name.as_bytes());
    if !value.is_empty() {
        push(b"=");
        push(value);
    }
}

/// Parameters that the configuration can name, at most.
pub const PARAMETERS_MAX: usize = 32;
/// Bytes of such a name, at most.
pub const PARAMETER_NAME_MAX: usize = 100;

/// How a record contains a parameter of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamRole {
    /// As a separate event parameter.
    Own(ParamId),
    /// Within the event parameter `parameters`.
    Other,
    /// Not at all: it is a known word.
    KnownWord,
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
        let Some(word) = words.get(id) else { return ParamRole::Other };
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
        if let Some((_, item)) = KNOWN.iter().find(|(known, _)| *known == word) {
            return ParamRole::Own(ParamId::Item(*item));
        }
        if let Some((slot, _)) = (0..).zip(self.own.iter()).find(|(_, own)| *own == word) {
            return ParamRole::Own(ParamId::Slot(slot));
        }
        if KnownWord::ALL.iter().any(|(_, known)| *known == word) {
            ParamRole::KnownWord
        } else {
            ParamRole::Other
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
    is_name(line).then(|| spec(line))
}

/// Whether `name` is a legal parameter name: 1 to [`PARAMETER_NAME_MAX`] bytes without control
/// characters.
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
