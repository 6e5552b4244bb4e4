//! The row that a session's number stands for.

use std::sync::Arc;

use crate::store::rows::Row;

/// A row that a slot stands for, and the key that it was asked for with, if the row is that for all
/// the rest.
#[derive(Debug)]
pub(super) struct BoundRow {
    pub(super) row: Arc<Row>,
    pub(super) key: Option<Box<str>>,
}
