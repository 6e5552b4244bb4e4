//! Calls on their way to event records.

use super::metrics as m;
use super::record::{Call, Pointer};
use super::words::Words;
use std::sync::Arc;

/// Bytes of one parameter of a record, and of all those that have none of their own.
const VALUE: usize = 1024;
const PARAMETERS: usize = 4096;

/// A call as an event record shows it, with what it needs from the dictionary still as ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) start_ms: i64,
    pub(super) duration_ms: u64,
    pub(super) method: u32,
    pub(super) thread: Option<Arc<str>>,
    pub(super) cpu_ms: u64,
    pub(super) wait_ms: u64,
    pub(super) queue_wait_ms: u32,
    pub(super) memory: u64,
    pub(super) nested: u32,
    pub(super) io: [u64; 4],
    pub(super) transactions: u64,
    pub(super) pointer: Pointer,
    /// Ids of parameters and where their values end in `text`.
    pub(super) params: Vec<(u32, u32)>,
    pub(super) text: String,
    /// Its numbers, if they are not counted yet.
    pub(super) uncounted: Option<Box<Call<'static>>>,
}

impl Entry {
    /// Becomes `call`; keeps its memory.
    pub(super) fn take(&mut self, call: &Call<'_>) {
        (self.start_ms, self.duration_ms, self.method) = (call.start_ms, call.duration_ms, call.method);
        self.thread = call.thread_name.map(Arc::clone);
        (self.cpu_ms, self.wait_ms, self.queue_wait_ms) = (call.cpu_ms, call.wait_ms, call.queue_wait_ms);
        (self.memory, self.nested, self.transactions) = (call.memory, call.calls, call.transactions);
        self.io = [call.file_read, call.file_written, call.net_read, call.net_written];
        self.pointer = call.pointer;
        self.params.clear();
        self.text.clear();
        for param in call.params.iter() {
            let start = self.text.len();
            param.value.push_to(&mut self.text);
            if self.text.len() - start > VALUE {
                let end = (start..=start + VALUE).rev().find(|i| self.text.is_char_boundary(*i)).unwrap_or(start);
                self.text.truncate(end);
            }
            // A call's text is far below 4 GiB.
            self.params.push((param.id, u32::try_from(self.text.len()).unwrap_or(u32::MAX)));
        }
        self.uncounted = None;
    }

    /// It has a parameter.
    pub(super) fn has(&self, id: u32) -> bool {
        self.params.iter().any(|(p, _)| *p == id)
    }

    pub(super) fn params(&self) -> impl Iterator<Item = (u32, &str)> {
        let mut start = 0;
        self.params.iter().map(move |(id, end)| {
            let end = *end as usize;
            let value = self.text.get(start..end).unwrap_or_default();
            start = end;
            (*id, value)
        })
    }

    /// All names have come.
    pub(super) fn is_named(&self, words: &Words) -> bool {
        words.get(self.method).is_some() && self.params.iter().all(|(id, _)| words.get(*id).is_some())
    }
}

/// Appends `name=value` to the text of other parameters.
pub(super) fn push_other(out: &mut String, name: &str, value: &str) {
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

/// The bucket of a duration.
pub(super) fn bucket(ms: u64) -> u32 {
    let above = m::EDGES.partition_point(|edge| *edge <= ms);
    u32::try_from(above.saturating_sub(1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_lower_ends() {
        for (ms, name) in
            [(0, "0-1"), (1, "1-2"), (2, "2-5"), (9, "5-10"), (10, "10-20"), (99_999, "50000-100000"), (u64::MAX, "100000-inf")]
        {
            assert_eq!(m::buckets()[bucket(ms) as usize], name, "{ms}");
        }
    }
}
