//! Fragments (CTF 2, 5.4 to 5.9).

use std::sync::Arc;

use serde_json::Value;

use super::Fragments;
use super::fields::{self, Known};
use super::object::At;
use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;
use crate::schema::{ClockClass, DataStreamClass, EnvValue, EventRecordClass, FieldClass, Schema};
use crate::uuid::Uuid;

/// Names of log levels in the tracer's attributes, in ascending numbers.
const LOG_LEVELS: [&str; 15] = [
    "emergency",
    "alert",
    "critical",
    "error",
    "warning",
    "notice",
    "info",
    "debug:system",
    "debug:program",
    "debug:process",
    "debug:module",
    "debug:unit",
    "debug:function",
    "debug:line",
    "debug",
];

impl Fragments {
    pub(super) fn fragment(
        &mut self,
        value: &Value,
        schema: &mut Schema,
    ) -> Result<(), DeclarationError> {
        let at = At::root(value);
        let kind = at.need("type")?.text()?;
        if !self.began && kind != "preamble" {
            return malformed!("{kind} before the preamble");
        }
        match kind {
            "preamble" => self.preamble(&at, schema),
            "field-class-alias" => {
                let name = at.need("name")?.text()?;
                self.known.declare()?;
                let class = fields::class(&at.need("field-class")?, &mut self.known)?;
                if self.known.aliases.insert(name.to_owned(), class).is_some() {
                    return malformed!("alias {name} a second time");
                }
                Ok(())
            }
            "trace-class" => trace(&at, schema, &mut self.known),
            "clock-class" => clock(&at, schema),
            "data-stream-class" => stream(&at, schema, &mut self.known),
            "event-record-class" => event(&at, schema, &mut self.known),
            other => Err(DeclarationError::Unsupported(format!("fragment {other}"))),
        }
    }

    fn preamble(&mut self, at: &At<'_>, schema: &mut Schema) -> Result<(), DeclarationError> {
        if self.began {
            return at.wrong("a second preamble");
        }
        let version = at.need("version")?.unsigned()?;
        if version != 2 {
            return Err(DeclarationError::Unsupported(format!("version {version}")));
        }
        if let Some(extensions) = at.get("extensions")
            && let Some((name, _)) = extensions.entries()?.next()
        {
            // An extension may change the meaning of any property.
            return Err(DeclarationError::Unsupported(format!("extension {name}")));
        }
        if let Some(uuid) = at.get("uuid") {
            let byte =
                |b: At<'_>| u8::try_from(b.unsigned()?).map_or_else(|_| b.wrong("no byte"), Ok);
            let bytes: Result<Vec<u8>, DeclarationError> =
                uuid.array()?.take(17).map(byte).collect();
            schema.uuid = Some(match bytes?.try_into() {
                Ok(bytes) => Uuid::from_bytes(bytes),
                Err(_) => return uuid.wrong("not 16 bytes"),
            });
        }
        self.began = true;
        Ok(())
    }
}

/// The field class of a scope.
fn scope(
    at: &At<'_>,
    key: &str,
    known: &mut Known,
) -> Result<Option<Arc<FieldClass>>, DeclarationError> {
    let Some(at) = at.get(key) else { return Ok(None) };
    let class = fields::class(&at, known)?;
    if class.structure().is_some() { Ok(Some(class)) } else { at.wrong("no structure") }
}

fn trace(at: &At<'_>, schema: &mut Schema, known: &mut Known) -> Result<(), DeclarationError> {
    if schema.has_trace_class || !schema.streams.is_empty() {
        return at.wrong("a second trace class, or one behind stream classes");
    }
    let header = scope(at, "packet-header-field-class", known)?;
    let mut environment: Vec<(Arc<str>, EnvValue)> = Vec::new();
    if let Some(entries) = at.get("environment") {
        for (key, value) in entries.entries()? {
            bounded(
                "entries of the environment",
                environment.len() as u64 + 1,
                limits::ENVIRONMENT,
            )?;
            let value = match value.value {
                Value::String(text) => EnvValue::Text(text.as_str().into()),
                _ => EnvValue::Integer(value.integer()?),
            };
            environment.push((key.as_str().into(), value));
        }
    }
    schema.name = at.text_or_none("name")?.filter(|name| !name.is_empty());
    schema.environment = environment;
    schema.packet_header = header;
    schema.has_trace_class = true;
    Ok(())
}

