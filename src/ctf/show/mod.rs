//! Values as text, in babeltrace's notation: `{ i = 1, tag = [ [0] = 0x2F ], c = ( "RED" : container = 0 ) }`.

mod number;
mod string;

pub use number::{float, integer};
pub use string::quoted;

use super::plan::{Kind, Node, NodeId};
use super::schema::{Labels, Scope};
use super::text;
use super::visit::Visitor;
use std::fmt::Write as _;

/// Writes what it is told into a line: [`Self::begin`], values, [`Self::end`]. Can be used again and again.
#[derive(Debug, Default)]
pub struct Text<'n> {
    /// The text so far.
    pub line: String,
    /// Several labels of a value in braces, as babeltrace 2.1 shows them; 2.0 does not.
    pub braces: bool,
    nodes: &'n [Node],
    /// Scopes that are to be shown, and how many have begun.
    scopes: &'n [(Scope, NodeId)],
    begun: usize,
    /// A scope is open; how many members it has so far.
    scope: Option<u64>,
    /// A scope stands before on the line.
    follows: bool,
    /// What is open within the scope, and how many members it has so far.
    open: Vec<(NodeId, u64)>,
    /// Levels within something that is not shown.
    hidden: usize,
}

impl<'n> Text<'n> {
    /// Goes on with values of these nodes. `follows`: other scopes stand before on the line.
    pub fn begin(&mut self, nodes: &'n [Node], scopes: &'n [(Scope, NodeId)], follows: bool) {
        let line = std::mem::take(&mut self.line);
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        *self = Self { line, braces: self.braces, nodes, scopes, follows, open, ..Self::default() };
    }

    /// Closes the last scope and shows those that are empty. True: there is at least one on the line.
    pub fn end(&mut self) -> bool {
        self.enter(self.scopes.len());
        self.follows
    }

    fn node(&self, id: NodeId) -> Option<&'n Node> {
        self.nodes.get(usize::try_from(id).ok()?)
    }

    /// Begins scopes up to the one of this number.
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

    /// Name and punctuation before a value; `None`: it is not shown.
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
        if let Some(members) = self.open.last_mut().map(|(_, members)| members).or(self.scope.as_mut()) {
            if !parent.is_some_and(|p| matches!(p.kind, Kind::Variant | Kind::Optional)) {
                self.line.push_str(if *members == 0 { " " } else { ", " });
                let _ = if in_array { write!(self.line, "[{members}] = ") } else { write!(self.line, "{} = ", node.name) };
            }
            *members += 1;
        }
        Some(node)
    }

    fn labels(&mut self, labels: &Labels, value: i128) {
        let mut names: Vec<_> = labels.of(value).collect();
        names.sort();
        let braces = self.braces && names.len() > 1;
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

    fn number(&mut self, id: NodeId, value: i128) {
        let Some(node) = self.before(id) else { return };
        match (&node.labels, node.kind) {
            (_, Kind::Boolean(_)) => self.line.push_str(if value == 0 { "false" } else { "true" }),
            (Some(labels), Kind::Unsigned(_) | Kind::Signed(_)) => {
                self.line.push_str("( ");
                self.labels(labels, value);
                self.line.push_str(" : container = ");
                integer(value, node.kind, node.base, &mut self.line);
                self.line.push_str(" )");
            }
            _ => integer(value, node.kind, node.base, &mut self.line),
        }
    }
}

impl<'a> Visitor<'a> for Text<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.number(node, value.into());
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        self.number(node, value.into());
    }

    fn float(&mut self, node: NodeId, value: f64) {
        if self.before(node).is_some() {
            float(value, &mut self.line);
        }
    }

    fn text(&mut self, node: NodeId, value: &'a [u8]) {
        if let Some(node) = self.before(node) {
            let encoding = if let Kind::Text(encoding) = node.kind { encoding } else { Default::default() };
            quoted(&text::decode(value, encoding), &mut self.line);
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
