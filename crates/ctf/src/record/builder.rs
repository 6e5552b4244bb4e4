//! Builds owned values from the calls of a visitor.

use super::value::{Fields, Value};
use crate::plan::{Kind, Node, NodeId};
use crate::schema::{Encoding, Scope};
use crate::string;
use crate::visit::Visitor;

/// Collects the values of one event, or of one packet context.
#[derive(Debug, Default)]
pub(crate) struct RecordBuilder<'n> {
    nodes: &'n [Node],
    scopes: Vec<(Scope, Fields)>,
    /// Members of the open compound fields.
    open: Vec<Fields>,
}

impl<'n> RecordBuilder<'n> {
    /// Clears the builder for values of these nodes.
    pub(crate) fn begin(&mut self, nodes: &'n [Node]) {
        self.nodes = nodes;
        self.scopes.clear();
        self.open.clear();
    }

    /// Moves the values of a scope out.
    pub(crate) fn take(&mut self, scope: Scope) -> Fields {
        let found = self.scopes.iter_mut().find(|(s, _)| *s == scope);
        found.map(|(_, fields)| std::mem::take(fields)).unwrap_or_default()
    }

    fn node(&self, id: NodeId) -> Option<&'n Node> {
        self.nodes.get(id.index())
    }

    fn put(&mut self, id: NodeId, value: impl FnOnce(&Node) -> Value) {
        let Some(node) = self.node(id).filter(|node| !node.hidden) else { return };
        let member = (node.name.clone(), value(node));
        if let Some(open) = self.open.last_mut() {
            open.0.push(member);
            return;
        }
        match self.scopes.iter_mut().find(|(scope, _)| *scope == node.scope) {
            Some((_, fields)) => fields.0.push(member),
            None => self.scopes.push((node.scope, Fields(vec![member]))),
        }
    }

    fn integer(&mut self, id: NodeId, value: i128, plain: Value) {
        self.put(id, |node| match (&node.mappings, node.kind) {
            (_, Kind::Boolean(_)) => Value::Boolean(value != 0),
            (Some(mappings), Kind::Unsigned(_) | Kind::Signed(_)) => {
                Value::Enumeration(value, mappings.first(value).cloned())
            }
            _ => plain,
        });
    }
}

impl<'a> Visitor<'a> for RecordBuilder<'_> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.integer(node, value.into(), Value::Unsigned(value));
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        self.integer(node, value.into(), Value::Signed(value));
    }

    fn float(&mut self, node: NodeId, value: f64) {
        self.put(node, |_| Value::Float(value));
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.put(node, |node| {
            let encoding =
                if let Kind::String(encoding) = node.kind { encoding } else { Encoding::default() };
            Value::String(string::decode(value, encoding).into_owned())
        });
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.put(node, |_| Value::Blob(value.to_vec()));
    }

    fn open(&mut self, _: NodeId, _: u64) {
        self.open.push(Fields::default());
    }

    fn close(&mut self, node: NodeId) {
        let Some(members) = self.open.pop() else { return };
        self.put(node, |node| match node.kind {
            Kind::Array(_) => Value::Array(members.0.into_iter().map(|(_, value)| value).collect()),
            Kind::Variant | Kind::Optional => {
                members.0.into_iter().next().map_or(Value::Absent, |(_, value)| value)
            }
            _ => Value::Structure(members),
        });
    }
}
