//! One event record while it is made.

use super::ParamId;
use crate::events::{Batch, TextWriter};
use crate::model::{Pmid, ValueType};

/// Knows the parameters of a peer's records.
pub trait Params {
    /// The metric of a parameter and its type; `None` if there is no room for such a metric, or no peer yet.
    fn param(&self, id: ParamId) -> Option<(Pmid, ValueType)>;
}

/// A record that is being made: the newest of its batch.
///
/// Of what this value adds, a parameter is in it once: the first of several counts. A text ends at its first NUL,
/// where PCP strings end; one without a character is no parameter.
pub struct Record<'r> {
    batch: &'r mut Batch,
    params: &'r dyn Params,
    /// A bit for each of the source's parameters that it has.
    has: u64,
}

impl std::fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("has", &self.has).finish_non_exhaustive()
    }
}

impl<'r> Record<'r> {
    /// The newest record of a batch goes on.
    #[must_use]
    pub fn newest(batch: &'r mut Batch, params: &'r dyn Params) -> Self {
        Self { batch, params, has: 0 }
    }

    /// The parameter's metric, if the record has no such parameter yet.
    #[inline]
    fn new_param(&mut self, id: impl Into<ParamId>) -> Option<(Pmid, ValueType)> {
        let id = id.into();
        if let ParamId::Item(item) = id {
            // A sound catalogue has fewer than 64 parameters a source.
            let bit = 1 << (item.get() % 64);
            if self.has & bit != 0 {
                return None;
            }
            self.has |= bit;
        }
        self.params.param(id)
    }

    /// Adds a whole number.
    #[inline]
    pub fn number(&mut self, id: impl Into<ParamId>, value: u64) {
        if let Some((pmid, ty)) = self.new_param(id) {
            debug_assert!(!matches!(ty, ValueType::F32 | ValueType::F64), "no integer");
            self.batch.number(pmid, ty, value);
        }
    }

    /// Adds a number of the type F64.
    pub fn float(&mut self, id: impl Into<ParamId>, value: f64) {
        if let Some((pmid, ty)) = self.new_param(id) {
            debug_assert_eq!(ty, ValueType::F64);
            self.batch.number(pmid, ty, value.to_bits());
        }
    }

    /// Adds a number that is known.
    #[inline]
    pub fn known(&mut self, id: impl Into<ParamId>, value: Option<u64>) {
        if let Some(value) = value {
            self.number(id, value);
        }
    }

    /// Adds a number that is not 0.
    #[inline]
    pub fn positive(&mut self, id: impl Into<ParamId>, value: u64) {
        self.known(id, (value > 0).then_some(value));
    }

    /// Adds a text.
    #[inline]
    pub fn text(&mut self, id: impl Into<ParamId>, text: &str) {
        let end = memchr::memchr(0, text.as_bytes()).unwrap_or(text.len());
        let text = text.get(..end).unwrap_or_default();
        if !text.is_empty()
            && let Some((pmid, _)) = self.new_param(id)
        {
            self.batch.text(pmid, text);
        }
    }

    /// Adds the text that `write` writes, unless the record has the parameter.
    #[inline]
    pub fn write(&mut self, id: impl Into<ParamId>, write: impl FnOnce(&mut TextWriter<'_>)) {
        let before = self.has;
        let Some((pmid, _)) = self.new_param(id) else { return };
        self.batch.begin_text();
        let mut text = self.batch.text_writer();
        write(&mut text);
        if let Some(end) = memchr::memchr(0, text.as_bytes()) {
            text.truncate(end);
        }
        if text.is_empty() {
            self.has = before;
            return self.batch.discard_text();
        }
        self.batch.end_text(pmid);
    }

    /// A text was cut by who writes it.
    pub fn count_truncated(&mut self) {
        self.batch.count_truncated();
    }
}
