//! Compiles new classes of the schema into plans.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::Trace;
use super::plans::{EventPlan, ScopePlan, StreamPlan};
use crate::error::{DeclarationError, bounded, malformed};
use crate::limits;
use crate::plan::Layout;
use crate::plan::{self, Code, Context, Nodes, Start, Target};
use crate::schema::{
    ClockClass, DataStreamClass, EventRecordClass, FieldClass, Schema, Scope, Version,
};

/// Number of slots before those of events: for packet and header fields that events refer to.
const FIRST_SLOT: u32 = limits::OUTER_REFERENCES;

/// A scope and its field class.
type Typed = (Scope, Arc<FieldClass>);

impl Trace {
    /// Whether some classes of the schema have no plans yet.
    pub(super) fn waits(&self) -> bool {
        let events = |(plan, class): (&StreamPlan, &DataStreamClass)| {
            plan.events().len() < class.events.len()
        };
        self.streams.len() < self.schema.streams.len()
            || self.streams.iter().zip(&self.schema.streams).any(events)
    }

    /// Compiles the new classes of a declaration. Classes with errors are removed from the schema;
    /// the first error is returned.
    pub(super) fn compile(&mut self) -> Result<(), DeclarationError> {
        if self.schema.version == Version::V1 && self.schema.order.is_none() {
            // Classes may need the byte order of the trace, which is not declared yet.
            return Ok(());
        }
        if let Some(class) = self.schema.packet_header.clone().filter(|_| !self.began) {
            // No packet can be decoded without the header, so every declaration repeats the error.
            self.header = self.packet_header((Scope::PacketHeader, class))?;
            self.began = true;
        }
        if self
            .streams
            .iter()
            .zip(&self.schema.streams)
            .any(|(plan, class)| plan.implicit != class.implicit)
        {
            // A data stream class was declared after its first events: compiles all again.
            self.streams.clear();
            (self.fields, self.names) = (0, 0);
        }
        let mut told = Ok(());
        while let Some(class) = self.schema.streams.get(self.streams.len()).cloned() {
            match self.stream(&class) {
                Ok(plan) => self.streams.push(plan),
                Err(fault) => {
                    self.schema.streams.remove(self.streams.len());
                    told = told.and(Err(fault));
                }
            }
        }
        for n in 0..self.streams.len() {
            while let Some((at, class)) = self.next_event(n) {
                let Err(fault) = self.event(n, &class) else { continue };
                if let Some(class) = self.schema.streams.get_mut(n) {
                    class.events.remove(at);
                }
                told = told.and(Err(fault));
            }
        }
        told
    }

    /// The first event record class without a plan.
    fn next_event(&self, stream: usize) -> Option<(usize, EventRecordClass)> {
        let at = self.streams.get(stream)?.events().len();
        Some((at, self.schema.streams.get(stream)?.events.get(at)?.clone()))
    }

    fn packet_header(&mut self, class: Typed) -> Result<ScopePlan, DeclarationError> {
        let mut layer = self.layer(Some(class), 1 << 20, &[])?;
        if !layer.nodes.clocks.is_empty() {
            return malformed!("clock in the packet header");
        }
        layer.code = self.code(&layer, &[])?;
        Ok(layer)
    }

    fn stream(&mut self, class: &DataStreamClass) -> Result<StreamPlan, DeclarationError> {
        // Taken out while the other scopes are compiled, since they refer to it.
        let mut packet = std::mem::take(&mut self.header);
        let plan = self.stream_plan(class, &mut packet);
        self.header = packet;
        plan
    }

