//! Requests of limited size.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use crate::meaning::{Resource, SpanId};
use crate::model::Record;
use crate::proto::Proto;

use super::span::{Span, attributes_json, attributes_proto};

/// Spans of a request.
const MOST_SPANS: usize = 2000;
/// Bytes of a request before compression. The collector takes 20 MiB by default.
const MOST_BYTES: usize = 2 << 20;
/// The conventions that attributes follow.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.44.0";
/// Name of the scope.
const SCOPE: &str = "pmdaapm";

/// A form of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}

/// Spans of one request, by resource.
#[derive(Debug)]
pub(super) struct Batch {
    /// JSON too: a receiver that refuses it gets protobuf.
    json: bool,
    groups: Vec<Group>,
    index: HashMap<(Resource, Arc<str>), usize>,
    /// The number of its spans.
    pub(super) spans: usize,
    /// The ids of those that are noted when they are delivered.
    pub(super) noted: Vec<SpanId>,
    streams: HashSet<SpanId>,
    bytes: usize,
}

#[derive(Debug)]
struct Group {
    resource: Proto,
    spans: Proto,
    resource_json: String,
    spans_json: String,
}

impl Batch {
    /// An empty one for requests of this form.
    pub(super) fn new(form: Form) -> Self {
        Self {
            json: form == Form::Json,
            groups: Vec::new(),
            index: HashMap::new(),
            spans: 0,
            noted: Vec::new(),
            streams: HashSet::new(),
            bytes: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans == 0
    }

    /// Bytes of its larger form.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a span of a record's resource. `false`: it has no room, but in an empty batch it always has.
    pub(super) fn add(&mut self, record: &Record, span: &Span<'_>, noted: bool) -> bool {
        let mut encoded = Proto::default();
        encoded.message(2, |out| span.proto(out));
        let text = if self.json { span.json().to_string() } else { String::new() };
        let size = encoded.len().max(text.len() + 1);
        let full = self.spans >= MOST_SPANS || self.bytes + size > MOST_BYTES;
        if full && !self.is_empty() {
            return false;
        }
        let key = (Resource::of(record), record.origin.instance.host.clone());
        let at = match self.index.get(&key) {
            Some(at) => *at,
            None => {
                let group = Group::new(&key.0, record, self.json);
                self.bytes += group.resource.len().max(group.resource_json.len()) + 128;
                self.groups.push(group);
                self.index.insert(key, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        if let Some(group) = self.groups.get_mut(at) {
            group.spans.fields(&encoded);
            if !group.spans_json.is_empty() {
                group.spans_json.push(',');
            }
            group.spans_json.push_str(&text);
        }
        self.bytes += size;
        self.spans += 1;
        if noted {
            self.noted.push(span.span);
        }
        true
    }

    /// Notes the mark of a span's stream, once.
    pub(super) fn note_stream(&mut self, mark: SpanId) {
        if self.streams.insert(mark) {
            self.noted.push(mark);
        }
    }

    /// An `ExportTraceServiceRequest`. Several, one behind the other, are one.
    pub(super) fn protobuf(&self) -> Vec<u8> {
        let mut out = Proto::default();
        for group in &self.groups {
            out.message(1, |out| {
                out.message(1, |out| out.fields(&group.resource));
                out.message(2, |out| {
                    out.message(1, |out| {
                        out.text(1, SCOPE);
                        out.text(2, env!("CARGO_PKG_VERSION"));
                    });
                    out.fields(&group.spans);
                });
                out.text(3, SCHEMA);
            });
        }
        out.into_bytes()
    }

    /// The elements of `resourceSpans`, with commas between them.
    pub(super) fn resource_spans(&self) -> String {
        let scope = json!({"name": SCOPE, "version": env!("CARGO_PKG_VERSION")});
        let groups = self.groups.iter().map(|Group { resource_json, spans_json, .. }| {
            format!(
                r#"{{"resource":{{"attributes":{resource_json}}},"scopeSpans":[{{"scope":{scope},"spans":[{spans_json}]}}],"schemaUrl":"{SCHEMA}"}}"#
            )
        });
        groups.collect::<Vec<_>>().join(",")
    }

    /// The request in JSON.
    pub(super) fn document(&self) -> String {
        format!(r#"{{"resourceSpans":[{}]}}"#, self.resource_spans())
    }
}

impl Group {
    fn new(of: &Resource, record: &Record, json: bool) -> Self {
        let attributes = of.attributes(record);
        let mut resource = Proto::default();
        attributes_proto(&mut resource, 1, &attributes);
        let resource_json =
            if json { attributes_json(&attributes).to_string() } else { String::new() };
        Self { resource, spans: Proto::default(), resource_json, spans_json: String::new() }
    }
}
