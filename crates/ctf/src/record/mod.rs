//! Events as copied values, for uses that do not need the speed of a visitor.

mod flat;
mod value;

use std::fmt;
use std::sync::Arc;

pub(crate) use flat::Flat;
pub use value::{Elements, Fields, Value};

use crate::schema::Scope;
use crate::trace::EventPlan;

/// An event with copies of its values. Names are those of the trace.
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
    /// The packet context, shared by the events of a packet.
    pub(crate) packet: Arc<Flat<'t>>,
    pub(crate) values: Flat<'t>,
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

    /// The packet context.
    #[must_use]
    pub fn packet_context(&self) -> Fields<'_> {
        Fields(self.packet.scope(Scope::PacketContext))
    }

    /// The common context, of all event record classes of the stream.
    #[must_use]
    pub fn common_context(&self) -> Fields<'_> {
        Fields(self.values.scope(Scope::CommonContext))
    }

    /// The specific context, of the event record class.
    #[must_use]
    pub fn specific_context(&self) -> Fields<'_> {
        Fields(self.values.scope(Scope::Context))
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> Fields<'_> {
        Fields(self.values.scope(Scope::Payload))
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
