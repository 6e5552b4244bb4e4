//! `trace`, `env`, `clock`, `stream`, `event` (CTF 1.8, 7.1): adds complete blocks to the schema.

use std::collections::HashSet;
use std::sync::Arc;

use super::lexer::Word;
use super::numbers::trace_order;
use super::parser::{Parsed, Parser, Value};
use super::roles::with_roles;
use crate::error::{DeclarationError, bounded};
use crate::limits;
use crate::schema::{
    ClockClass, DataStreamClass, EnvValue, EventRecordClass, FieldClass, Schema, Scope,
};
use crate::uuid::Uuid;

/// The right side of an entry.
enum Entry {
    Value(Value),
    Class(Arc<FieldClass>),
}

impl Entry {
    fn value(&self) -> Result<&Value, DeclarationError> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Class(_) => {
                Err(DeclarationError::Malformed("a type where a value is expected".into()))
            }
        }
    }

    fn scope(&self, scope: Scope) -> Result<Option<Arc<FieldClass>>, DeclarationError> {
        match self {
            Self::Class(class) => Ok(Some(with_roles(class, scope)?)),
            Self::Value(_) => {
                Err(DeclarationError::Malformed("a value where a type is expected".into()))
            }
        }
    }

    fn id(&self) -> Result<u64, DeclarationError> {
        self.value()?.unsigned()
    }

    fn text(&self) -> Result<Arc<str>, DeclarationError> {
        Ok(self.value()?.text()?.into())
    }
}

