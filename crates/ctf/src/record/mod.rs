//! Events as owned values, for uses that do not need the speed of a visitor.

mod builder;
mod value;

use std::fmt;
use std::sync::Arc;

pub(crate) use builder::RecordBuilder;
pub use value::{Fields, Value};

use crate::trace::EventPlan;

/// An event with copies of its values.
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
    pub packet_context: Arc<Fields>,
    /// The common context, of all event record classes of the stream.
    pub common_context: Fields,
    /// The specific context, of the event record class.
    pub specific_context: Fields,
    /// The payload.
    pub payload: Fields,
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
    pub fn get(&self, name: &str) -> Option<&Value> {
        let [payload, specific, common] =
            [&self.payload, &self.specific_context, &self.common_context];
        [payload, specific, common, &*self.packet_context]
            .into_iter()
            .find_map(|fields| fields.get(name))
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
        let scopes: [&Fields; 3] =
            [&self.packet_context, &self.common_context, &self.specific_context];
        for fields in scopes.into_iter().filter(|fields| !fields.is_empty()) {
            write!(f, " {fields},")?;
        }
        write!(f, " {}", self.payload)
    }
}
