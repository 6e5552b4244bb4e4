//! Values as text in the notation of babeltrace: `{ i = 1, tag = [ [0] = 0x2F ], c = ( "RED" :
//! container = 0 ) }`.

mod digits;
mod number;
mod quoted;

use std::fmt::Write as _;

pub use digits::AsciiSink;
pub use number::{IntegerFormat, float, integer};
pub use quoted::quoted;

use crate::plan::{Kind, Node, NodeId};
use crate::schema::{Mappings, Scope};
use crate::visit::Visitor;

/// A visitor that formats the fields of events into a line: [`Self::begin`], the fields,
/// [`Self::end`]. One formatter serves any number of events.
#[derive(Debug, Default)]
pub struct TextFormatter<'n> {
    /// The text so far.
    pub line: String,
    /// Prints several mappings of a value as babeltrace 2.1 does: sorted, in braces. 2.0 prints them
    /// in the order of the metadata.
    pub braces: bool,
    nodes: &'n [Node],
    /// Scopes to show, and the number of those begun.
    scopes: &'n [(Scope, NodeId)],
    begun: usize,
    /// Number of members so far in the open scope.
    scope: Option<u64>,
    /// Whether the line already has a scope.
    follows: bool,
    /// Open compound fields within the scope, with their number of members so far.
    open: Vec<(NodeId, u64)>,
    /// Nesting depth within a hidden node.
    hidden: usize,
}

impl<'n> TextFormatter<'n> {
    /// Starts an event with these nodes and scopes. `follows`: the line already has other scopes.
    pub fn begin(&mut self, nodes: &'n [Node], scopes: &'n [(Scope, NodeId)], follows: bool) {
        let line = std::mem::take(&mut self.line);
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        *self = Self { line, braces: self.braces, nodes, scopes, follows, open, ..Self::default() };
    }

    /// Closes the last scope and prints the empty ones after it. `true`: the line has at least one
    /// scope.
    pub fn end(&mut self) -> bool {
        self.enter(self.scopes.len());
        self.follows
    }

    fn node(&self, id: NodeId) -> Option<&'n Node> {
        self.nodes.get(id.index())
    }

    /// Begins all scopes up to this index.
    fn enter(&mut self, scope: usize) {
        while self.begun <= scope {
            if self.scope.take().is_some() {
                self.line.push_str(" }");
            }
            let root = self.scopes.get(self.begun).copied();
            self.begun += 1;
            if let Some((_, root)) = root
                && self.node(root).is_some_and(|node| !node.hidden)
            {
                self.line.push_str(if self.follows { ", {" } else { "{" });
                self.follows = true;
                self.scope = Some(0);
            }
        }
    }

    /// Prints name and punctuation before a value. `None`: the node is hidden.
    fn before(&mut self, id: NodeId) -> Option<&'n Node> {
        let node = self.node(id)?;
        if self.hidden > 0 || node.hidden {
            return None;
        }
        let scope = self.scopes.iter().position(|(scope, _)| *scope == node.scope)?;
        if self.begun <= scope {
            self.enter(scope);
        }
        let parent = node.parent.and_then(|p| self.node(p));
        let in_array = parent.is_some_and(|p| matches!(p.kind, Kind::Array(_)));
        if let Some(members) =
            self.open.last_mut().map(|(_, members)| members).or(self.scope.as_mut())
        {
            if !parent.is_some_and(|p| matches!(p.kind, Kind::Variant | Kind::Optional)) {
                self.line.push_str(if *members == 0 { " " } else { ", " });
                if in_array {
                    self.line.push('[');
                    digits::decimal(*members, &mut self.line);
                    self.line.push(']');
                } else {
                    self.line.push_str(&node.name);
                }
                self.line.push_str(" = ");
            }
            *members += 1;
        }
        Some(node)
    }

    fn mappings(&mut self, mappings: &Mappings, value: i128) {
        let mut names: Vec<_> = mappings.of(value).collect();
        let braces = self.braces && names.len() > 1;
        if braces {
            names.sort();
        }
        self.line.push_str(if braces { "{ " } else { "" });
        for (n, name) in names.iter().enumerate() {
            self.line.push_str(if n == 0 { "" } else { ", " });
            quoted(name, &mut self.line);
        }
        self.line.push_str(if braces { " }" } else { "" });
        if names.is_empty() {
            self.line.push_str("<unknown>");
        }
    }

    fn number(&mut self, id: NodeId, value: i128, plain: impl Fn(IntegerFormat, &mut String)) {
        let Some(node) = self.before(id) else { return };
        match (&node.mappings, node.kind) {
            (_, Kind::Boolean(_)) => self.line.push_str(if value == 0 { "false" } else { "true" }),
            (Some(mappings), Kind::Unsigned(_) | Kind::Signed(_)) => {
                self.line.push_str("( ");
                self.mappings(mappings, value);
                self.line.push_str(" : container = ");
                integer(value, node.kind, node.base, &mut self.line);
                self.line.push_str(" )");
            }
            _ => plain(IntegerFormat::new(node.kind, node.base), &mut self.line),
        }
    }
}

