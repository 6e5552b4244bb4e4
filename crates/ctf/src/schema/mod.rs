//! The declarations of the metadata, the same for TSDL (CTF 1.8) and JSON (CTF 2).

mod field_class;
mod mappings;

use std::sync::Arc;

pub use field_class::{
    DisplayBase, Encoding, FieldClass, FieldClassKind, FieldLocation, Float, Integer, IntegerKind,
    Length, LocationOrigin, Member, Role, Roles, Structure, Variant,
};
pub(crate) use mappings::disjoint;
pub use mappings::{IntegerRange, Mapping, Mappings};

use crate::ByteOrder;
pub use crate::uuid::Uuid;

/// The dynamic scopes of a packet and of an event, in the order of decoding (CTF 1.8, 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// trace.packet.header
    PacketHeader,
    /// stream.packet.context
    PacketContext,
    /// stream.event.header
    EventHeader,
    /// stream.event.context
    CommonContext,
    /// event.context
    Context,
    /// event.fields
    Payload,
}

impl Scope {
    /// Name of the scope in TSDL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacketHeader => "trace.packet.header",
            Self::PacketContext => "stream.packet.context",
            Self::EventHeader => "stream.event.header",
            Self::CommonContext => "stream.event.context",
            Self::Context => "event.context",
            Self::Payload => "event.fields",
        }
    }

    /// All, in order.
    pub const ALL: [Self; 6] = [
        Self::PacketHeader,
        Self::PacketContext,
        Self::EventHeader,
        Self::CommonContext,
        Self::Context,
        Self::Payload,
    ];
}

/// The language of the metadata. It determines how fields get their roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// CTF 1.8: by their names.
    #[default]
    V1,
    /// CTF 2: by the property `roles`.
    V2,
}

/// A value of the trace's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvValue {
    /// A whole number.
    Integer(i128),
    /// A text.
    Text(Arc<str>),
}

/// A clock class.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockClass {
    /// The name that fields (CTF 1.8) and data stream classes (CTF 2) refer to.
    pub name: Arc<str>,
    /// UUID (CTF 1.8) or `uid` (CTF 2).
    pub uuid: Option<Arc<str>>,
    /// Free text.
    pub description: Option<Arc<str>>,
    /// Cycles per second, never 0.
    pub frequency: u64,
    /// Uncertainty in cycles.
    pub precision: u64,
    /// Seconds from the origin to cycle 0, first part.
    pub offset_seconds: i64,
    /// Cycles from the origin to cycle 0, second part.
    pub offset_cycles: i64,
    /// The origin is 1970-01-01 00:00 UTC.
    pub unix_epoch: bool,
}

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

impl ClockClass {
    /// A clock with a frequency of 1 GHz and the origin 1970.
    #[must_use]
    pub fn new(name: Arc<str>) -> Self {
        Self {
            name,
            uuid: None,
            description: None,
            frequency: 1_000_000_000,
            precision: 0,
            offset_seconds: 0,
            offset_cycles: 0,
            unix_epoch: true,
        }
    }

    /// Nanoseconds from the origin at a value of the clock, rounded down.
    #[must_use]
    #[inline]
    pub fn nanoseconds(&self, cycles: u64) -> i128 {
        let cycles = i128::from(self.offset_cycles) + i128::from(cycles);
        let parts = if self.frequency == 1_000_000_000 {
            cycles
        } else {
            (cycles * SECOND).div_euclid(i128::from(self.frequency.max(1)))
        };
        i128::from(self.offset_seconds) * SECOND + parts
    }
}

/// A data stream class.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DataStreamClass {
    /// The id in packet headers.
    pub id: u64,
    /// Name, in CTF 2 only.
    pub name: Option<Arc<str>>,
    /// CTF 2: index of the default clock among [`Schema::clocks`]. In CTF 1.8 fields refer to the
    /// clock.
    pub clock: Option<usize>,
    /// Field class of stream.packet.context.
    pub packet_context: Option<Arc<FieldClass>>,
    /// Field class of stream.event.header.
    pub event_header: Option<Arc<FieldClass>>,
    /// Field class of stream.event.context.
    pub common_context: Option<Arc<FieldClass>>,
    /// The event record classes, in the order of the metadata.
    pub events: Vec<EventRecordClass>,
    /// CTF 1.8: not declared (yet), but event record classes refer to it.
    pub implicit: bool,
}

/// An event record class.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventRecordClass {
    /// The id in event record headers.
    pub id: u64,
    /// Name, as `provider:event`.
    pub name: Arc<str>,
    /// The tracer's log level, 0 (emergency) to 14 (debug).
    pub log_level: Option<i64>,
    /// URI of the tracer's event model (EMF).
    pub emf_uri: Option<Arc<str>>,
    /// Field class of event.context.
    pub context: Option<Arc<FieldClass>>,
    /// Field class of event.fields.
    pub payload: Option<Arc<FieldClass>>,
}

/// The declarations of a trace so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Schema {
    /// Language of the metadata.
    pub version: Version,
    /// Identity of the trace.
    pub uuid: Option<Uuid>,
    /// CTF 2: identity if it is not a UUID, and name.
    pub name: Option<Arc<str>>,
    /// Byte order of classes without one.
    pub order: Option<ByteOrder>,
    /// The environment, in order.
    pub environment: Vec<(Arc<str>, EnvValue)>,
    /// Clock classes, in the order of the metadata.
    pub clocks: Vec<ClockClass>,
    /// CTF 2: the trace class has been declared.
    pub has_trace_class: bool,
    /// Field class of trace.packet.header.
    pub packet_header: Option<Arc<FieldClass>>,
    /// Data stream classes, in the order of the metadata.
    pub streams: Vec<DataStreamClass>,
    /// CTF 1.8: event record classes whose data stream class is not declared yet, with its id.
    pub orphans: Vec<(u64, EventRecordClass)>,
}

impl Schema {
    /// The value of an environment entry.
    #[must_use]
    pub fn env(&self, key: &str) -> Option<&EnvValue> {
        self.environment.iter().find(|(k, _)| &**k == key).map(|(_, value)| value)
    }
}
