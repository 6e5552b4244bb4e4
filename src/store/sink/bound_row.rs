//! The row bound to a session's slot.

use std::sync::Arc;

use crate::store::rows::Row;

/// The row bound to a slot. If it is the row [`OTHER`](crate::catalogue::OTHER), also the key that
/// was asked for, and the labels that the key's own row will have.
#[derive(Debug)]
pub(super) struct BoundRow {
    pub(super) row: Arc<Row>,
    pub(super) key: Option<Box<str>>,
    labels: Vec<(&'static str, String)>,
}

impl BoundRow {
    /// A slot for `key`, bound to its row or to [`OTHER`](crate::catalogue::OTHER).
    pub(super) fn new(row: Arc<Row>, key: Option<&str>) -> Self {
        let key = key.filter(|key| **key != *row.key).map(Into::into);
        Self { row, key, labels: Vec::new() }
    }

    /// Sets the instance labels of the key's own row, now or when there is one.
    pub(super) fn set_labels(&mut self, labels: &[(&'static str, &str)]) {
        if self.key.is_none() {
            return self.row.set_labels(labels);
        }
        self.labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    }

    /// Binds the slot to another row of the same key.
    pub(super) fn bind(&mut self, row: Arc<Row>, key: &str) {
        let labels = match self.key {
            None => self.row.labels(),
            Some(_) => std::mem::take(&mut self.labels),
        };
        *self = Self::new(row, Some(key));
        let labels: Vec<_> = labels.iter().map(|(name, value)| (*name, &**value)).collect();
        if !labels.is_empty() {
            self.set_labels(&labels);
        }
    }
}
