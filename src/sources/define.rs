//! Tables of metrics and parameters as they stand in the source, a row each.

use super::Sink;
use crate::model::{Area, MetricDef, Semantics, Update};

/// Rows `ID item "name" Type Semantics Units Origin "one line" "help";` become constants of the
/// items and `own_metrics()`: the static metrics that each peer of a source has. The first argument
/// is their cluster.
macro_rules! peer_metrics {
    ($cluster:expr; $($id:ident $item:literal $name:literal $ty:ident $sem:ident $units:ident $origin:ident $oneline:literal $help:literal;)*) => {
        $(#[doc = $oneline] pub(super) const $id: u16 = $item;)*

        /// The static metrics of each peer.
        fn own_metrics() -> impl Iterator<Item = $crate::model::MetricDef> {
            use $crate::model::{Area, MetricDef, Origin, Semantics, Units, ValueType};
            let rows = [$(($name, $item, ValueType::$ty, Semantics::$sem, Units::$units, Origin::$origin, $oneline, $help)),*];
            rows.into_iter().map(|(name, item, ty, sem, units, origin, oneline, help)| MetricDef {
                name: name.into(),
                cluster: $cluster,
                item,
                ty,
                sem,
                units,
                area: Area::Source,
                origin,
                oneline: oneline.into(),
                help: help.into(),
            })
        }
    };
}

/// Rows `ID item "name" Type Units "one line";` become constants of the items and `PARAMS`, in the
/// order of the items: the parameters that a source's event records always have.
macro_rules! event_params {
    ($($id:ident $item:literal $name:literal $ty:ident $units:ident $oneline:literal;)*) => {
        $(#[doc = $oneline] pub(super) const $id: u16 = $item;)*

        /// Parameters of events, in the order of their items.
        pub(super) const PARAMS: &[$crate::sources::ParamDef] = &[$($crate::sources::ParamDef {
            item: $item,
            name: $name,
            ty: $crate::model::ValueType::$ty,
            units: $crate::model::Units::$units,
            oneline: $oneline,
        }),*];
    };
}

pub(super) use {event_params, peer_metrics};

/// Everything that is counted of a peer has a value from the start: 0 is not "unknown".
pub(super) fn start_counters(metrics: impl IntoIterator<Item = MetricDef>, sink: &mut dyn Sink) {
    let counters =
        metrics.into_iter().filter(|m| m.area == Area::Source && m.sem == Semantics::Counter);
    counters.for_each(|m| sink.update(Update::Count { item: m.item, more: 0 }));
}
