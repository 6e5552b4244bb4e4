//! Typed ids that are positions in a source's table: an item of one table cannot be used with
//! another. Limits are checked in constants, so an id out of range does not compile.

/// PMID items below this are static metrics of a peer (cell = item); the cells from here on are
/// those of dynamic metrics.
pub const STATIC_ITEMS: u16 = 128;
/// Items of a table are below this: a row has its cells in one allocation.
pub const ROW_ITEMS: u16 = 32;
/// PMID items are 10 bits.
const ITEMS: u16 = 1024;

macro_rules! positions {
    ($($(#[$doc:meta])* $name:ident $ty:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($ty);

        impl $name {
            /// The id of a position.
            #[must_use]
            pub const fn new(position: $ty) -> Self {
                Self(position)
            }

            /// The position, for slices.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

positions! {
    /// A source: its position in the catalogue. The position may differ between builds, so files
    /// have the source's name instead.
    SourceId u16;
    /// A kind of event records: its position in the source's table.
    EventKindId u8;
    /// A table of rows: its position in the source's table.
    TableId u8;
    /// A control: its position in the source's table.
    ControlId u8;
}

/// An event stream of every peer of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamKind {
    /// The source.
    pub source: SourceId,
    /// The kind of its records.
    pub kind: EventKindId,
}

/// A static metric of a peer: its PMID item in the first cluster of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricItem(u16);

impl MetricItem {
    /// # Panics
    /// At compile time in a constant: the item would share the cell of a dynamic metric.
    #[must_use]
    pub const fn new(item: u16) -> Self {
        assert!(item < STATIC_ITEMS, "items of static metrics are below 128");
        Self(item)
    }

    /// The PMID item, which is also the cell.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// A metric of a table: its PMID item in the table's cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowItem {
    table: TableId,
    item: u16,
}

impl RowItem {
    /// # Panics
    /// At compile time in a constant: a row has no cell for the item.
    #[must_use]
    pub const fn new(table: TableId, item: u16) -> Self {
        assert!(item < ROW_ITEMS, "items of a table are below 32");
        Self { table, item }
    }

    /// The table.
    #[must_use]
    pub const fn table(self) -> TableId {
        self.table
    }

    /// The PMID item, which is also the cell.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.item
    }
}

/// A parameter of event records: its PMID item in the source's cluster of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParamItem(u16);

impl ParamItem {
    /// # Panics
    /// At compile time in a constant: item 0 is `param.lost`, and PMID items end at 1023.
    #[must_use]
    pub const fn new(item: u16) -> Self {
        assert!(item > 0 && item < ITEMS, "items of parameters are 1 to 1023");
        Self(item)
    }

    /// The PMID item.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}
