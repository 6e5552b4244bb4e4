//! A trace: its metadata as far as it has come, compiled.

use super::error::{Fault, MetadataError, bounded, malformed};
use super::header::Layout;
use super::limits;
use super::metadata::Metadata;
use super::plan::{self, Code, Context, Node, NodeId, Nodes, Outer, Start, Target};
use super::schema::{Clock, EventClass, Schema, Scope, Type, Version};
use crate::read::Order;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Slots before those of events: what events look at in packets and headers.
const FIRST_SLOT: u32 = limits::OUTER_REFERENCES;
/// Event ids up to here are found by a table.
const DENSE: usize = 1 << 12;

/// A scope that many events share.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    ty: Option<(Scope, Arc<Type>)>,
    aligned: u64,
    pub(super) nodes: Nodes,
    pub(super) code: Code,
    /// Slots of what other scopes look at.
    saved: HashMap<NodeId, u32>,
}

impl Layer {
    const fn outer(&self) -> Outer<'_> {
        Outer { nodes: &self.nodes, saved: &self.saved }
    }
}

/// A class of events, ready to decode.
#[derive(Clone, Debug)]
pub struct EventPlan {
    /// Position among the stream class's events; never changes.
    pub index: usize,
    /// Number in event headers.
    pub id: u64,
    /// Name: `provider:event`.
    pub name: Arc<str>,
    /// 0 (emergency) to 14 (debug), as lttng counts.
    pub log_level: Option<i64>,
    /// URI of its model.
    pub emf_uri: Option<Arc<str>>,
    pub(super) nodes: Nodes,
    pub(super) code: Code,
}

impl EventPlan {
    /// All places of its contexts and fields; their positions are what a visitor is told.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes.list
    }

    /// Those with values, with their numbers. Elements of arrays are among them.
    pub fn leaves(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).zip(&self.nodes.list).filter(|(_, node)| node.kind.is_value())
    }

    /// Its scopes and their structures, in the order of decoding.
    #[must_use]
    pub fn scopes(&self) -> &[(Scope, NodeId)] {
        &self.nodes.roots
    }
}

/// A class of streams, ready to decode.
#[derive(Clone, Debug, Default)]
pub struct StreamPlan {
    /// Number in packet headers.
    pub id: u64,
    /// Its clock among [`Schema::clocks`], if it has one.
    pub clock: Option<usize>,
    pub(super) context: Layer,
    pub(super) header: Layer,
    pub(super) layout: Layout,
    events: Vec<EventPlan>,
    /// As of the class.
    implicit: bool,
    dense: Vec<Option<u32>>,
    sparse: HashMap<u64, u32>,
}

impl StreamPlan {
    /// Its classes of events, in the order of the metadata.
    #[must_use]
    pub fn events(&self) -> &[EventPlan] {
        &self.events
    }

    /// Places of the packet context; their positions are what a visitor of it is told.
    #[must_use]
    pub fn context_nodes(&self) -> &[Node] {
        &self.context.nodes.list
    }

    /// The scope of the packet context, if there is one.
    #[must_use]
    pub fn context_scopes(&self) -> &[(Scope, NodeId)] {
        &self.context.nodes.roots
    }

    /// The class of an id.
    #[must_use]
    #[inline]
    pub fn event(&self, id: u64) -> Option<&EventPlan> {
        let index = match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(index) => (*index)?,
            None => *self.sparse.get(&id)?,
        };
        self.events.get(index as usize)
    }

    /// The only class, when headers do not say which.
    pub(super) fn only_event(&self) -> Option<&EventPlan> {
        if let [only] = self.events.as_slice() { Some(only) } else { None }
    }

    fn add(&mut self, plan: EventPlan) {
        let index = u32::try_from(plan.index).unwrap_or(u32::MAX);
        match usize::try_from(plan.id) {
            Ok(id) if id < DENSE => {
                if self.dense.len() <= id {
                    self.dense.resize(id + 1, None);
                }
                if let Some(slot) = self.dense.get_mut(id) {
                    *slot = Some(index);
                }
            }
            _ => {
                self.sparse.insert(plan.id, index);
            }
        }
        self.events.push(plan);
    }
}

