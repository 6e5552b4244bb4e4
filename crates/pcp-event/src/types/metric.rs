//! PCP's identifiers, value types, semantics and units.

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
