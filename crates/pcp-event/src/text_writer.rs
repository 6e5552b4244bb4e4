//! Texts that are written piece by piece, where they are to be.

use std::borrow::Cow;

use super::batch::Batch;
use super::layout::{PARAM_HEADER, SLACK, padded, param_header};
use crate::{Pmid, ValueType};

/// A text of a record that is being written.
#[derive(Debug)]
pub struct TextWriter<'b> {
    bytes: &'b mut Vec<u8>,
    from: usize,
}

impl TextWriter<'_> {
    /// Bytes so far.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len().saturating_sub(self.from)
    }

    /// Nothing so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it ends so.
    #[must_use]
    pub fn ends_with(&self, end: &str) -> bool {
        self.bytes.get(self.from..).is_some_and(|text| text.ends_with(end.as_bytes()))
    }

    /// The text so far.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes.get(self.from..).unwrap_or_default())
    }

    /// Appends a text.
    #[inline]
    pub fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Puts an ASCII character in the place of another one, so many bytes from the beginning of the
    /// text.
    #[inline]
    pub fn replace_ascii(&mut self, at: usize, ascii: u8) {
        debug_assert!(ascii.is_ascii());
        if let Some(place) = self.bytes.get_mut(self.from + at) {
            debug_assert!(place.is_ascii());
            *place = ascii;
        }
    }

    /// Appends the first `count` of some characters.
    #[inline]
    pub fn push_ascii(&mut self, ascii: [u8; 8], count: usize) {
        debug_assert!(ascii.iter().take(count).all(u8::is_ascii));
        let end = self.bytes.len() + count;
        self.bytes.extend_from_slice(&ascii);
        self.bytes.truncate(end);
    }
}

impl Batch {
    /// Begins a text in the record begun last. It is written to [`Self::writing`] and must be ended
    /// before anything else is added; a record that ends without that has no such parameter.
    #[inline]
    pub fn begin_text(&mut self) {
        self.text = Some(self.bytes.len());
        self.bytes.extend_from_slice(&[0; PARAM_HEADER]);
    }

    /// The text that was begun.
    #[inline]
    pub fn text_writer(&mut self) -> TextWriter<'_> {
        let from = self.text.map_or(self.bytes.len(), |at| at + PARAM_HEADER);
        TextWriter { bytes: &mut self.bytes, from }
    }

    /// Makes a parameter of the text that was begun; cut as by [`Self::text`].
    #[inline]
    pub fn end_text(&mut self, pmid: Pmid) {
        let Some(at) = self.text else { return };
        let len = self.bytes.len().saturating_sub(at + PARAM_HEADER);
        // Its bytes are already in the record.
        if self.is_empty() || !self.has_room(padded(len) - len) {
            return self.end_long_text(pmid);
        }
        self.text = None;
        self.nparams += 1;
        if let Some(header) = self.bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *header = param_header(pmid.0, ValueType::Text, len);
        }
        self.bytes.extend_from_slice(&[0; SLACK]);
        self.bytes.truncate(at + PARAM_HEADER + padded(len));
    }

    #[cold]
    fn end_long_text(&mut self, pmid: Pmid) {
        let text = self.text_writer().text().into_owned();
        self.discard_text();
        self.text(pmid, &text);
    }

    /// Takes back the text that was begun: it is no parameter.
    pub fn discard_text(&mut self) {
        if let Some(at) = self.text.take() {
            self.bytes.truncate(at);
        }
    }
}