    fn stream_plan(
        &mut self,
        class: &DataStreamClass,
        packet: &mut ScopePlan,
    ) -> Result<StreamPlan, DeclarationError> {
        let typed =
            |scope, class: &Option<Arc<FieldClass>>| class.clone().map(|class| (scope, class));
        let whole = packet.class.as_ref().is_none_or(|(_, class)| class.whole_bytes());
        let context = typed(Scope::PacketContext, &class.packet_context);
        let context = self.layer(context, if whole { 8 } else { 1 }, &[packet])?;
        let header =
            self.layer(typed(Scope::EventHeader, &class.event_header), 1, &[packet, &context])?;
        let clock = self.clock_of(class.clock, &context.nodes.clocks)?;
        let clock = self.clock_of(clock, &header.nodes.clocks)?;
        let mut plan = StreamPlan {
            id: class.id,
            implicit: class.implicit,
            clock,
            context,
            header,
            ..StreamPlan::default()
        };
        let targets = [&plan.context, &plan.header].map(|layer| layer.nodes.outer_targets());
        self.save(&targets.concat(), packet, &mut plan)?;
        self.recompile(packet, &mut plan)?;
        if plan.header.saved.is_empty() {
            plan.layout = class
                .event_header
                .as_ref()
                .map_or(Layout::General, |class| Layout::of(class, self.schema.order));
        }
        Ok(plan)
    }

    /// The nodes of a scope before the events; [`Self::recompile`] compiles its code.
    fn layer(
        &mut self,
        class: Option<Typed>,
        aligned: u64,
        outer: &[&ScopePlan],
    ) -> Result<ScopePlan, DeclarationError> {
        let Some((scope, class)) = class else { return Ok(ScopePlan::default()) };
        let outer: Vec<&Nodes> = outer.iter().map(|layer| &layer.nodes).collect();
        let nodes = self.survey(&outer, &[(scope, &class)])?;
        Ok(ScopePlan { class: Some((scope, class)), aligned, nodes, ..ScopePlan::default() })
    }

    /// The nodes of scopes, checked against the limits of the trace.
    fn survey(
        &mut self,
        outer: &[&Nodes],
        scopes: &[(Scope, &Arc<FieldClass>)],
    ) -> Result<Nodes, DeclarationError> {
        let nodes = plan::survey(&Context { schema: &self.schema, outer }, scopes)?;
        let fields = self.fields + nodes.list.len() as u64;
        let names = self.names + nodes.names;
        bounded("fields of a trace", fields, limits::TRACE_FIELDS)?;
        bounded("bytes of field names of a trace", names, limits::TRACE_NAMES)?;
        (self.fields, self.names) = (fields, names);
        Ok(nodes)
    }

    fn code(&mut self, layer: &ScopePlan, outer: &[&ScopePlan]) -> Result<Code, DeclarationError> {
        let Some((scope, class)) = &layer.class else { return Ok(Code::default()) };
        let outer: Vec<_> = outer.iter().map(|layer| layer.outer()).collect();
        let (aligned, order) = (layer.aligned, self.schema.order);
        let start = Start { aligned, order, slot: FIRST_SLOT, saved: &layer.saved, outer: &outer };
        let code = plan::compile(&layer.nodes, &[(*scope, class)], &start)?;
        self.slots = self.slots.max(code.slots);
        Ok(code)
    }

    /// Assigns slots to the fields of packet and event record header that other scopes refer to.
    /// `true`: new slots were assigned.
    fn save(
        &mut self,
        targets: &[Target],
        packet: &mut ScopePlan,
        plan: &mut StreamPlan,
    ) -> Result<bool, DeclarationError> {
        let mut new = false;
        for target in targets {
            let Target::Outer(layer, node) = *target else { continue };
            let layer = match layer {
                0 => &mut *packet,
                1 => &mut plan.context,
                _ => &mut plan.header,
            };
            if let Entry::Vacant(slot) = layer.saved.entry(node) {
                let count = self.outer_slots + 1;
                bounded(
                    "references to packets and headers",
                    count.into(),
                    limits::OUTER_REFERENCES.into(),
                )?;
                slot.insert(self.outer_slots);
                self.outer_slots = count;
                new = true;
            }
        }
        Ok(new)
    }

    /// Compiles the scopes before the events with the slots assigned so far.
    fn recompile(
        &mut self,
        packet: &mut ScopePlan,
        plan: &mut StreamPlan,
    ) -> Result<(), DeclarationError> {
        packet.code = self.code(packet, &[])?;
        plan.context.code = self.code(&plan.context, &[packet])?;
        plan.header.code = self.code(&plan.header, &[packet, &plan.context])?;
        if !plan.header.saved.is_empty() {
            plan.layout = Layout::General;
        }
        Ok(())
    }