impl<'a> Visitor<'a> for TextFormatter<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.number(node, value.into(), |form, line| form.unsigned(value, line));
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        self.number(node, value.into(), |form, line| form.signed(value, line));
    }

    fn float(&mut self, node: NodeId, value: f64) {
        if self.before(node).is_some() {
            float(value, &mut self.line);
        }
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        if let Some(node) = self.before(node) {
            let encoding =
                if let Kind::String(encoding) = node.kind { encoding } else { Default::default() };
            quoted(&crate::string::decode(value, encoding), &mut self.line);
        }
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        if self.before(node).is_some() {
            self.line.push_str("{ <");
            let _ = write!(self.line, "{}", value.len());
            self.line.push_str(" bytes> }");
        }
    }

    fn open(&mut self, node: NodeId, count: u64) {
        if self.hidden > 0 {
            self.hidden += 1;
            return;
        }
        let Some(place) = self.before(node) else {
            self.hidden = 1;
            return;
        };
        self.line.push_str(match (place.kind, count) {
            (Kind::Structure, _) => "{",
            (Kind::Array(_), _) => "[",
            (Kind::Optional, 0) => "<none>",
            _ => "{ ",
        });
        self.open.push((node, 0));
    }

    fn close(&mut self, node: NodeId) {
        if self.hidden > 0 {
            self.hidden -= 1;
            return;
        }
        let kind = self.node(node).map(|n| n.kind);
        if let Some((_, members)) = self.open.pop() {
            self.line.push_str(match kind {
                Some(Kind::Array(_)) => " ]",
                Some(Kind::Optional) if members == 0 => "",
                _ => " }",
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Packet, Trace};

    fn line(declarations: &str, fields: &str, packet: &[u8], braces: bool) -> String {
        let text = format!(
            "trace {{ major = 1; minor = 8; byte_order = le; }}; typealias integer {{ size = 8; }} := u8; {declarations}
             event {{ name = e; fields := struct {{ {fields} }}; }};"
        );
        let mut trace = Trace::new();
        trace.metadata(text.as_bytes()).unwrap();
        let mut packet = Packet::open(&trace, packet, 0).unwrap();
        let class = packet.peek().unwrap().unwrap().class;
        let mut text = TextFormatter { braces, ..TextFormatter::default() };
        text.begin(class.nodes(), class.scopes(), false);
        packet.visit(&mut text).unwrap();
        assert_eq!(text.end(), !text.line.is_empty());
        text.line
    }

    #[test]
    fn compounds() {
        let enumeration = "enum : u8 { B = 0 ... 5, A = 3, C = 9 }";
        let fields = format!(
            "{enumeration} t; struct {{ u8 a; struct {{ }} b; }} s; variant <t> {{ string B; u8 A; u8 C; }} v; u8 n[2]; string z[0];"
        );
        let packet = [&[3, 7][..], b"x\0", &[1, 2]].concat();
        assert_eq!(
            line("", &fields, &packet, true),
            "{ t = ( { \"A\", \"B\" } : container = 3 ), s = { a = 7, b = { } }, v = { \"x\" }, n = [ [0] = 1, [1] = 2 ], z = [ ] }"
        );
        assert!(
            line("", &fields, &packet, false)
                .starts_with("{ t = ( \"B\", \"A\" : container = 3 ), ")
        );
        assert_eq!(
            line("", &format!("{enumeration} t;"), &[8], true),
            "{ t = ( <unknown> : container = 8 ) }"
        );
    }

    #[test]
    fn scopes_and_what_is_hidden() {
        let context = "clock { name = c; }; stream { event.context := struct { u8 p; }; };";
        assert_eq!(line(context, "", &[1], true), "{ p = 1 }, { }");
        let context = "clock { name = c; }; stream { event.context := struct { integer { size = 8; map = clock.c.value; } p; }; };";
        assert_eq!(line(context, "u8 x;", &[1, 2], true), "{ x = 2 }");
        // A clock that is also a length is shown, and so is an otherwise hidden option if the
        // selector may choose it.
        let fields = "integer { size = 8; map = clock.c.value; } n; u8 a[n]; struct { integer { size = 8; map = clock.c.value; } x; } s;";
        assert_eq!(
            line("clock { name = c; };", fields, &[1, 7, 3], true),
            "{ n = 1, a = [ [0] = 7 ] }"
        );
    }

    #[test]
    fn of_ctf_2() {
        let u8 = "\"field-class\":{\"type\":\"fixed-length-unsigned-integer\",\"length\":8,\"byte-order\":\"little-endian\"}";
        let optional = "{\"type\":\"optional\",\"selector-field-location\":{\"path\":[\"b\"]}";
        let text = format!(
            "\x1e{{\"type\":\"preamble\",\"version\":2}}\x1e{{\"type\":\"data-stream-class\"}}
             \x1e{{\"type\":\"event-record-class\",\"payload-field-class\":{{\"type\":\"structure\",\"member-classes\":[
             {{\"name\":\"b\",\"field-class\":{{\"type\":\"fixed-length-boolean\",\"length\":8,\"byte-order\":\"little-endian\"}}}},
             {{\"name\":\"o\",\"field-class\":{optional},{u8}}}}},
             {{\"name\":\"m\",\"field-class\":{{\"type\":\"fixed-length-bit-map\",\"length\":8,\"byte-order\":\"little-endian\"}}}},
             {{\"name\":\"x\",\"field-class\":{{\"type\":\"static-length-blob\",\"length\":2}}}}]}}}}"
        );
        let mut trace = Trace::new();
        trace.metadata(text.as_bytes()).unwrap();
        let mut lines = Vec::new();
        let mut packet = Packet::open(&trace, &[1, 5, 0xff, 1, 2, 0, 3, 1, 2], 0).unwrap();
        let mut text = TextFormatter::default();
        while let Some(event) = packet.peek().unwrap() {
            text.begin(event.class.nodes(), event.class.scopes(), false);
            packet.visit(&mut text).unwrap();
            text.end();
            lines.push(std::mem::take(&mut text.line));
        }
        assert_eq!(
            lines,
            [
                "{ b = true, o = { 5 }, m = 0xFF, x = { <2 bytes> } }",
                "{ b = false, o = <none>, m = 0x3, x = { <2 bytes> } }"
            ]
        );
    }
}
