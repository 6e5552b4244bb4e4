//! The event record of a call, packed at once among the records that wait for the end of the session's call:
//! usually from the bytes of the connection and without a copy of the call, else from one that has waited for
//! its names.

use std::borrow::Cow;
use std::sync::Arc;

use super::accounting::nameless;
use super::roles::{ParamRole, ParamRoles, Reported};
use crate::contract::{ParamId, Peer};
use crate::events::flags::POINT;
use crate::events::{Batch, NumberParam, Numbers, RecordTemplate, TextWriter};
use crate::model::{ParamItem, Pmid, Stamp, cut};
use crate::sources::profiler::dictionary::{ASCII, Dictionary, Text};
use crate::sources::profiler::metrics::ns;
use crate::sources::profiler::streams::record::Call;
use crate::sources::profiler::{limits, metrics as m};

/// Bytes of one parameter of a record, at most.
const VALUE: usize = 1024;

/// Bytes of the event parameter `parameters`, at most.
const PARAMETERS: usize = 4096;

/// Encodes the records of one connection.
#[derive(Debug, Default)]
pub(crate) struct CallRecords {
    pub(super) roles: ParamRoles,
    /// A value that is not short and ASCII.
    value: String,
    /// Made for the first record.
    headers: Option<Box<Headers>>,
}

crate::heap_size!(CallRecords { roles, value, headers });

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

    /// Frees memory that an idle connection does not need.
    pub(crate) fn shrink(&mut self) {
        self.roles.reset_dictionary();
        (self.value, self.headers) = (String::new(), None);
    }
}

/// Cuts the value that begins at `start` to [`VALUE`] bytes.
pub(super) fn cut_value(text: &mut String, start: usize) {
    let kept = text.get(start..).map_or(0, |value| cut(value, VALUE).len());
    text.truncate(start + kept);
}

/// Appends `name=value` to the event parameter `parameters`.
#[inline(always)]
fn push_other(to: &mut TextWriter<'_>, bare: bool, name: &str, value: &[u8]) {
    let start = to.len();
    if bare {
        to.bare_pair(name, |to| to.push_utf8(value));
    } else {
        to.pair(|to| to.push(name), |to| to.push_utf8(value));
    }
    if to.len() > PARAMETERS {
        to.truncate(start);
    }
}

/// One more than the highest item.
const ITEMS: usize = m::PARAMS.len() + 1;

/// The event parameters of records, by item, and by slot those that the configuration names. `None`:
/// the peer has no such parameter. Buffers that need not be cleared for each record are here, too.
#[derive(Debug)]
pub(super) struct Headers {
    pmids: [Option<Pmid>; ITEMS],
    numbers: [Option<NumberParam>; ITEMS],
    slots: Box<[Option<Pmid>]>,
    /// The numbers of the present record.
    record: Numbers,
    /// Room for a short value.
    room: [u8; ASCII],
    /// Beginnings of records, by a hash of method and thread.
    beginnings: Box<[Beginning; BEGINNINGS]>,
}

crate::heap_size!(Headers { slots, beginnings });

/// Beginnings of records that a connection keeps: few methods are roots.
const BEGINNINGS: usize = 32;

/// Method and thread of a call that has come, and the record up to them once it has come again: of
/// many threads most would be made in vain.
#[derive(Debug, Default)]
struct Beginning {
    method: u32,
    thread: Option<Arc<str>>,
    template: Option<RecordTemplate>,
}

crate::heap_size!(Beginning { template });

impl Beginning {
    #[inline(always)]
    fn is_of(&self, call: &Call<'_>) -> bool {
        let thread = match (&self.thread, call.thread_name) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        thread && self.method == call.method
    }
}

