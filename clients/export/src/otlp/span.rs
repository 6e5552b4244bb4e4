//! A span in OTLP's two forms.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use crate::meaning::{Attribute, Attributes, Role, SpanId, TraceId};
use crate::proto::Proto;

/// Bit 8: whether the parent is remote is known; bit 9: it is.
const REMOTE: u32 = 0x300;
/// `STATUS_CODE_ERROR`.
const ERROR: u64 = 2;

/// A span.
#[derive(Debug)]
pub(super) struct Span<'a> {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) name: Cow<'a, str>,
    pub(super) role: Role,
    /// ns since 1970.
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) attributes: Attributes<'a>,
    pub(super) events: Vec<Event<'a>>,
    /// Events that had no room.
    pub(super) dropped: u64,
    /// It failed, with this message.
    pub(super) failed: Option<Cow<'a, str>>,
}

/// What happened within a span.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) time: i64,
    pub(super) name: Cow<'a, str>,
    pub(super) attributes: Attributes<'a>,
}

impl Span<'_> {
    /// Who was called by another process has a parent there.
    fn is_remote(&self) -> bool {
        self.parent.is_some() && matches!(self.role, Role::Server | Role::Consumer)
    }

    /// The fields of a message `Span`.
    pub(super) fn proto(&self, out: &mut Proto) {
        out.bytes(1, &self.trace.0);
        out.bytes(2, &self.span.0);
        if let Some(parent) = self.parent {
            out.bytes(4, &parent.0);
        }
        out.text(5, &self.name);
        out.uint(6, self.role as u64);
        out.fixed64(7, self.start.max(0).unsigned_abs());
        out.fixed64(8, self.end.max(0).unsigned_abs());
        attributes_proto(out, 9, &self.attributes);
        for event in &self.events {
            out.message(11, |out| {
                out.fixed64(1, event.time.max(0).unsigned_abs());
                out.text(2, &event.name);
                attributes_proto(out, 3, &event.attributes);
            });
        }
        if self.dropped > 0 {
            out.uint(12, self.dropped);
        }
        if let Some(message) = &self.failed {
            out.message(15, |out| {
                if !message.is_empty() {
                    out.text(2, message);
                }
                out.uint(3, ERROR);
            });
        }
        if self.is_remote() {
            out.fixed32(16, REMOTE);
        }
    }

    /// The same as an object of JSON. Numbers of 64 bits are texts there, and ids hexadecimal digits.
    pub(super) fn json(&self) -> Json {
        let mut span = json!({
            "traceId": self.trace.to_string(),
            "spanId": self.span.to_string(),
            "name": self.name,
            "kind": self.role as u64,
            "startTimeUnixNano": self.start.max(0).to_string(),
            "endTimeUnixNano": self.end.max(0).to_string(),
        });
        let Some(fields) = span.as_object_mut() else { return span };
        let mut set = |name: &str, value: Json| drop(fields.insert(name.to_owned(), value));
        if let Some(parent) = self.parent {
            set("parentSpanId", parent.to_string().into());
        }
        set("attributes", attributes_json(&self.attributes));
        if !self.events.is_empty() {
            let events = self.events.iter().map(|event| {
                json!({
                    "timeUnixNano": event.time.max(0).to_string(),
                    "name": event.name,
                    "attributes": attributes_json(&event.attributes),
                })
            });
            set("events", events.collect());
        }
        if self.dropped > 0 {
            set("droppedEventsCount", self.dropped.into());
        }
        if let Some(message) = &self.failed {
            set(
                "status",
                if message.is_empty() {
                    json!({"code": ERROR})
                } else {
                    json!({"message": message, "code": ERROR})
                },
            );
        }
        if self.is_remote() {
            set("flags", REMOTE.into());
        }
        span
    }
}

/// Attributes as repeated `KeyValue`s.
pub(super) fn attributes_proto(out: &mut Proto, field: u32, attributes: &Attributes<'_>) {
    for (name, value) in attributes.iter() {
        out.message(field, |out| {
            out.text(1, name);
            out.message(2, |out| match value {
                Attribute::Text(text) => out.text(1, text),
                Attribute::Bool(yes) => out.bool(2, *yes),
                Attribute::Int(n) => out.int(3, *n),
                Attribute::Float(n) => out.double(4, *n),
            });
        });
    }
}

/// Attributes as an array of JSON.
pub(super) fn attributes_json(attributes: &Attributes<'_>) -> Json {
    let pairs = attributes.iter().map(|(name, value)| {
        let value = match value {
            Attribute::Text(text) => json!({"stringValue": text}),
            Attribute::Bool(yes) => json!({"boolValue": yes}),
            Attribute::Int(n) => json!({"intValue": n.to_string()}),
            Attribute::Float(n) => json!({"doubleValue": n}),
        };
        json!({"key": name, "value": value})
    });
    pairs.collect()
}
