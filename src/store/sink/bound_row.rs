//! The row bound to a session's slot.

use std::sync::Arc;

use crate::store::rows::Row;

/// The row bound to a slot. If it is the row [`OTHER`](crate::catalogue::OTHER), also the key that
/// was asked for.
#[derive(Debug)]
pub(super) struct BoundRow {
    pub(super) row: Arc<Row>,
    pub(super) key: Option<Box<str>>,
}
