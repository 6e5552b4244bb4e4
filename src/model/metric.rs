//! What PCP is told about a metric: name, type, semantics, units, where its values are.

use std::borrow::Cow;

/// PCP metric identifier: domain 9 bits, cluster 12, item 10, top bit 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pmid(pub u32);

impl Pmid {
    /// As `pmID_build(3)`. Bits that do not fit are cut.
    #[must_use]
    pub const fn new(domain: u32, cluster: u16, item: u16) -> Self {
        Self((domain & 0x1ff) << 22 | (cluster as u32 & 0xfff) << 10 | item as u32 & 0x3ff)
    }
    /// Cluster number, 0..=4095.
    #[must_use]
    pub const fn cluster(self) -> u16 {
        (self.0 >> 10 & 0xfff) as u16
    }
    /// Item number, 0..=1023.
    #[must_use]
    pub const fn item(self) -> u16 {
        (self.0 & 0x3ff) as u16
    }
}

/// Value types with PCP's numbers (`PM_TYPE_*` of pmapi.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ValueType {
    /// 32-bit signed
    I32 = 0,
    /// 32-bit unsigned
    U32 = 1,
    /// 64-bit signed
    I64 = 2,
    /// 64-bit unsigned
    U64 = 3,
    /// 32-bit float
    F32 = 4,
    /// 64-bit float
    F64 = 5,
    /// string
    Text = 6,
    /// bytes of no further meaning: only in event records
    Aggregate = 7,
    /// packed event records, microseconds
    Event = 9,
    /// packed event records, nanoseconds
    HighResEvent = 10,
}

impl ValueType {
    /// The name that `pminfo -d` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::I32 => "32",
            Self::U32 => "U32",
            Self::I64 => "64",
            Self::U64 => "U64",
            Self::F32 => "FLOAT",
            Self::F64 => "DOUBLE",
            Self::Text => "STRING",
            Self::Aggregate => "AGGREGATE",
            Self::Event => "EVENT",
            Self::HighResEvent => "HIGHRES_EVENT",
        }
    }
}

/// Value semantics with PCP's numbers (`PM_SEM_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Semantics {
    /// grows; tools show the rate
    Counter = 1,
    /// a level
    Instant = 3,
    /// changes seldom
    Discrete = 4,
}

impl Semantics {
    /// The name that `pminfo -d` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Instant => "instant",
            Self::Discrete => "discrete",
        }
    }
}

/// Units: one dimension or none, as this PMDA needs no more. `pack` gives PCP's bit field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Units {
    /// dimensionless
    None,
    /// `PM_SPACE_BYTE`
    Bytes,
    /// `PM_TIME_NSEC`
    Nanoseconds,
    /// `PM_TIME_MSEC`
    Milliseconds,
    /// `PM_TIME_SEC`
    Seconds,
    /// `PM_COUNT_ONE`
    Count,
}

impl Units {
    /// The 32 bits of `pmUnits` as read on a little-endian host: dimSpace 28, dimTime 24, dimCount
    /// 20, scaleSpace 16, scaleTime 12, scaleCount 8 (specs/pcp-events.md section 7; the same
    /// in PCP 6 and 7).
    #[must_use]
    pub const fn pack(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Bytes => 1 << 28,
            Self::Nanoseconds => 1 << 24,
            Self::Milliseconds => 1 << 24 | 2 << 12,
            Self::Seconds => 1 << 24 | 3 << 12,
            Self::Count => 1 << 20,
        }
    }

    /// The text that README and persisted descriptions use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bytes => "byte",
            Self::Nanoseconds => "nanosec",
            Self::Milliseconds => "millisec",
            Self::Seconds => "sec",
            Self::Count => "count",
        }
    }
}

/// Which instance domain a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// no instances: the PMDA itself, or a parameter of event records
    Own,
    /// one instance for each peer of every source
    Agents,
    /// one instance for each thing that the metric's source watches (a Mono process, a pod, a
    /// session)
    Source,
    /// one instance for each row of the source's table with this position: methods, streams,
    /// buckets
    Table(u8),
}

/// The leaves below every `event.<kind>` node (design: "EV").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventLeaf {
    /// packed array, microseconds
    Records,
    /// packed array, nanoseconds
    HighResRecords,
    /// records ever appended
    Count,
    /// packed bytes ever appended
    Bytes,
    /// records dropped unseen
    Lost,
    /// bytes held now
    Memory,
    /// contexts with a cursor
    Clients,
    /// newest rows as CSV
    Table,
    /// which records this client wants: text, storable
    Filter,
    /// the newest filter of this user that was refused
    FilterError,
    /// parameters cut or left out
    Truncated,
}

/// Where the value of a metric is found when it is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// a statistic of the PMDA itself; the number is the row in `store::self_stats`
    SelfStat,
    /// an atomic cell of the instance; its column is the item number
    Cell,
    /// as `Cell`, of a value that is about now: it goes when the peer is silent or gone, whatever
    /// stays of its source
    Recent,
    /// a text of the instance; its column is the item number
    Text,
    /// an atomic cell of the instance, column given: dynamic metrics
    Column(u16),
    /// nanoseconds since the instance's last message
    Idle,
    /// a leaf of the event stream with this position in the source's table
    Event(u8, EventLeaf),
    /// request and answer of a control metric: `pmstore` asks, fetch shows the last answer. Of an
    /// instance, or (`Area::Own`) of the source as a whole
    Control(super::ControlVerb),
    /// parameter of event records: exists for name and type only
    Param,
}

/// One metric of a static table. The full name is `apm.<prefix>.<name>`.
#[derive(Clone, Debug)]
pub struct MetricDef {
    /// Below the source's prefix: `samples`, `event.sample.count`.
    pub name: String,
    /// PMID cluster.
    pub cluster: u16,
    /// PMID item.
    pub item: u16,
    /// Value type.
    pub ty: ValueType,
    /// Semantics.
    pub sem: Semantics,
    /// Units.
    pub units: Units,
    /// Instance domain.
    pub area: Area,
    /// Where the value is.
    pub origin: Origin,
    /// One line of help.
    pub oneline: Cow<'static, str>,
    /// The full help text.
    pub help: Cow<'static, str>,
}

/// A kind of event stream of a source.
#[derive(Clone, Copy, Debug)]
pub struct EventKind {
    /// Name below `event.`.
    pub name: &'static str,
    /// PMID cluster of its leaves.
    pub cluster: u16,
    /// What one record is, one line: goes into the help of every leaf.
    pub what: &'static str,
    /// More about the records and their parameters.
    pub help: &'static str,
}

/// A metric that a peer brought: description in PCP's terms, made by the source from the peer's
/// words.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSpec {
    /// What the peer calls it; the identity over restarts: `GC/Minor GC collections`.
    pub key: String,
    /// Name components below the source's dynamic node, already sanitised:
    /// `gc.minor_gc_collections`.
    pub path: String,
    /// Value type, the same for all peers.
    pub ty: ValueType,
    /// Semantics.
    pub sem: Semantics,
    /// Units.
    pub units: Units,
    /// One line of help.
    pub oneline: String,
    /// The full help text.
    pub help: String,
    /// Item labels: name and value.
    pub labels: Vec<(&'static str, String)>,
    /// What the source needs to make this spec again after a restart; one line without control
    /// characters.
    pub persist: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pmid_is_pcps() {
        // pmID_build(30, 0, 5), specs/pcp-events.md section 1
        assert_eq!(Pmid::new(30, 0, 5).0, 0x0780_0005);
        let p = Pmid::new(400, 4095, 1023);
        assert_eq!((p.cluster(), p.item()), (4095, 1023));
    }
}
