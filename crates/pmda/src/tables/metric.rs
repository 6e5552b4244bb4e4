//! Descriptors of metrics in libpcp's form.

use std::ffi::c_int;

use pcp_event::{Pmid, Semantics, Units, ValueType};
use pcp_sys as sys;

use crate::ids::InDom;

/// A metric: name and descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Full name, as `simple.time.user`.
    pub name: String,
    /// Metric identifier.
    pub pmid: Pmid,
    /// Type of the values.
    pub ty: ValueType,
    /// Instance domain; `None` for a metric with one value.
    pub indom: Option<InDom>,
    /// Semantics of the values.
    pub sem: Semantics,
    /// Unit of the values.
    pub units: Units,
}

impl Metric {
    pub(super) fn row(&self) -> sys::pmdaMetric {
        sys::pmdaMetric {
            m_user: std::ptr::null_mut(),
            m_desc: sys::pmDesc {
                pmid: self.pmid.0,
                type_: c_int::from(self.ty as u8),
                indom: self.indom.map_or(sys::PM_INDOM_NULL, |indom| indom.0),
                sem: self.sem as c_int,
                units: units(self.units),
            },
        }
    }
}

// The values of pcp-event are PCP's.
const _: () = {
    assert!(ValueType::I32 as u32 == sys::PM_TYPE_32);
    assert!(ValueType::U32 as u32 == sys::PM_TYPE_U32);
    assert!(ValueType::I64 as u32 == sys::PM_TYPE_64);
    assert!(ValueType::U64 as u32 == sys::PM_TYPE_U64);
    assert!(ValueType::F32 as u32 == sys::PM_TYPE_FLOAT);
    assert!(ValueType::F64 as u32 == sys::PM_TYPE_DOUBLE);
    assert!(ValueType::Text as u32 == sys::PM_TYPE_STRING);
    assert!(ValueType::Aggregate as u32 == sys::PM_TYPE_AGGREGATE);
    assert!(ValueType::Event as u32 == sys::PM_TYPE_EVENT);
    assert!(ValueType::HighResEvent as u32 == sys::PM_TYPE_HIGHRES_EVENT);
    assert!(Semantics::Counter as u32 == sys::PM_SEM_COUNTER);
    assert!(Semantics::Instant as u32 == sys::PM_SEM_INSTANT);
    assert!(Semantics::Discrete as u32 == sys::PM_SEM_DISCRETE);
};

/// The type of a `PM_TYPE_*` number.
pub(super) fn value_type(number: c_int) -> Option<ValueType> {
    use ValueType::{Aggregate, Event, F32, F64, HighResEvent, I32, I64, Text, U32, U64};
    let all = [I32, U32, I64, U64, F32, F64, Text, Aggregate, Event, HighResEvent];
    all.into_iter().find(|ty| c_int::from(*ty as u8) == number)
}

/// `pmUnits`, whose bit fields have the layout of the host's compiler. PCP 7 made two of them from
/// the padding, so they are set by name.
fn units(units: Units) -> sys::pmUnits {
    // SAFETY: a C structure of integers.
    let mut packed: sys::pmUnits = unsafe { std::mem::zeroed() };
    let fields = units.fields();
    packed.set_dimSpace(fields.dim_space.into());
    packed.set_dimTime(fields.dim_time.into());
    packed.set_dimCount(fields.dim_count.into());
    packed.set_scaleSpace(fields.scale_space.into());
    packed.set_scaleTime(fields.scale_time.into());
    packed.set_scaleCount(fields.scale_count.into());
    packed
}

#[cfg(test)]
mod tests {
    use pcp_event::UnitFields;

    use super::*;

    #[test]
    fn units_read_back_as_libpcp_prints_them() {
        let text = |of| {
            let packed = units(of);
            let mut buffer = [0u8; 64];
            // SAFETY: pmUnitsStr_r(3) reads the units and writes a C string of at most 64 bytes.
            let text =
                unsafe { sys::pmUnitsStr_r(&raw const packed, buffer.as_mut_ptr().cast(), 64) };
            // SAFETY: it returns `buffer`.
            unsafe { crate::cstring::copy(text) }.unwrap_or_default()
        };
        assert_eq!(text(Units::None), "");
        assert_eq!(text(Units::Bytes), "byte");
        assert_eq!(text(Units::Nanoseconds), "nanosec");
        assert_eq!(text(Units::Milliseconds), "millisec");
        assert_eq!(text(Units::Seconds), "sec");
        assert_eq!(text(Units::Count), "count");
        assert_eq!(text(Units::CountPerSecond), "count / sec");
        let none = UnitFields::NONE;
        assert_eq!(text(Units::Other(none.space(1, 2))), "Mbyte");
        assert_eq!(text(Units::Other(none.time(1, 1))), "microsec");
        assert_eq!(text(Units::Other(none.space(1, 1).time(-1, 3))), "Kbyte / sec");
        assert_eq!(text(Units::Other(none.time(1, 2).count(-1, 0))), "millisec / count");
        assert_eq!(text(Units::Other(none.count(1, 6))), "count x 10^6");
    }
}
