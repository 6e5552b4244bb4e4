//! Units of metrics.

/// Units of a metric. [`Units::fields`] has the values for `pmUnits` of `pmapi.h`, a C bit field whose
/// bit order depends on the byte order of the host.
///
/// ```
/// use pcp_event::{UnitFields, Units};
///
/// let fields = Units::Milliseconds.fields();
/// assert_eq!((fields.dim_time, fields.scale_time), (1, 2));
/// assert_eq!(fields.dim_space, 0);
///
/// // Any others, here Kbyte / sec.
/// let rate = Units::Other(UnitFields::NONE.space(1, 1).time(-1, 3));
/// assert_eq!(rate.fields().scale_space, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Units {
    /// No dimension.
    None,
    /// Space in bytes (`PM_SPACE_BYTE`).
    Bytes,
    /// Time in nanoseconds (`PM_TIME_NSEC`).
    Nanoseconds,
    /// Time in milliseconds (`PM_TIME_MSEC`).
    Milliseconds,
    /// Time in seconds (`PM_TIME_SEC`).
    Seconds,
    /// Number of events (`PM_COUNT_ONE`).
    Count,
    /// Number of events in a second.
    CountPerSecond,
    /// Any others.
    Other(UnitFields),
}

/// The fields of `pmUnits`, by their C names. A scale is used only if its dimension is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UnitFields {
    /// `dimSpace`: exponent of space.
    pub dim_space: i8,
    /// `dimTime`: exponent of time.
    pub dim_time: i8,
    /// `dimCount`: exponent of count.
    pub dim_count: i8,
    /// `scaleSpace`: `PM_SPACE_*`.
    pub scale_space: u8,
    /// `scaleTime`: `PM_TIME_*`.
    pub scale_time: u8,
    /// `scaleCount`: a power of ten.
    pub scale_count: i8,
}

impl UnitFields {
    /// No dimension.
    pub const NONE: Self = Self {
        dim_space: 0,
        dim_time: 0,
        dim_count: 0,
        scale_space: 0,
        scale_time: 0,
        scale_count: 0,
    };

    /// The same with an exponent of space and its `PM_SPACE_*`: 0 bytes, 1 Kbyte, 2 Mbyte … 6
    /// Ebyte. Fields have 4 bits: exponents and powers of ten are -8 to 7, other scales 0 to 15.
    #[must_use]
    pub const fn space(self, exponent: i8, scale: u8) -> Self {
        Self { dim_space: exponent, scale_space: scale, ..self }
    }

    /// The same with an exponent of time and its `PM_TIME_*`: 0 nanoseconds, 1 microseconds, 2
    /// milliseconds, 3 seconds, 4 minutes, 5 hours.
    #[must_use]
    pub const fn time(self, exponent: i8, scale: u8) -> Self {
        Self { dim_time: exponent, scale_time: scale, ..self }
    }

    /// The same with an exponent of count and its scale, a power of ten.
    #[must_use]
    pub const fn count(self, exponent: i8, scale: i8) -> Self {
        Self { dim_count: exponent, scale_count: scale, ..self }
    }
}

impl Units {
    /// Dimensions and scales as in `pmUnits`.
    #[must_use]
    pub const fn fields(self) -> UnitFields {
        match self {
            Self::None => UnitFields::NONE,
            Self::Bytes => UnitFields::NONE.space(1, 0),
            Self::Nanoseconds => UnitFields::NONE.time(1, 0),
            Self::Milliseconds => UnitFields::NONE.time(1, 2),
            Self::Seconds => UnitFields::NONE.time(1, 3),
            Self::Count => UnitFields::NONE.count(1, 0),
            Self::CountPerSecond => UnitFields::NONE.time(-1, 3).count(1, 0),
            Self::Other(fields) => fields,
        }
    }

    /// The units as text for generated pages and persisted descriptions; `other` for
    /// [`Units::Other`].
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bytes => "byte",
            Self::Nanoseconds => "nanosec",
            Self::Milliseconds => "millisec",
            Self::Seconds => "sec",
            Self::Count => "count",
            Self::CountPerSecond => "count/sec",
            Self::Other(_) => "other",
        }
    }
}
