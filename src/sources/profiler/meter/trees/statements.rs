//! The SQL statements of a call: texts come once, in the stream `sql`, and calls refer to them.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fmt::Write;

use crate::model::cut;
use crate::sources::profiler::limits::{STATEMENT, STATEMENT_BYTES, STATEMENTS};
use crate::sources::profiler::streams::record::{BigValue, Reference};

/// Different statements of one call that are told apart.
const DIFFERENT: usize = 256;
/// Bytes of the text with all statements of a call, and of one of them.
const TEXT: usize = 4096;
const ONE: usize = 1024;

/// The newest values of the stream.
#[derive(Debug, Default)]
pub(crate) struct Values {
    all: VecDeque<(Reference, Box<str>)>,
    bytes: usize,
}

impl crate::model::HeapSize for Values {
    fn heap_size(&self) -> usize {
        self.all.heap_size() + self.bytes
    }
}

impl Values {
    pub(crate) fn push(&mut self, value: &BigValue<'_>) {
        let mut text = String::new();
        // A statement is one line.
        for word in value.text.chars().collect::<String>().split_whitespace() {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(word);
        }
        let text: Box<str> = cut(&text, STATEMENT).into();
        self.bytes += text.len();
        let offset = u32::try_from(value.offset).unwrap_or(u32::MAX);
        self.all.push_back((Reference { file: value.file, offset }, text));
        while self.all.len() > STATEMENTS || self.bytes > STATEMENT_BYTES {
            self.bytes -= self.all.pop_front().map_or(0, |(_, text)| text.len());
        }
    }

    /// Nobody reads trees.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn get(&self, at: Reference) -> Option<&str> {
        self.all.iter().rev().find(|(of, _)| *of == at).map(|(_, text)| &**text)
    }
}

/// The statements of one call.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// All of them.
    pub(crate) count: u64,
    /// Value, executions, and milliseconds of the methods that have it.
    different: Vec<(Reference, u64, i64)>,
}

impl Statements {
    /// A method has a statement; `None`: its text is not in the stream.
    pub(crate) fn add(&mut self, at: Option<Reference>) {
        self.count += 1;
        let Some(at) = at else { return };
        let room = self.different.len() < DIFFERENT;
        match self.different.iter_mut().find(|(of, ..)| *of == at) {
            Some((_, count, _)) => *count += 1,
            None if room => self.different.push((at, 1, 0)),
            None => {}
        }
    }

    /// The method with a statement has ended.
    pub(crate) fn took(&mut self, at: Reference, ms: i64) {
        if let Some((.., sum)) = self.different.iter_mut().find(|(of, ..)| *of == at) {
            *sum = sum.saturating_add(ms);
        }
    }

    /// `EXECUTIONS,MICROSECONDS,TEXT` of each, one a line, those that took longest first.
    pub(crate) fn text(mut self, values: &Values) -> String {
        self.different.sort_by_key(|(_, count, ms)| Reverse((*ms, *count)));
        let mut text = String::new();
        for (at, count, ms) in self.different {
            let before = text.len();
            let line = if text.is_empty() { "" } else { "\n" };
            let _ = write!(text, "{line}{count},{},", ms.saturating_mul(1000));
            match values.get(at) {
                Some(value) => text.push_str(cut(value, ONE)),
                None => drop(write!(text, "#{}:{}", at.file, at.offset)),
            }
            if text.len() > TEXT {
                text.truncate(before);
                break;
            }
        }
        text
    }
}
