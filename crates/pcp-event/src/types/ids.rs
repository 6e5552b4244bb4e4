//! PCP's metric identifiers, value types and semantics.

/// A metric identifier, as in `pmID` of `pmapi.h`: 9 bits of domain, 12 of cluster, 10 of item; the
/// top bit is 0.
///
/// ```
/// use pcp_event::Pmid;
///
/// let id = Pmid::new(60, 0, 32);
/// assert_eq!(id.to_string(), "60.0.32");
/// assert_eq!((id.domain(), id.cluster(), id.item()), (60, 0, 32));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pmid(pub u32);

impl Pmid {
    /// As `pmID_build(3)`. Excess bits of a field are dropped.
    #[must_use]
    pub const fn new(domain: u32, cluster: u16, item: u16) -> Self {
        Self((domain & 0x1ff) << 22 | (cluster as u32 & 0xfff) << 10 | item as u32 & 0x3ff)
    }
    /// Domain number, 0..=511.
    #[must_use]
    pub const fn domain(self) -> u16 {
        (self.0 >> 22 & 0x1ff) as u16
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

/// As `pmIDStr(3)`: `domain.cluster.item`.
impl std::fmt::Display for Pmid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.domain(), self.cluster(), self.item())
    }
}

/// Value types with PCP's numbers (`PM_TYPE_*` of `pmapi.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ValueType {
    /// `PM_TYPE_32`: 32-bit signed integer.
    I32 = 0,
    /// `PM_TYPE_U32`: 32-bit unsigned integer.
    U32 = 1,
    /// `PM_TYPE_64`: 64-bit signed integer.
    I64 = 2,
    /// `PM_TYPE_U64`: 64-bit unsigned integer.
    U64 = 3,
    /// `PM_TYPE_FLOAT`: 32-bit IEEE float.
    F32 = 4,
    /// `PM_TYPE_DOUBLE`: 64-bit IEEE float.
    F64 = 5,
    /// `PM_TYPE_STRING`: bytes without NUL.
    Text = 6,
    /// `PM_TYPE_AGGREGATE`: opaque bytes.
    Aggregate = 7,
    /// `PM_TYPE_EVENT`: packed event records with times in microseconds.
    Event = 9,
    /// `PM_TYPE_HIGHRES_EVENT`: packed event records with times in nanoseconds.
    HighResEvent = 10,
}

impl ValueType {
    /// The name in the output of `pminfo -d`.
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

/// Value semantics with PCP's numbers (`PM_SEM_*` of `pmapi.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Semantics {
    /// `PM_SEM_COUNTER`: the value grows; tools show its rate.
    Counter = 1,
    /// `PM_SEM_INSTANT`: the value is a level.
    Instant = 3,
    /// `PM_SEM_DISCRETE`: the value changes rarely.
    Discrete = 4,
}

impl Semantics {
    /// The name in the output of `pminfo -d`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Instant => "instant",
            Self::Discrete => "discrete",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pmid_is_pcps() {
        // pmID_build(30, 0, 5), docs/protocols/pcp-events.md section 1
        assert_eq!(Pmid::new(30, 0, 5).0, 0x0780_0005);
        let p = Pmid::new(400, 4095, 1023);
        assert_eq!((p.domain(), p.cluster(), p.item()), (400, 4095, 1023));
    }
}
