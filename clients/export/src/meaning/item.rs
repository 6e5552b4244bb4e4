//! A record as a span or an instant.

use crate::model::{Anchor, Record};

/// Which side of a call a span is. The numbers are OTLP's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Neither side.
    Internal = 1,
    /// The side that was asked.
    Server = 2,
    /// The side that asks.
    Client = 3,
    /// Who sends a message.
    Producer = 4,
    /// Who gets one.
    Consumer = 5,
}

/// A record as a span, or as an instant.
#[derive(Debug, Clone, Copy)]
pub struct Item<'r> {
    /// What it was.
    pub record: &'r Record,
    /// ns since 1970.
    pub start: i64,
    /// ns. `None`: an instant.
    pub length: Option<u64>,
}

impl<'r> Item<'r> {
    /// What a record says of time.
    #[must_use]
    pub fn new(record: &'r Record) -> Self {
        let (anchor, length) = match record.paired {
            Some(length) => (Anchor::Start, Some(length)),
            None => (record.origin.of.time, record.length()),
        };
        // No real length is beyond this, and no receiver takes one.
        let length = length.map(|length| length.min(i64::MAX.unsigned_abs()));
        let back = match (anchor, length) {
            (Anchor::End, Some(length)) => i64::try_from(length).unwrap_or(i64::MAX),
            _ => 0,
        };
        // Receivers have no times before 1970.
        let start = record.time.saturating_sub(back).max(0);
        Self { record, start, length }
    }

    /// ns since 1970; that of an instant is its start.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.start.saturating_add(i64::try_from(self.length.unwrap_or(0)).unwrap_or(i64::MAX))
    }

    /// It has nothing to say but that records were missed.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.record.missed > 0 && self.record.parameters.is_empty()
    }

    /// The whole process stood still.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(&*self.record.origin.kind, "gc" | "pause")
    }

    /// An exception.
    #[must_use]
    pub fn is_exception(&self) -> bool {
        &*self.record.origin.kind == "exception"
    }

    /// A part of a trace: a span of Zorka, a call of the Java profiler. What remains is of the runtime.
    #[must_use]
    pub fn is_call(&self) -> bool {
        matches!(&*self.record.origin.full, "zorka.span" | "profiler.call")
    }

    /// The source says that it failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.record.says("error")
    }

    /// Which side of a call it is.
    #[must_use]
    pub fn role(&self) -> Role {
        let record = self.record;
        match &*record.origin.full {
            "zorka.span" => match &*record.text("kind") {
                "SERVER" => Role::Server,
                "CLIENT" => Role::Client,
                "PRODUCER" => Role::Producer,
                "CONSUMER" => Role::Consumer,
                "JOB" => Role::Internal,
                _ if &*record.text("type") == "db" || record.says("db.statement") => Role::Client,
                // A root of type http without a kind is the side that was asked.
                _ if record.text("type").eq_ignore_ascii_case("http") && !record.says("parent") => {
                    Role::Server
                }
                _ => Role::Internal,
            },
            "profiler.call" if record.says("web.method") || record.says("web.url") => Role::Server,
            _ => Role::Internal,
        }
    }

    /// The thread that it was on: its name, else its number; `None` if the source does not say.
    #[must_use]
    pub fn thread(&self) -> Option<String> {
        let record = self.record;
        let thread = record.first(&["thread_name", "thread", "thread_id", "ctx.vtid"])?;
        Some(thread.into_owned())
    }
}
