//! The row bound to a session's slot.

use std::sync::Arc;

use crate::store::rows::Row;

/// The row bound to a slot.
#[derive(Debug)]
pub(super) struct BoundRow {
    pub(super) row: Arc<Row>,
    /// If the row is that of the rest: what was asked for.
    asked: Option<Box<Asked>>,
}

/// A key, and the labels that its own row will have.
#[derive(Debug)]
struct Asked {
    key: Box<str>,
    labels: Vec<(&'static str, String)>,
}

impl BoundRow {
    /// A slot for `key`, bound to its row or to that of the rest.
    pub(super) fn new(row: Arc<Row>, key: Option<&str>) -> Self {
        let key = key.filter(|key| **key != *row.key);
        let asked = key.map(|key| Box::new(Asked { key: key.into(), labels: Vec::new() }));
        Self { row, asked }
    }

    /// The key that was asked for, if the row is another one.
    pub(super) fn key(&self) -> Option<&str> {
        self.asked.as_ref().map(|asked| &*asked.key)
    }

    /// Sets the instance labels of the key's own row, now or when there is one.
    pub(super) fn set_labels(&mut self, labels: &[(&'static str, &str)]) {
        match &mut self.asked {
            None => self.row.set_labels(labels),
            Some(asked) => {
                self.row.set_labels(labels);
                asked.labels =
                    labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            }
        }
    }

    /// Binds the slot to another row of the same key.
    pub(super) fn bind(&mut self, row: Arc<Row>, key: &str) {
        let labels = match self.asked.take() {
            None => self.row.labels(),
            Some(asked) => asked.labels,
        };
        *self = Self::new(row, Some(key));
        let labels: Vec<_> = labels.iter().map(|(name, value)| (*name, &**value)).collect();
        if !labels.is_empty() {
            self.set_labels(&labels);
        }
    }
}