impl Parser<'_> {
    /// Parses one declaration of the file.
    pub(super) fn declaration(&mut self, schema: &mut Schema) -> Parsed<()> {
        if self.skip(";")? || self.token.word == Word::End {
            return Ok(());
        }
        let Word::Name(block) = self.token.word else {
            return self.wrong(format!("declaration expected, not {}", self.shown()));
        };
        if self.alias_declaration()? {
            return Ok(());
        }
        match block {
            "trace" => self.trace(schema),
            "env" => self.env(schema),
            "clock" => self.clock(schema),
            "stream" => self.stream(schema),
            "event" => self.event(schema),
            "callsite" => self.block(|_, _| Ok(())),
            "struct" | "variant" | "enum" => {
                self.specifier()?;
                self.expect(";")
            }
            other => self.wrong(format!("{other} is no declaration")),
        }
    }

    /// `NAME { entries };`
    fn block(
        &mut self,
        mut each: impl FnMut(&str, &Entry) -> Result<(), DeclarationError>,
    ) -> Parsed<()> {
        self.advance()?;
        self.expect("{")?;
        self.scoped(|parser| {
            let mut known: HashSet<String> = HashSet::new();
            while !parser.at_punctuation("}") {
                if parser.skip(";")? || parser.alias_declaration()? {
                    continue;
                }
                if ["struct", "variant", "enum"].iter().any(|kind| parser.at_name(kind)) {
                    parser.specifier()?;
                    parser.expect(";")?;
                    continue;
                }
                let key = parser.path()?;
                let entry = if parser.skip(":=")? {
                    let specifier = parser.specifier()?;
                    Entry::Class(parser.resolve(&specifier, 0)?)
                } else {
                    parser.expect("=")?;
                    Entry::Value(parser.value()?)
                };
                parser.check(each(&key, &entry))?;
                if !known.insert(key) {
                    return parser.wrong("an entry a second time");
                }
                parser.expect(";")?;
            }
            Ok(())
        })?;
        self.expect("}")?;
        self.expect(";")
    }

    fn trace(&mut self, schema: &mut Schema) -> Parsed<()> {
        let (mut major, mut minor, mut id, mut order, mut header) = (None, None, None, None, None);
        self.block(|key, entry| {
            match key {
                "major" => major = Some(entry.id()?),
                "minor" => minor = Some(entry.id()?),
                "uuid" => id = Some(Uuid::parse(entry.value()?.text()?)?),
                "byte_order" => order = Some(trace_order(entry.value()?)?),
                "packet.header" => header = entry.scope(Scope::PacketHeader)?,
                _ => {}
            }
            Ok(())
        })?;
        match (major, minor) {
            (Some(1), Some(8)) => {}
            (Some(major), Some(minor)) => {
                return self
                    .check(Err(DeclarationError::Unsupported(format!("version {major}.{minor}"))));
            }
            _ => return self.wrong("trace without version"),
        }
        let Some(order) = order else { return self.wrong("trace without byte order") };
        if schema.order.is_some() {
            return self.wrong("a second trace");
        }
        schema.order = Some(order);
        schema.uuid = id;
        schema.packet_header = header;
        Ok(())
    }

    fn env(&mut self, schema: &mut Schema) -> Parsed<()> {
        let mut entries: Vec<(Arc<str>, EnvValue)> = Vec::new();
        let before = schema.environment.len();
        self.block(|key, entry| {
            bounded(
                "entries of the environment",
                (before + entries.len()) as u64 + 1,
                limits::ENVIRONMENT,
            )?;
            let value = match entry.value()? {
                Value::Integer(n) => EnvValue::Integer(*n),
                Value::Text(text) | Value::Path(text) => EnvValue::Text(text.as_str().into()),
            };
            entries.push((key.into(), value));
            Ok(())
        })?;
        schema.environment.extend(entries);
        Ok(())
    }

    fn clock(&mut self, schema: &mut Schema) -> Parsed<()> {
        let mut clock = ClockClass { unix_epoch: false, ..ClockClass::new("".into()) };
        let mut absolute = None;
        self.block(|key, entry| {
            match key {
                "name" => clock.name = entry.text()?,
                "uuid" => clock.uuid = Some(entry.text()?),
                "description" => clock.description = Some(entry.text()?),
                "freq" => clock.frequency = entry.id()?,
                "precision" => clock.precision = entry.id()?,
                "offset_s" => clock.offset_seconds = entry.value()?.signed()?,
                "offset" => clock.offset_cycles = entry.value()?.signed()?,
                "absolute" => absolute = Some(entry.value()?.truth()?),
                _ => {}
            }
            Ok(())
        })?;
        // As in babeltrace: all known tracers count from 1970, and most do not declare it.
        clock.unix_epoch = true;
        if clock.name.is_empty() {
            return self.wrong("clock without name");
        }
        if clock.frequency == 0 {
            return self.wrong("clock of frequency 0");
        }
        if schema.clocks.iter().any(|c| c.name == clock.name) {
            return self.wrong(format!("clock {} a second time", clock.name));
        }
        self.check(bounded("clocks", schema.clocks.len() as u64 + 1, limits::CLOCKS))?;
        schema.clocks.push(clock);
        Ok(())
    }

    fn stream(&mut self, schema: &mut Schema) -> Parsed<()> {
        let mut stream = DataStreamClass::default();
        let mut told = false;
        self.block(|key, entry| {
            match key {
                "id" => (stream.id, told) = (entry.id()?, true),
                "packet.context" => stream.packet_context = entry.scope(Scope::PacketContext)?,
                "event.header" => stream.event_header = entry.scope(Scope::EventHeader)?,
                "event.context" => stream.common_context = entry.scope(Scope::CommonContext)?,
                _ => {}
            }
            Ok(())
        })?;
        if !told && !schema.streams.iter().all(|s| s.implicit) {
            return self.wrong("stream without id");
        }
        match schema.streams.iter_mut().find(|s| s.id == stream.id) {
            Some(known) if known.implicit => {
                stream.events = std::mem::take(&mut known.events);
                *known = stream;
                return Ok(());
            }
            Some(_) => return self.wrong(format!("stream {} a second time", stream.id)),
            None => {}
        }
        self.check(bounded(
            "stream classes",
            schema.streams.len() as u64 + 1,
            limits::STREAM_CLASSES,
        ))?;
        let (own, others) =
            std::mem::take(&mut schema.orphans).into_iter().partition(|(id, _)| *id == stream.id);
        schema.orphans = others;
        let own: Vec<(u64, EventRecordClass)> = own;
        stream.events.extend(own.into_iter().map(|(_, event)| event));
        schema.streams.push(stream);
        Ok(())
    }

    fn event(&mut self, schema: &mut Schema) -> Parsed<()> {
        let (mut id, mut stream_id, mut name) = (None, None, None);
        let mut event = EventRecordClass {
            id: 0,
            name: "".into(),
            log_level: None,
            emf_uri: None,
            context: None,
            payload: None,
        };
        self.block(|key, entry| {
            match key {
                "id" => id = Some(entry.id()?),
                "stream_id" => stream_id = Some(entry.id()?),
                "name" => name = Some(entry.text()?),
                "loglevel" => event.log_level = Some(entry.value()?.signed()?),
                "model.emf.uri" => {
                    event.emf_uri = Some(entry.text()?).filter(|uri| !uri.is_empty())
                }
                "context" => event.context = entry.scope(Scope::Context)?,
                "fields" => event.payload = entry.scope(Scope::Payload)?,
                _ => {}
            }
            Ok(())
        })?;
        let Some(name) = name else { return self.wrong("event without name") };
        if schema.streams.is_empty() && stream_id.is_none() {
            schema.streams.push(DataStreamClass { implicit: true, ..DataStreamClass::default() });
        }
        let count = schema.orphans.len() as u64;
        let stream = match (stream_id, schema.streams.as_mut_slice()) {
            (None, [only]) => only,
            (None, _) => return self.wrong("event without stream_id"),
            (Some(stream_id), streams) => match streams.iter_mut().find(|s| s.id == stream_id) {
                Some(stream) => stream,
                None => {
                    self.check(bounded("event classes", count + 1, limits::EVENT_CLASSES))?;
                    schema
                        .orphans
                        .push((stream_id, EventRecordClass { id: id.unwrap_or(0), name, ..event }));
                    return Ok(());
                }
            },
        };
        if id.is_none() && !stream.events.is_empty() {
            return self.wrong("event without id");
        }
        let id = id.unwrap_or(0);
        self.check(bounded(
            "event classes",
            stream.events.len() as u64 + 1,
            limits::EVENT_CLASSES,
        ))?;
        stream.events.push(EventRecordClass { id, name, ..event });
        Ok(())
    }
}
