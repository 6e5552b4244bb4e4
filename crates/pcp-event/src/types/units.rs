//! Units of metrics.

/// Units of a metric: one dimension at most. [`Units::fields`] has the values for `pmUnits` of
/// `pmapi.h`, a C bit field whose bit order depends on the byte order of the host.
///
/// ```
/// use pcp_event::Units;
///
/// let fields = Units::Milliseconds.fields();
/// assert_eq!((fields.dim_time, fields.scale_time), (1, 2));
/// assert_eq!(fields.dim_space, 0);
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
}

/// The fields of `pmUnits`, by their C names. A scale is used only if its dimension is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

impl Units {
    /// Dimensions and scales as in `pmUnits`.
    #[must_use]
    pub const fn fields(self) -> UnitFields {
        let (mut dim_space, mut dim_time, mut dim_count, mut scale_time) = (0, 0, 0, 0);
        match self {
            Self::None => {}
            Self::Bytes => dim_space = 1,
            Self::Nanoseconds => dim_time = 1,
            Self::Milliseconds => (dim_time, scale_time) = (1, 2),
            Self::Seconds => (dim_time, scale_time) = (1, 3),
            Self::Count => dim_count = 1,
            Self::CountPerSecond => (dim_time, dim_count, scale_time) = (-1, 1, 3),
        }
        UnitFields { dim_space, dim_time, dim_count, scale_space: 0, scale_time, scale_count: 0 }
    }

    /// The units as text for generated pages and persisted descriptions.
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
        }
    }
}
