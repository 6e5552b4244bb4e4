//! Decoded bodies in the lines of qa/corpus/zorka/events.txt.

use pmdaapm::sources::zorka::wire::{self, BodyError, Definition};
use pmdaapm::sources::zorka::wire::{
    AttributeValue, ClassName, Dialect, FLAG_CLOSED, FLAG_ERROR, FLAG_OVERFLOW, FLAG_SENT, NONE,
    Slice, TraceBody,
};
use serde_json::json;

fn text(bytes: &[u8]) -> String {
    json!(String::from_utf8_lossy(bytes)).to_string()
}

/// A body of definitions.
pub fn definitions(body: &[u8]) -> (Vec<String>, Result<(), BodyError>) {
    let mut lines = Vec::new();
    let result = wire::definitions(body, &mut |definition| {
        lines.push(match definition {
            Definition::Symbol { id, text: t } => format!("y {id} {}", text(t)),
            Definition::Method { id, class, name, signature } => {
                format!("m {id} {class} {name} {signature}")
            }
            Definition::Attribute { name, text: t } => format!("t {} {}", text(name), text(t)),
            Definition::Unknown => "unknown".to_owned(),
        });
    });
    (lines, result)
}

/// A decoded body of traces.
pub fn trace(body: &[u8], decoded: &TraceBody) -> Vec<String> {
    let show = |slice: Slice| text(slice.of(body));
    let mut lines = Vec::new();
    for r in &decoded.records {
        let parent = if r.parent == NONE { "-".to_owned() } else { r.parent.to_string() };
        let bits = [(FLAG_OVERFLOW, 'O'), (FLAG_ERROR, 'E'), (FLAG_SENT, 'S'), (FLAG_CLOSED, 'C')];
        let flags: String = bits.iter().filter(|b| r.flags & b.0 != 0).map(|b| b.1).collect();
        let flags = if flags.is_empty() { "-".to_owned() } else { flags };
        let dialect = match r.dialect {
            Dialect::Modern => 'M',
            Dialect::Streaming => 'S',
            Dialect::Note => 'N',
            Dialect::Legacy => 'L',
            Dialect::Interim => 'I',
        };
        lines.push(format!(
            "r {parent} {} {} {} {} {flags} {dialect} {}",
            r.method, r.start, r.duration, r.calls, r.exceptions
        ));
    }
    for s in &decoded.spans {
        lines.push(format!("s {} {} {} {:x} {:x}", s.record, s.kind, s.clock, s.id, s.parent));
    }
    for a in &decoded.attributes {
        let value = match a.value {
            AttributeValue::Text(t) => show(t),
            AttributeValue::Int(v) => format!("i{v}"),
            AttributeValue::Float(v) => format!("f{:016x}", v.to_bits()),
            AttributeValue::Bool(v) => format!("b{}", u8::from(v)),
            AttributeValue::Null => "n".to_owned(),
            AttributeValue::Other(_) => "o".to_owned(),
        };
        lines.push(format!("a {} {} {value}", a.record, a.name));
    }
    for e in &decoded.exceptions {
        let class = match e.class {
            ClassName::Symbol(id) => format!("c{id}"),
            ClassName::Text(t) => show(t),
        };
        let frame = e.first.map(|f| format!("{},{},{},{}", f.class, f.method, f.file, f.line));
        let frame = frame.unwrap_or_else(|| "-".to_owned());
        let message = e.message.map_or_else(|| "-".to_owned(), show);
        lines.push(format!("e {} {} {class} {} {frame} {message}", e.record, e.id, e.frames));
    }
    lines
}