    fn event(&mut self, n: usize, class: &EventRecordClass) -> Result<(), DeclarationError> {
        let Some(mut stream) = self.streams.get_mut(n).map(std::mem::take) else { return Ok(()) };
        let mut packet = std::mem::take(&mut self.header);
        let plan = self.event_plan(n, &mut packet, &mut stream, class);
        let told = plan.map(|plan| stream.add(plan));
        self.header = packet;
        if let Some(slot) = self.streams.get_mut(n) {
            *slot = stream;
        }
        told
    }

    fn event_plan(
        &mut self,
        n: usize,
        packet: &mut ScopePlan,
        stream: &mut StreamPlan,
        class: &EventRecordClass,
    ) -> Result<EventPlan, DeclarationError> {
        if stream.event(class.id).is_some() {
            return malformed!("event {} of stream {} a second time", class.id, stream.id);
        }
        let common = self.schema.streams.get(n).and_then(|s| s.common_context.clone());
        let scopes: Vec<(Scope, &Arc<FieldClass>)> = [
            (Scope::CommonContext, common.as_ref()),
            (Scope::Context, class.context.as_ref()),
            (Scope::Payload, class.payload.as_ref()),
        ]
        .into_iter()
        .filter_map(|(scope, class)| Some((scope, class?)))
        .collect();
        let nodes =
            self.survey(&[&packet.nodes, &stream.context.nodes, &stream.header.nodes], &scopes)?;
        stream.clock = self.clock_of(stream.clock, &nodes.clocks)?;
        if self.save(&nodes.outer_targets(), packet, stream)? {
            self.recompile(packet, stream)?;
        }
        // A header of whole bytes that starts at a byte also ends at one.
        let header = stream
            .header
            .class
            .as_ref()
            .is_some_and(|(_, class)| class.whole_bytes() && class.align() >= 8);
        let aligned = if header || stream.layout != Layout::General { 8 } else { 1 };
        let outer = [packet.outer(), stream.context.outer(), stream.header.outer()];
        let (order, saved) = (self.schema.order, HashMap::new());
        let code = plan::compile(
            &nodes,
            &scopes,
            &Start { aligned, order, slot: FIRST_SLOT, saved: &saved, outer: &outer },
        )?;
        self.slots = self.slots.max(code.slots);
        Ok(EventPlan {
            index: stream.events().len(),
            id: class.id,
            name: class.name.clone(),
            log_level: class.log_level,
            emf_uri: class.emf_uri.clone(),
            nodes,
            code,
        })
    }

    /// The only clock of a stream, from its class and its fields.
    fn clock_of(
        &mut self,
        known: Option<usize>,
        told: &[Option<Arc<str>>],
    ) -> Result<Option<usize>, DeclarationError> {
        let mut clock = known;
        for name in told {
            let found = clock_named(&mut self.schema, known, name.as_ref())?;
            if clock.is_some_and(|clock| clock != found) {
                return malformed!("two clocks in a stream");
            }
            clock = Some(found);
        }
        Ok(clock)
    }
}

/// The index of the clock of a field, by the clock's name if the field has one.
fn clock_named(
    schema: &mut Schema,
    known: Option<usize>,
    name: Option<&Arc<str>>,
) -> Result<usize, DeclarationError> {
    match (schema.version, name, schema.clocks.as_slice()) {
        (Version::V2, ..) => {
            known.map_or_else(|| malformed!("time stamps in a stream without a clock"), Ok)
        }
        (_, Some(name), clocks) => {
            let found = clocks.iter().position(|c| c.name == *name);
            found.map_or_else(|| malformed!("no clock {name}"), Ok)
        }
        // As babeltrace does for old tracers.
        (_, None, []) => {
            schema.clocks.push(ClockClass::new("default".into()));
            Ok(0)
        }
        (_, None, [_]) => Ok(0),
        (_, None, _) => malformed!("time stamps of no clock, of several"),
    }
}
