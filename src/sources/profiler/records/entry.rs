//! A call on its way to an event record.

use std::sync::Arc;

use crate::sources::profiler::limits;
use crate::sources::profiler::streams::record::{Call, Pointer};
use crate::sources::profiler::words::Words;

/// Bytes of one parameter of a record.
const VALUE: usize = 1024;

/// A call as an event record shows it, with what it needs from the dictionary still as ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
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

impl Entry {
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
    pub(crate) fn is_named(&self, words: &Words) -> bool {
        words.get(self.method).is_some()
            && self.params.iter().all(|(id, _)| words.get(*id).is_some())
    }
}