impl Headers {
    #[cold]
    fn new(slots: usize, peer: &Peer) -> Self {
        let mut headers = Self {
            pmids: [None; ITEMS],
            numbers: [None; ITEMS],
            slots: Box::default(),
            record: Numbers::default(),
            room: [0; ASCII],
            beginnings: Box::default(),
        };
        for param in m::PARAMS {
            let at = usize::from(param.item.get());
            let found = peer.param(ParamId::Item(param.item));
            if let (Some((pmid, ty)), Some(to), Some(number)) =
                (found, headers.pmids.get_mut(at), headers.numbers.get_mut(at))
            {
                (*to, *number) = (Some(pmid), NumberParam::new(pmid, ty));
            }
        }
        let pmid = |slot| peer.param(ParamId::Slot(slot)).map(|(pmid, _)| pmid);
        headers.slots = (0..).take(slots).map(pmid).collect();
        headers
    }

    #[inline(always)]
    fn item(&self, item: ParamItem) -> Option<Pmid> {
        self.pmids.get(usize::from(item.get())).copied().flatten()
    }

    #[inline]
    fn pmid(&self, id: ParamId) -> Option<Pmid> {
        match id {
            ParamId::Item(item) => self.item(item),
            ParamId::Slot(slot) => self.slots.get(slot as usize).copied().flatten(),
        }
    }

    /// Begins the record of a call, with its method and its thread. `method` looks up the short name of the
    /// method, if known.
    #[inline]
    fn begin<'m>(
        &mut self,
        call: &Call<'_>,
        method: impl FnOnce() -> Option<&'m str>,
        batch: &mut Batch,
    ) {
        let at = (call.method as usize).wrapping_mul(5).wrapping_add(call.thread as usize);
        let at = at % BEGINNINGS;
        if let Some(known) = self.beginnings.get(at)
            && let Some(template) = &known.template
            && known.is_of(call)
        {
            return batch.record_from(Stamp::from_millis(call.start_ms), template);
        }
        self.begin_anew(at, call, method(), batch);
    }

    #[inline(never)]
    fn begin_anew(&mut self, at: usize, call: &Call<'_>, method: Option<&str>, batch: &mut Batch) {
        batch.record(Stamp::from_millis(call.start_ms), POINT);
        let name = method.map_or_else(|| nameless(call.method).into(), Cow::Borrowed);
        put_text(self.item(m::P_METHOD), name.as_bytes(), batch);
        if let Some(thread) = call.thread_name {
            put_text(self.item(m::P_THREAD), thread.as_bytes(), batch);
        }
        // The name may come.
        let known = self.beginnings.get_mut(at).filter(|_| method.is_some());
        let Some(known) = known else { return };
        if known.is_of(call) {
            known.template = Some(RecordTemplate::of(batch));
        } else {
            let thread = call.thread_name.map(Arc::clone);
            *known = Beginning { method: call.method, thread, template: None };
        }
    }

    #[inline(always)]
    fn number(&mut self, item: ParamItem, bits: u64) {
        if let Some(Some(number)) = self.numbers.get(usize::from(item.get())) {
            let added = self.record.push(number, bits);
            debug_assert!(added, "there are fewer numbers of a call");
        }
    }

    /// Adds a number unless it is 0.
    #[inline(always)]
    fn positive(&mut self, item: ParamItem, bits: u64) {
        if bits > 0 {
            self.number(item, bits);
        }
    }
}

