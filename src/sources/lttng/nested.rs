//! Arrays and structures as one text: `[1,2,3]`, `{a=1,b="x"}`.

use crate::ctf::show;
use crate::ctf::{Kind, Node, NodeId, Packed, Visitor, decode_text};
use std::fmt::Write as _;

/// Bytes of such a text; what is beyond is left out, and the text ends in `…`.
const LENGTH: usize = 4096;

/// A text that is being written.
#[derive(Debug, Default)]
pub(super) struct Nested {
    pub(super) text: String,
    /// Levels that are open.
    pub(super) depth: u32,
    /// Something stands before on this level.
    follows: bool,
}

fn at(nodes: &[Node], id: NodeId) -> Option<&Node> {
    nodes.get(usize::try_from(id).ok()?)
}

impl Nested {
    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        (self.depth, self.follows) = (0, false);
    }

    /// No more is written.
    pub(super) fn full(&self) -> bool {
        self.text.len() >= LENGTH
    }

    /// What stands before a value. False: there is no room for it.
    fn value(&mut self, nodes: &[Node], id: NodeId) -> bool {
        if self.full() {
            if !self.text.ends_with('…') {
                self.text.push('…');
            }
            return false;
        }
        if self.follows {
            self.text.push(',');
        }
        self.follows = true;
        let Some(node) = at(nodes, id) else { return true };
        let in_structure = node.parent.and_then(|p| at(nodes, p)).is_some_and(|p| p.kind == Kind::Structure);
        if self.depth > 0 && in_structure {
            self.text.push_str(&node.name);
            self.text.push('=');
        }
        true
    }

    pub(super) fn integer(&mut self, nodes: &[Node], id: NodeId, value: i128) {
        if self.value(nodes, id)
            && let Some(node) = at(nodes, id)
        {
            match node.labels.as_ref().and_then(|labels| labels.first(value)) {
                Some(label) => self.text.push_str(label),
                None => show::integer(value, node.kind, node.base, &mut self.text),
            }
        }
    }

    /// The elements of an array of numbers: what is said of one is said of all.
    pub(super) fn items(&mut self, nodes: &[Node], id: NodeId, items: &Packed<'_>) {
        let Some(node) = at(nodes, id) else { return };
        items.each(id, &mut Items { nested: self, nodes, node });
    }

    pub(super) fn float(&mut self, nodes: &[Node], id: NodeId, value: f64) {
        if self.value(nodes, id) {
            let _ = write!(self.text, "{value}");
        }
    }

    pub(super) fn string(&mut self, nodes: &[Node], id: NodeId, value: &[u8]) {
        if self.value(nodes, id) {
            let encoding =
                if let Some(Kind::Text(encoding)) = at(nodes, id).map(|n| n.kind) { encoding } else { Default::default() };
            let room = LENGTH.saturating_sub(self.text.len());
            let cut = value.get(..room / encoding.unit() * encoding.unit()).unwrap_or(value);
            show::quoted(&decode_text(cut, encoding), &mut self.text);
        }
    }

    pub(super) fn blob(&mut self, nodes: &[Node], id: NodeId, value: &[u8]) {
        if self.value(nodes, id) {
            let room = LENGTH.saturating_sub(self.text.len()) / 2;
            for b in value.iter().take(room) {
                let _ = write!(self.text, "{b:02x}");
            }
            if value.len() > room {
                self.text.push('…');
            }
        }
    }

    pub(super) fn open(&mut self, nodes: &[Node], id: NodeId) {
        let shown = self.value(nodes, id);
        if let Some(bracket) = bracket(nodes, id, ['[', '{']).filter(|_| shown) {
            self.text.push(bracket);
        }
        self.depth += 1;
        self.follows = false;
    }

    pub(super) fn close(&mut self, nodes: &[Node], id: NodeId) {
        if let Some(bracket) = bracket(nodes, id, [']', '}']) {
            self.text.push(bracket);
        }
        self.depth = self.depth.saturating_sub(1);
        self.follows = true;
    }
}

/// Writes elements of an array of numbers.
struct Items<'n> {
    nested: &'n mut Nested,
    nodes: &'n [Node],
    node: &'n Node,
}

impl Items<'_> {
    #[inline]
    fn integer(&mut self, id: NodeId, value: i128) {
        let Self { nested, nodes, node } = self;
        if node.labels.is_some() || nested.full() {
            return nested.integer(nodes, id, value);
        }
        if std::mem::replace(&mut nested.follows, true) {
            nested.text.push(',');
        }
        show::integer(value, node.kind, node.base, &mut nested.text);
    }
}

impl<'a> Visitor<'a> for Items<'_> {
    #[inline]
    fn unsigned(&mut self, id: NodeId, value: u64) {
        self.integer(id, value.into());
    }

    #[inline]
    fn signed(&mut self, id: NodeId, value: i64) {
        self.integer(id, value.into());
    }

    fn float(&mut self, id: NodeId, value: f64) {
        self.nested.float(self.nodes, id, value);
    }

    fn text(&mut self, _: NodeId, _: &'a [u8]) {}
    fn blob(&mut self, _: NodeId, _: &'a [u8]) {}
}

/// Variants and optionals are what they hold.
fn bracket(nodes: &[Node], id: NodeId, [array, structure]: [char; 2]) -> Option<char> {
    match at(nodes, id)?.kind {
        Kind::Array(_) => Some(array),
        Kind::Structure => Some(structure),
        _ => None,
    }
}
