//! Events as copied values, for uses that do not need the speed of a visitor.

mod flat;
mod value;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use flat::Flat;
pub use value::{Elements, Fields, Value};

use crate::plan::{Node, NodeId};
use crate::schema::Scope;
use crate::trace::EventPlan;

/// The root structures of the scopes that a class has, in the order of their nodes.
type Scopes = [(Scope, NodeId)];

/// The nodes of a scope: from its root structure up to that of the next one.
fn of(scopes: &Scopes, scope: Scope) -> (Option<NodeId>, Option<NodeId>) {
    let at = scopes.iter().position(|(s, _)| *s == scope);
    let root = |at: Option<usize>| scopes.get(at?).map(|(_, root)| *root);
    (root(at), root(at.map(|at| at + 1)))
}

/// The values of a packet context.
#[derive(Debug, Default)]
pub(crate) struct Context<'t> {
    pub(crate) nodes: &'t [Node],
    pub(crate) scopes: &'t [(Scope, NodeId)],
    pub(crate) values: Flat<'t>,
}

/// The values of some events, and the packet context of each stream, by its number.
#[derive(Debug, Default)]
pub(crate) struct Batch<'t> {
    pub(crate) values: Flat<'t>,
    pub(crate) contexts: Vec<Arc<Context<'t>>>,
}

/// An event with copies of its values. Names are those of the trace.
///
/// The values of events that are read at once are in memory that they share: a record that is kept
/// keeps up to 64 KiB of other ones, or one larger event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record<'t> {
    /// The event record class.
    pub class: &'t EventPlan,
    /// The number of the stream, see [`Reader::stream`](crate::fs::Reader::stream).
    pub stream: usize,
    /// The clock of the stream, in cycles.
    pub cycles: u64,
    /// Nanoseconds from the origin of the clock, usually 1970-01-01; `None`: the stream has no
    /// clock.
    pub nanoseconds: Option<i128>,
    /// The values of this event and of others.
    pub(crate) batch: Arc<Batch<'t>>,
    /// Which of them are this event's.
    pub(crate) items: Range<usize>,
}

impl Record<'_> {
    /// The name of the event: `provider:event`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.class.name
    }

    /// The first field with this name of the payload, the specific context, the common context and
    /// the packet context.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'_>> {
        let scopes =
            [Self::payload, Self::specific_context, Self::common_context, Self::packet_context];
        scopes.iter().find_map(|fields| fields(self).get(name))
    }

    fn scope(&self, scope: Scope) -> Fields<'_> {
        let scope = of(self.class.scopes(), scope);
        Fields(self.batch.values.view(self.class.nodes(), self.items.clone(), scope))
    }

    /// The packet context.
    #[must_use]
    pub fn packet_context(&self) -> Fields<'_> {
        let Some(context) = self.batch.contexts.get(self.stream) else { return Fields::default() };
        let Context { nodes, scopes, values } = &**context;
        Fields(values.view(nodes, values.items(), of(scopes, Scope::PacketContext)))
    }

    /// The common context, of all event record classes of the stream.
    #[must_use]
    pub fn common_context(&self) -> Fields<'_> {
        self.scope(Scope::CommonContext)
    }

    /// The specific context, of the event record class.
    #[must_use]
    pub fn specific_context(&self) -> Fields<'_> {
        self.scope(Scope::Context)
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> Fields<'_> {
        self.scope(Scope::Payload)
    }
}

/// `1514347074.563030002 provider:event: { cpu_id = 3 }, { count = 1 }`
impl fmt::Display for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nanoseconds {
            Some(time) => write!(
                f,
                "{}.{:09} ",
                time.div_euclid(1_000_000_000),
                time.rem_euclid(1_000_000_000)
            )?,
            None => write!(f, "{} ", self.cycles)?,
        }
        write!(f, "{}:", self.name())?;
        let scopes = [self.packet_context(), self.common_context(), self.specific_context()];
        for fields in scopes.into_iter().filter(|fields| !fields.is_empty()) {
            write!(f, " {fields},")?;
        }
        write!(f, " {}", self.payload())
    }
}
