//! Values with a role in the packet header and in the packet context.

use super::counter::Counter;
use crate::plan::{Kind, NodeId, Nodes};
use crate::schema::Role;
use crate::visit::Visitor;

/// Collects the values with a role in packet header and context.
pub(super) struct Found<'n, 'a> {
    pub(super) nodes: &'n Nodes,
    pub(super) magic: Option<u64>,
    pub(super) uuid: Option<&'a [u8]>,
    pub(super) stream_class: Option<u64>,
    pub(super) stream: Option<u64>,
    pub(super) packet_size: Option<u64>,
    pub(super) content_size: Option<u64>,
    pub(super) end: Option<Counter>,
    pub(super) sequence: Option<Counter>,
    pub(super) discarded: Option<Counter>,
}

impl<'n> Found<'n, '_> {
    pub(super) const fn new(nodes: &'n Nodes) -> Self {
        Self {
            nodes,
            magic: None,
            uuid: None,
            stream_class: None,
            stream: None,
            packet_size: None,
            content_size: None,
            end: None,
            sequence: None,
            discarded: None,
        }
    }

    /// Bits of the packet; `None` if its context does not have them.
    pub(super) fn packet_bits(&self) -> Option<u64> {
        self.packet_size.or(self.content_size)
    }
}

impl<'a> Visitor<'a> for Found<'_, 'a> {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        let Some(node) = self.nodes.get(node).filter(|n| !n.roles.is_empty()) else { return };
        let bits = if let Kind::Unsigned(bits) = node.kind { bits } else { 0 };
        let counter = Some(Counter { value, bits });
        let has = |role| node.roles.has(role);
        for (is, place) in [
            (has(Role::Magic), &mut self.magic),
            (has(Role::StreamClass), &mut self.stream_class),
            (has(Role::Stream), &mut self.stream),
            (has(Role::PacketSize), &mut self.packet_size),
            (has(Role::ContentSize), &mut self.content_size),
        ] {
            if is {
                *place = Some(value);
            }
        }
        for (is, place) in [
            (has(Role::End), &mut self.end),
            (has(Role::Sequence), &mut self.sequence),
            (has(Role::Discarded), &mut self.discarded),
        ] {
            if is {
                *place = counter;
            }
        }
    }

    fn signed(&mut self, _: NodeId, _: i64) {}
    fn float(&mut self, _: NodeId, _: f64) {}
    fn string(&mut self, _: NodeId, _: &'a [u8]) {}

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        if self.nodes.get(node).is_some_and(|n| n.roles.has(Role::Uuid)) {
            self.uuid = Some(value);
        }
    }
}