fn clock(at: &At<'_>, schema: &mut Schema) -> Result<(), DeclarationError> {
    let id = at.need("id")?.text()?;
    let mut clock = ClockClass::new(id.into());
    clock.frequency = at.need("frequency")?.unsigned()?;
    clock.precision = at.unsigned_or("precision", 0)?;
    clock.uuid = at.text_or_none("uid")?;
    clock.description = at.text_or_none("description")?;
    clock.unix_epoch = at.get("origin").is_some_and(|origin| origin.value == "unix-epoch");
    if let Some(offset) = at.get("offset-from-origin") {
        clock.offset_seconds = offset.get("seconds").map_or(Ok(0), |at| at.signed())?;
        clock.offset_cycles = offset.get("cycles").map_or(Ok(0), |at| at.signed())?;
    }
    if clock.frequency == 0 {
        return at.wrong("frequency 0");
    }
    if schema.clocks.iter().any(|c| c.name == clock.name) {
        return malformed!("clock {id} a second time");
    }
    bounded("clocks", schema.clocks.len() as u64 + 1, limits::CLOCKS)?;
    schema.clocks.push(clock);
    Ok(())
}

fn stream(at: &At<'_>, schema: &mut Schema, known: &mut Known) -> Result<(), DeclarationError> {
    let id = at.unsigned_or("id", 0)?;
    let clock = match at.get("default-clock-class-id") {
        None => None,
        Some(at) => {
            let name = at.text()?;
            match schema.clocks.iter().position(|c| *c.name == *name) {
                Some(clock) => Some(clock),
                None => return at.wrong("no such clock"),
            }
        }
    };
    let stream = DataStreamClass {
        id,
        name: at.text_or_none("name")?,
        clock,
        packet_context: scope(at, "packet-context-field-class", known)?,
        event_header: scope(at, "event-record-header-field-class", known)?,
        common_context: scope(at, "event-record-common-context-field-class", known)?,
        ..DataStreamClass::default()
    };
    if schema.streams.iter().any(|s| s.id == id) {
        return malformed!("stream {id} a second time");
    }
    bounded("stream classes", schema.streams.len() as u64 + 1, limits::STREAM_CLASSES)?;
    schema.streams.push(stream);
    Ok(())
}

fn event(at: &At<'_>, schema: &mut Schema, known: &mut Known) -> Result<(), DeclarationError> {
    // Each tracer has a name space of its own.
    let attributes = at.value.get("attributes").and_then(Value::as_object);
    let attribute = |key: &str| {
        attributes.into_iter().flatten().find_map(|(_, space)| space.get(key)?.as_str())
    };
    let level = attribute("log-level");
    let level = level.and_then(|level| LOG_LEVELS.iter().position(|name| *name == level));
    let uri = attribute("emf-uri");
    let event = EventRecordClass {
        id: at.unsigned_or("id", 0)?,
        name: at.text_or_none("name")?.unwrap_or_else(|| "<unknown>".into()),
        log_level: level.and_then(|level| i64::try_from(level).ok()),
        emf_uri: uri.filter(|uri| !uri.is_empty()).map(Into::into),
        context: scope(at, "specific-context-field-class", known)?,
        payload: scope(at, "payload-field-class", known)?,
    };
    let stream = at.unsigned_or("data-stream-class-id", 0)?;
    let Some(stream) = schema.streams.iter_mut().find(|s| s.id == stream) else {
        return malformed!("no stream {stream}");
    };
    bounded("event classes", stream.events.len() as u64 + 1, limits::EVENT_CLASSES)?;
    stream.events.push(event);
    Ok(())
}
