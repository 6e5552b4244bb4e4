//! A slow and simple decoder for comparison with the compiled plans. Only in tests and fuzzing.
//!
//! [`check`] generates a schema and a packet from any bytes, decodes the packet in both ways and
//! asserts that both return the same values and errors.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    missing_docs,
    reason = "only in tests and fuzzing"
)]

mod generator;
mod interpreter;

#[cfg(test)]
mod tests;

use generator::Generator;

use crate::packet::{Event, EventVisitor, Packet};
use crate::plan::NodeId;
use crate::schema::Schema;
use crate::trace::Trace;
use crate::visit::Visitor;

/// A call of a visitor, with the index of the node.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// [`Visitor::unsigned`]
    Unsigned(u32, u64),
    /// [`Visitor::signed`]
    Signed(u32, i64),
    /// [`Visitor::float`], bits
    Float(u32, u64),
    /// [`Visitor::string`]
    Text(u32, Vec<u8>),
    /// [`Visitor::blob`]
    Blob(u32, Vec<u8>),
    /// [`Visitor::open`]
    Open(u32, u64),
    /// [`Visitor::close`]
    Close(u32),
}

/// An event: index of its class, clock, calls.
pub type Told = (usize, u64, Vec<Call>);

/// The decoded contents of a packet, and whether decoding succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Values of the packet context.
    pub context: Vec<Call>,
    /// Events up to the first error.
    pub events: Vec<Told>,
    /// There was no error.
    pub sound: bool,
}

fn index(node: NodeId) -> u32 {
    node.index().try_into().unwrap()
}

/// Collects all calls.
#[derive(Debug, Default)]
pub struct Calls {
    now: Vec<Call>,
    class: Option<(usize, u64)>,
    events: Vec<Told>,
    /// Whether fields are skipped.
    skips: bool,
}

impl<'a> Visitor<'a> for Calls {
    fn unsigned(&mut self, node: NodeId, value: u64) {
        self.now.push(Call::Unsigned(index(node), value));
    }

    fn signed(&mut self, node: NodeId, value: i64) {
        self.now.push(Call::Signed(index(node), value));
    }

    fn float(&mut self, node: NodeId, value: f64) {
        self.now.push(Call::Float(index(node), value.to_bits()));
    }

    fn string(&mut self, node: NodeId, value: &'a [u8]) {
        self.now.push(Call::Text(index(node), value.to_vec()));
    }

    fn blob(&mut self, node: NodeId, value: &'a [u8]) {
        self.now.push(Call::Blob(index(node), value.to_vec()));
    }

    fn open(&mut self, node: NodeId, count: u64) {
        self.now.push(Call::Open(index(node), count));
    }

    fn close(&mut self, node: NodeId) {
        self.now.push(Call::Close(index(node)));
    }
}

impl<'t> EventVisitor<'t, '_> for Calls {
    fn event(&mut self, event: &Event<'t>) -> bool {
        self.now.clear();
        self.class = Some((event.class.index, event.cycles));
        !self.skips
    }

    fn done(&mut self) {
        if let Some((index, cycles)) = self.class.take() {
            self.events.push((index, cycles, std::mem::take(&mut self.now)));
        }
    }

    fn skipped(&mut self) {
        self.done();
    }
}

/// Decodes a packet by the plans, all events at once or one by one.
pub fn by_plan(trace: &Trace, bytes: &[u8], at_once: bool) -> Decoded {
    plan(trace, bytes, Calls::default(), at_once)
}

/// As [`by_plan`] at once, without the fields of events.
pub fn by_plan_skipped(trace: &Trace, bytes: &[u8]) -> Decoded {
    plan(trace, bytes, Calls { skips: true, ..Calls::default() }, true)
}

fn plan(trace: &Trace, bytes: &[u8], mut calls: Calls, at_once: bool) -> Decoded {
    let Ok(mut packet) = Packet::open(trace, bytes, 0) else { return Decoded::default() };
    let mut context = Calls::default();
    let sound = packet.visit_context(&mut context).is_ok();
    assert!(sound, "a context that could be read cannot be told");
    let sound =
        if at_once { packet.read(&mut calls).is_ok() } else { one_by_one(&mut packet, &mut calls) };
    assert!(matches!(packet.peek(), Ok(None)), "something comes behind the end");
    Decoded { context: context.now, events: calls.events, sound }
}

fn one_by_one<'t, 'a>(packet: &mut Packet<'t, 'a>, calls: &mut Calls) -> bool {
    loop {
        match packet.peek() {
            Ok(Some(event)) => EventVisitor::event(calls, &event),
            Ok(None) => return true,
            Err(_) => return false,
        };
        if packet.visit(calls).is_err() {
            return false;
        }
        calls.done();
    }
}

/// Decodes a packet by the field classes alone.
pub fn by_types(schema: &Schema, bytes: &[u8]) -> Decoded {
    interpreter::packet(schema, bytes)
}

/// Runs both decoders on a schema and a packet generated from `bytes`. Returns the number of
/// events.
///
/// # Panics
/// If their results differ.
pub fn check(bytes: &[u8]) -> usize {
    let mut generator = Generator::new(bytes);
    let schema = generator.schema();
    let packet = &generator.packet();
    let trace = match Trace::of(schema.clone()) {
        Ok(trace) => trace,
        Err(fault) => panic!("{fault:?} of a schema that should be sound: {schema:#?}"),
    };
    let mut slowly = by_types(trace.schema(), packet);
    for at_once in [true, false] {
        let fast = by_plan(&trace, packet, at_once);
        assert_eq!(fast, slowly, "plan and types do not agree: {:#?} {packet:x?}", trace.schema());
    }
    slowly.events.iter_mut().for_each(|(.., calls)| calls.clear());
    assert_eq!(by_plan_skipped(&trace, packet), slowly, "{:#?} {packet:x?}", trace.schema());
    slowly.events.len()
}
