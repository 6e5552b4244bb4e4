//! Macros for a source's tables of metrics, parameters and other parts, one row each. Every row
//! becomes a typed constant, so that an item of another table does not compile.

/// Rows `ID item "name" Type Semantics Units Value "one line" "help";` become constants
/// [`MetricItem`](crate::model::MetricItem) and `METRICS`: the static metrics of each peer.
#[macro_export]
macro_rules! peer_metrics {
    ($($id:ident $item:literal $name:literal $ty:ident $sem:ident $units:ident $value:ident $oneline:literal $help:literal;)*) => {
        $(
            #[doc = $oneline]
            pub(crate) const $id: $crate::model::MetricItem = $crate::model::MetricItem::new($item);
        )*

        /// The static metrics of each peer.
        pub(crate) const METRICS: &[$crate::model::MetricDef] = &[$($crate::model::MetricDef {
            name: $name,
            item: $id.get(),
            ty: $crate::model::ValueType::$ty,
            sem: $crate::model::Semantics::$sem,
            units: $crate::model::Units::$units,
            indom: $crate::model::InDom::Peers,
            value: $crate::model::ValueSource::$value,
            oneline: $oneline,
            help: $help,
        }),*];
    };
}

/// Rows `ID TABLE item "name" Type Semantics Units [Recent] "one line" "help";` become constants
/// [`RowItem`](crate::model::RowItem) and `ROW_METRICS`: the metrics of the rows of tables. Values
/// are of the source `Cell` unless the row has `Recent`.
#[macro_export]
macro_rules! row_metrics {
    ($($id:ident $table:ident $item:literal $name:literal $ty:ident $sem:ident $units:ident $($value:ident)? $oneline:literal $help:literal;)*) => {
        $(
            #[doc = $oneline]
            pub(crate) const $id: $crate::model::RowItem =
                $crate::model::RowItem::new($table, $item);
        )*

        /// The metrics of rows.
        pub(crate) const ROW_METRICS: &[$crate::model::MetricDef] = &[$($crate::model::MetricDef {
            name: $name,
            item: $id.get(),
            ty: $crate::model::ValueType::$ty,
            sem: $crate::model::Semantics::$sem,
            units: $crate::model::Units::$units,
            indom: $crate::model::InDom::Table($table),
            value: $crate::row_metrics!(@value $($value)?),
            oneline: $oneline,
            help: $help,
        }),*];
    };
    (@value) => { $crate::model::ValueSource::Cell };
    (@value $value:ident) => { $crate::model::ValueSource::$value };
}

/// Rows `ID item "name" Type Units "one line";` become constants
/// [`ParamItem`](crate::model::ParamItem) and `PARAMS`: the parameters that a source's event
/// records always have.
#[macro_export]
macro_rules! event_params {
    ($($id:ident $item:literal $name:literal $ty:ident $units:ident $oneline:literal;)*) => {
        $(
            #[doc = $oneline]
            pub(crate) const $id: $crate::model::ParamItem = $crate::model::ParamItem::new($item);
        )*

        /// Parameters of events, in the order of their items.
        pub(crate) const PARAMS: &[$crate::catalogue::ParamDef] = &[$($crate::catalogue::ParamDef {
            item: $id,
            name: $name,
            ty: $crate::model::ValueType::$ty,
            units: $crate::model::Units::$units,
            oneline: $oneline,
        }),*];
    };
}

/// `LIST: Part as Id; NAME = Part {…}; …` becomes the slice `LIST` and for each part the constant
/// `NAME`, its position in the slice: for controls, event kinds and tables.
#[macro_export]
macro_rules! listed {
    ($(#[$doc:meta])* $list:ident: $part:ty as $id:ty; $($(#[$what:meta])* $name:ident = $def:expr;)*) => {
        $(#[$doc])*
        pub(crate) const $list: &[$part] = &[$($def),*];

        $crate::listed!(@ids $id, 0; $($(#[$what])* $name,)*);
    };
    (@ids $id:ty, $at:expr;) => {};
    (@ids $id:ty, $at:expr; $(#[$what:meta])* $name:ident, $($rest:tt)*) => {
        $(#[$what])*
        #[allow(dead_code, reason = "some positions are needed only with feature agent")]
        pub(crate) const $name: $id = <$id>::new($at);
        $crate::listed!(@ids $id, $at + 1; $($rest)*);
    };
}