/// A trace. Metadata may come while packets are decoded; what was known does not change by it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    metadata: Metadata,
    schema: Schema,
    /// Whether the packet header has been compiled.
    began: bool,
    pub(super) header: Layer,
    streams: Vec<StreamPlan>,
    /// Fields of all classes.
    fields: u64,
    /// Bytes of metadata.
    bytes: u64,
    outer_slots: u32,
    /// Slots that the class with the most needs.
    pub(super) slots: u32,
}

impl Trace {
    /// Without metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Of a schema that did not come as metadata.
    #[cfg(any(test, fuzzing))]
    pub(super) fn of(schema: Schema) -> Result<Self, Fault> {
        let mut trace = Self { schema, ..Self::new() };
        trace.compile().map(|()| trace)
    }

    /// Takes more metadata, in pieces of any size.
    ///
    /// # Errors
    /// [`MetadataError`]: one declaration cannot be used. It is as if it were not there; `bytes` has lost what was read, and
    /// a call with the rest goes on behind it. (Live traces should give up: packets may need what is missing.)
    pub fn metadata(&mut self, bytes: &mut &[u8]) -> Result<(), MetadataError> {
        loop {
            let before = bytes.len();
            let (offset, line) = self.metadata.place();
            let read = self.metadata.declaration(bytes, &mut self.schema);
            self.bytes = self.bytes.saturating_add((before - bytes.len()) as u64);
            bounded("bytes of metadata", self.bytes, limits::METADATA).map_err(|fault| fault.at(offset, line))?;
            if !read? {
                return Ok(());
            }
            self.compile().map_err(|fault| fault.at(offset, line))?;
        }
    }

    /// Whether a declaration has begun and not ended, or a stream class is missing: metadata of a trace that is complete must not end like this.
    #[must_use]
    pub fn unfinished(&self) -> bool {
        self.metadata.unfinished() || !self.schema.orphans.is_empty()
    }

    /// What the metadata has said so far.
    #[must_use]
    pub const fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Classes of streams, in the order of the metadata.
    #[must_use]
    pub fn streams(&self) -> &[StreamPlan] {
        &self.streams
    }

    /// The clock of a class of streams.
    #[must_use]
    pub fn clock(&self, stream: &StreamPlan) -> Option<&Clock> {
        self.schema.clocks.get(stream.clock?)
    }

