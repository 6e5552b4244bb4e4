//! Changes the texts of packed records.

use std::borrow::Cow;

use super::Batch;
use crate::layout::{HighRes, PARAM_HEADER, Resolution, after, header_at, header_parts};
use crate::types::ids::{Pmid, ValueType};

impl Batch {
    /// Passes each text of the records through `change`. A text without a character is no parameter; one for
    /// which a record has no room any more is cut, as in [`Batch::text`].
    pub fn change_texts(&mut self, change: impl Fn(&str) -> Cow<'_, str>) {
        self.seal();
        let mut new = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            truncated: self.truncated,
            ..Self::default()
        };
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        for (start, end) in self.starts.iter().zip(ends) {
            let record = self.bytes.get(*start..end).unwrap_or_default();
            new.changed(record, &change);
        }
        new.seal();
        *self = new;
    }

    fn changed(&mut self, record: &[u8], change: &impl Fn(&str) -> Cow<'_, str>) {
        self.seal();
        (self.start, self.nparams) = (self.bytes.len(), 0);
        self.starts.push(self.start);
        self.bytes.extend_from_slice(record.get(..HighRes::RECORD_HEADER).unwrap_or_default());
        let mut at = HighRes::RECORD_HEADER;
        while let Some(header) = header_at(record, at) {
            let (next, (pmid, word)) = (after(at, header), header_parts(header));
            let length = (word as usize & 0x00ff_ffff).saturating_sub(PARAM_HEADER / 2);
            let value = record.get(at + PARAM_HEADER..).and_then(|rest| rest.get(..length));
            let is_text = word >> 24 == ValueType::Text as u32;
            match value.filter(|_| is_text).and_then(|text| std::str::from_utf8(text).ok()) {
                Some(text) => {
                    let text = change(text);
                    if !text.is_empty() {
                        self.text(Pmid(pmid), &text);
                    }
                }
                None if self.has_room(next - at) => {
                    self.bytes.extend_from_slice(record.get(at..next).unwrap_or_default());
                    self.nparams += 1;
                }
                None => self.left_out(),
            }
            at = next;
        }
    }
}