impl CallRecords {
    /// Packs the record of a call and its parameters; `method` looks up the short name of its method, if known;
    /// `error`: the call failed; `suspended_ms`: the JVM stood still.
    pub(crate) fn pack<'m, V: ParamValue>(
        &mut self,
        call: &Call<'_>,
        params: impl Iterator<Item = (u32, V)> + Clone,
        (error, suspended_ms): (bool, u64),
        method: impl FnOnce() -> Option<&'m str>,
        words: &Dictionary,
        peer: &mut Peer,
    ) {
        let Self { roles, value, headers, .. } = self;
        if headers.is_none() {
            *headers = Some(Box::new(Headers::new(roles.slots(), peer)));
        }
        let (Some(headers), Some(batch)) = (headers, peer.batch(m::CALL)) else { return };
        headers.begin(call, method, batch);
        let (mut reported, mut others) = (Reported::default(), false);
        for (id, of) in params.clone() {
            match roles.role(id, words) {
                // Only the first value of a list, or of the ids of several tracing systems, is
                // reported.
                ParamRole::Own(id) if reported.add(id) => {
                    let pmid = headers.pmid(id);
                    put_text(pmid, of.utf8(&mut headers.room, value), batch);
                }
                ParamRole::Own(_) | ParamRole::Unshown => {}
                ParamRole::Other { .. } => others = true,
            }
        }
        if others && let Some(pmid) = headers.item(m::P_PARAMETERS) {
            batch.begin_text();
            let mut text = batch.text_writer();
            for (id, of) in params {
                if let ParamRole::Other { bare } = roles.role(id, words) {
                    let name = words.get(id).map(|word| Cow::Borrowed(&**word));
                    let name = name.unwrap_or_else(|| nameless(id).into());
                    let value = of.utf8(&mut headers.room, value);
                    push_other(&mut text, bare, &name, value);
                }
            }
            if text.is_empty() {
                batch.discard_text();
            } else {
                batch.end_text(pmid);
            }
        }
        if value.capacity() > limits::IDLE_BUFFER {
            *value = String::new();
        }
        headers.record.clear();
        headers.number(m::P_DURATION, ns(call.duration_ms));
        headers.positive(m::P_ERROR, error.into());
        headers.positive(m::P_SUSPENDED, ns(suspended_ms));
        headers.positive(m::P_CPU, ns(call.cpu_ms));
        headers.positive(m::P_WAIT, ns(call.wait_ms));
        headers.positive(m::P_QUEUE_WAIT, ns(call.queue_wait_ms.into()));
        headers.positive(m::P_MEMORY, call.memory);
        headers.positive(m::P_NESTED, call.calls.into());
        headers.positive(m::P_FILE_READ, call.file_read);
        headers.positive(m::P_FILE_WRITTEN, call.file_written);
        headers.positive(m::P_NET_READ, call.net_read);
        headers.positive(m::P_NET_WRITTEN, call.net_written);
        headers.positive(m::P_TRANSACTIONS, call.transactions);
        headers.positive(m::P_TRACE_FILE, call.pointer.file.into());
        headers.positive(m::P_TRACE_OFFSET, call.pointer.offset.into());
        headers.positive(m::P_TRACE_INDEX, call.pointer.index.into());
        batch.numbers(&headers.record);
    }
}

/// The value of a parameter.
pub(crate) trait ParamValue {
    /// As UTF-8 without what exceeds [`VALUE`]: its own, in `room` if it is short and ASCII, else in `buffer`.
    fn utf8<'a>(self, room: &'a mut [u8; ASCII], buffer: &'a mut String) -> &'a [u8]
    where
        Self: 'a;
}

impl ParamValue for Text<'_> {
    #[inline(always)]
    fn utf8<'a>(self, room: &'a mut [u8; ASCII], buffer: &'a mut String) -> &'a [u8]
    where
        Self: 'a,
    {
        match self.ascii(room) {
            Some(ascii) => ascii,
            None => {
                buffer.clear();
                self.push_to(buffer);
                cut_value(buffer, 0);
                buffer.as_bytes()
            }
        }
    }
}

impl ParamValue for &str {
    fn utf8<'a>(self, _: &'a mut [u8; ASCII], _: &'a mut String) -> &'a [u8]
    where
        Self: 'a,
    {
        self.as_bytes()
    }
}

/// Adds a text, which is UTF-8, up to its first NUL, where PCP strings end.
#[inline]
fn put_text(pmid: Option<Pmid>, text: &[u8], batch: &mut Batch) {
    let Some(pmid) = pmid else { return };
    let text =
        if has_nul(text) { text.split(|byte| *byte == 0).next().unwrap_or_default() } else { text };
    batch.utf8(pmid, text);
}

/// Whether a byte is 0. Texts are short: 8 bytes at a time without a call are the fastest.
#[inline(always)]
fn has_nul(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let zero = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        word.wrapping_sub(ONES) & !word & HIGH
    };
    let (words, rest) = text.as_chunks();
    match text.last_chunk() {
        Some(last) => words.iter().fold(zero(last), |found, word| found | zero(word)) != 0,
        None => rest.contains(&0),
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "tests/pack.rs"]
mod tests;