    /// Compiles what a declaration has added.
    fn compile(&mut self) -> Result<(), Fault> {
        if !self.began
            && let Some(ty) = &self.schema.packet_header
        {
            self.began = true;
            let ty = (Scope::PacketHeader, ty.clone());
            self.header = self.layer(Some(ty), 1 << 20, &[])?;
            if !self.header.nodes.clocks.is_empty() {
                self.header = Layer::default();
                return malformed!("clock in the packet header");
            }
        }
        // A stream class was declared behind its first events.
        if self.streams.iter().zip(&self.schema.streams).any(|(plan, class)| plan.implicit != class.implicit) {
            self.streams.clear();
        }
        while let Some(class) = self.schema.streams.get(self.streams.len()) {
            let implicit = class.implicit;
            let (id, context, header) = (class.id, class.packet_context.clone(), class.event_header.clone());
            match self.stream(id, context, header) {
                Ok(plan) => self.streams.push(StreamPlan { implicit, ..plan }),
                Err(fault) => {
                    self.schema.streams.truncate(self.streams.len());
                    return Err(fault);
                }
            }
        }
        for n in 0..self.streams.len() {
            while let Some(class) = self.next_event(n) {
                if let Err(fault) = self.event(n, &class) {
                    if let Some(class) = self.schema.streams.get_mut(n) {
                        class.events.pop();
                    }
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// The first class of events that has no plan.
    fn next_event(&self, stream: usize) -> Option<EventClass> {
        self.schema.streams.get(stream)?.events.get(self.streams.get(stream)?.events.len()).cloned()
    }

    fn stream(&mut self, id: u64, context: Option<Arc<Type>>, header: Option<Arc<Type>>) -> Result<StreamPlan, Fault> {
        let whole = |layer: &Layer| layer.ty.as_ref().is_none_or(|(_, ty)| ty.whole_bytes());
        let aligned = if whole(&self.header) { 8 } else { 1 };
        let layout = header.as_ref().map_or(Layout::General, |ty| Layout::of(ty, self.schema.order));
        let outer = self.header.clone();
        let context = self.layer(context.map(|ty| (Scope::PacketContext, ty)), aligned, &[&outer])?;
        let header = self.layer(header.map(|ty| (Scope::EventHeader, ty)), 1, &[&outer, &context])?;
        // References of the layers themselves are rare; they are taken with those of the events.
        let mut plan = StreamPlan { id, context, header, layout, ..StreamPlan::default() };
        let clocks = [plan.context.nodes.clocks.clone(), plan.header.nodes.clocks.clone()].concat();
        let stream = self.streams.len();
        plan.clock = self.schema.streams.get(stream).and_then(|class| class.clock);
        plan.clock = self.clock_of(plan.clock, &clocks)?;
        for layer in [Some(plan.context.nodes.clone()), Some(plan.header.nodes.clone())].into_iter().flatten() {
            self.save_outer(&layer, &mut plan)?;
        }
        self.recompile(&mut plan)?;
        Ok(plan)
    }

    /// The nodes of a scope that stands before the events; its code comes with [`Self::recompile`].
    fn layer(&mut self, ty: Option<(Scope, Arc<Type>)>, aligned: u64, outer: &[&Layer]) -> Result<Layer, Fault> {
        let Some((scope, ty)) = ty else { return Ok(Layer::default()) };
        let nodes: Vec<&Nodes> = outer.iter().map(|layer| &layer.nodes).collect();
        let nodes = plan::survey(&Context { schema: &self.schema, outer: &nodes }, &[(scope, &ty)])?;
        self.count(&nodes)?;
        let mut layer = Layer { ty: Some((scope, ty)), aligned, nodes, ..Layer::default() };
        if outer.is_empty() {
            layer.code = self.code(&layer, &[])?;
        }
        Ok(layer)
    }

    fn count(&mut self, nodes: &Nodes) -> Result<(), Fault> {
        let fields = self.fields + nodes.list.len() as u64;
        bounded("fields of a trace", fields, limits::TRACE_FIELDS)?;
        self.fields = fields;
        Ok(())
    }

    fn code(&mut self, layer: &Layer, outer: &[&Layer]) -> Result<Code, Fault> {
        let Some((scope, ty)) = &layer.ty else { return Ok(Code::default()) };
        let start = Start {
            aligned: layer.aligned,
            order: self.schema.order,
            slot: FIRST_SLOT,
            saved: &layer.saved,
            outer: &outer.iter().map(|layer| layer.outer()).collect::<Vec<_>>(),
        };
        let code = plan::compile(&layer.nodes, &[(*scope, ty)], &start)?;
        self.slots = self.slots.max(code.slots);
        Ok(code)
    }

    /// Gives slots to what these nodes look at in the packet and in the event header. True: there are new ones.
    fn save_outer(&mut self, nodes: &Nodes, plan: &mut StreamPlan) -> Result<bool, Fault> {
        let mut new = false;
        for target in nodes.targets.values() {
            let Target::Outer(layer, node) = *target else { continue };
            let layer = match layer {
                0 => &mut self.header,
                1 => &mut plan.context,
                _ => &mut plan.header,
            };
            if let Entry::Vacant(slot) = layer.saved.entry(node) {
                let count = self.outer_slots + 1;
                bounded("references to packets and headers", count.into(), limits::OUTER_REFERENCES.into())?;
                slot.insert(self.outer_slots);
                self.outer_slots = count;
                new = true;
            }
        }
        Ok(new)
    }

    /// Makes the code of what stands before the events, with the slots that are known now.
    fn recompile(&mut self, plan: &mut StreamPlan) -> Result<(), Fault> {
        let header = self.header.clone();
        self.header.code = self.code(&header, &[])?;
        plan.context.code = self.code(&plan.context, &[&header])?;
        plan.header.code = self.code(&plan.header, &[&header, &plan.context])?;
        if !plan.header.saved.is_empty() {
            plan.layout = Layout::General;
        }
        Ok(())
    }

    fn event(&mut self, n: usize, class: &EventClass) -> Result<(), Fault> {
        let Some(mut stream) = self.streams.get_mut(n).map(std::mem::take) else { return Ok(()) };
        let plan = self.event_plan(n, &mut stream, class);
        let plan = plan.map(|plan| stream.add(plan));
        if let Some(slot) = self.streams.get_mut(n) {
            *slot = stream;
        }
        plan
    }

    fn event_plan(&mut self, n: usize, stream: &mut StreamPlan, class: &EventClass) -> Result<EventPlan, Fault> {
        if stream.event(class.id).is_some() {
            return malformed!("event {} of stream {} a second time", class.id, stream.id);
        }
        let common = self.schema.streams.get(n).and_then(|s| s.common_context.clone());
        let scopes: Vec<(Scope, &Arc<Type>)> = [
            (Scope::CommonContext, common.as_ref()),
            (Scope::Context, class.context.as_ref()),
            (Scope::Payload, class.payload.as_ref()),
        ]
        .into_iter()
        .filter_map(|(scope, ty)| Some((scope, ty?)))
        .collect();
        let outer = [&self.header.nodes, &stream.context.nodes, &stream.header.nodes];
        let nodes = plan::survey(&Context { schema: &self.schema, outer: &outer }, &scopes)?;
        self.count(&nodes)?;
        stream.clock = self.clock_of(stream.clock, &nodes.clocks)?;
        if self.save_outer(&nodes, stream)? {
            self.recompile(stream)?;
        }
        // Behind a header of whole bytes that starts at a byte there is a byte.
        let header = stream.header.ty.as_ref().is_some_and(|(_, ty)| ty.whole_bytes() && ty.align() >= 8);
        let outer = [self.header.outer(), stream.context.outer(), stream.header.outer()];
        let start = Start {
            aligned: if header || stream.layout != Layout::General { 8 } else { 1 },
            order: self.schema.order,
            slot: FIRST_SLOT,
            saved: &HashMap::new(),
            outer: &outer,
        };
        let code = plan::compile(&nodes, &scopes, &start)?;
        self.slots = self.slots.max(code.slots);
        Ok(EventPlan {
            index: stream.events.len(),
            id: class.id,
            name: class.name.clone(),
            log_level: class.log_level,
            emf_uri: class.emf_uri.clone(),
            nodes,
            code,
        })
    }

    /// The one clock of a stream, with what its fields say.
    fn clock_of(&mut self, known: Option<usize>, told: &[Option<Arc<str>>]) -> Result<Option<usize>, Fault> {
        let mut clock = known;
        for name in told {
            let found = match (self.schema.version, name, self.schema.clocks.as_slice()) {
                (Version::V2, ..) => match known {
                    Some(clock) => clock,
                    None => return malformed!("time stamps in a stream without a clock"),
                },
                (_, Some(name), clocks) => match clocks.iter().position(|c| c.name == *name) {
                    Some(n) => n,
                    None => return malformed!("no clock {name}"),
                },
                (_, None, []) => {
                    self.schema.clocks.push(Clock::new("default".into()));
                    0
                }
                (_, None, [_]) => 0,
                (_, None, _) => return malformed!("time stamps of no clock, of several"),
            };
            if clock.is_some_and(|clock| clock != found) {
                return malformed!("two clocks in a stream");
            }
            clock = Some(found);
        }
        Ok(clock)
    }

    /// Byte order of types that say none.
    #[must_use]
    pub const fn order(&self) -> Option<Order> {
        self.schema.order
    }
}
