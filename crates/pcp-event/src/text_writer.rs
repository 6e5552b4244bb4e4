//! Texts written into a record piece by piece.

use std::borrow::Cow;
use std::fmt;

use crate::batch::Batch;
use crate::layout::{PARAM_HEADER, SLACK, padded, param_header};
use crate::types::ids::{Pmid, ValueType};

/// The open text of a [`Batch`].
///
/// ```
/// use pcp_event::{Batch, HighRes, Pmid, Records, Scalar, Stamp, Stream, Budget, flags};
///
/// let mut batch = Batch::default();
/// batch.record(Stamp::default(), flags::POINT);
/// batch.begin_text();
/// for word in ["one", "two"] {
///     batch.text_writer().push(word);
/// }
/// batch.end_text(Pmid::new(60, 1, 0));
///
/// let stream = Stream::new(&Budget::new(1 << 20));
/// stream.append(&mut batch);
/// let packed = stream.newest(1);
/// let record = Records::<HighRes>::packed(&packed).next().unwrap()?;
/// assert_eq!(record.params[0].value, Scalar::Text(b"onetwo"));
/// # Ok::<(), pcp_event::CheckError>(())
/// ```
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

    /// Whether the text is empty so far.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the text so far ends with `end`.
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

    /// Appends bytes, which must be UTF-8.
    #[inline]
    pub fn push_utf8(&mut self, text: &[u8]) {
        debug_assert!(std::str::from_utf8(text).is_ok());
        self.bytes.extend_from_slice(text);
    }

    /// The bytes so far.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.from..).unwrap_or_default()
    }

    /// Drops the bytes after the first `len`, which must end at a character boundary.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(self.from + len);
    }

    /// Appends `name=value`, after a blank if something precedes; each of both in double quotes unless it
    /// [is bare](is_bare). Neither has a NUL then. Returns what `value` returns.
    ///
    /// ```
    /// # use pcp_event::Batch;
    /// let mut batch = Batch::default();
    /// batch.begin_text();
    /// for (name, value) in [("a", "1"), ("b", "x \"y\""), ("c", "")] {
    ///     batch.text_writer().pair(|to| to.push(name), |to| to.push(value));
    /// }
    /// assert_eq!(batch.text_writer().text(), r#"a=1 b="x \"y\"" c="""#);
    /// ```
    #[inline(always)]
    pub fn pair<R>(
        &mut self,
        name: impl FnOnce(&mut TextWriter<'_>),
        value: impl FnOnce(&mut TextWriter<'_>) -> R,
    ) -> R {
        self.separate();
        let from = self.bytes.len();
        name(&mut TextWriter { bytes: self.bytes, from });
        self.quote(from - self.from);
        self.value(value)
    }

    /// As [`Self::pair`], of a name that [is bare](is_bare).
    #[inline(always)]
    pub fn bare_pair<R>(&mut self, name: &str, value: impl FnOnce(&mut TextWriter<'_>) -> R) -> R {
        debug_assert!(is_bare(name.as_bytes()));
        self.separate();
        self.push(name);
        self.value(value)
    }

    #[inline(always)]
    fn separate(&mut self) {
        if !self.is_empty() {
            self.bytes.push(b' ');
        }
    }

    #[inline(always)]
    fn value<R>(&mut self, value: impl FnOnce(&mut TextWriter<'_>) -> R) -> R {
        self.bytes.push(b'=');
        let from = self.bytes.len();
        let written = value(&mut TextWriter { bytes: self.bytes, from });
        self.quote(from - self.from);
        written
    }

    /// Puts what follows byte offset `at` into double quotes, unless it [is bare](is_bare).
    #[inline(always)]
    pub fn quote(&mut self, at: usize) {
        if !is_bare(self.as_bytes().get(at..).unwrap_or_default()) {
            self.enclose(at);
        }
    }

    /// Puts what follows byte offset `at` into double quotes: `"` and `\` have a `\` before them. It ends at its first NUL, as
    /// PCP strings do.
    #[cold]
    pub fn enclose(&mut self, at: usize) {
        let text = self.as_bytes().get(at..).unwrap_or_default().to_vec();
        self.truncate(at);
        self.push("\"");
        for byte in text.into_iter().take_while(|byte| *byte != 0) {
            if matches!(byte, b'"' | b'\\') {
                self.push("\\");
            }
            self.bytes.push(byte);
        }
        self.push("\"");
    }

    /// Replaces the ASCII character at byte offset `at` of the text.
    #[inline]
    pub fn replace_ascii(&mut self, at: usize, ascii: u8) {
        debug_assert!(ascii.is_ascii());
        if let Some(place) = self.bytes.get_mut(self.from + at) {
            debug_assert!(place.is_ascii());
            *place = ascii;
        }
    }

    /// Appends the first `count` of these ASCII characters.
    #[inline]
    pub fn push_ascii(&mut self, ascii: [u8; 8], count: usize) {
        debug_assert!(ascii.iter().take(count).all(u8::is_ascii));
        let end = self.bytes.len() + count;
        self.bytes.extend_from_slice(&ascii);
        self.bytes.truncate(end);
    }
}

impl fmt::Write for TextWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}

impl Batch {
    /// Begins a text in the newest record: [`Self::text_writer`] writes it, [`Self::end_text`]
    /// turns it into a parameter. A text still open when the next record begins is dropped.
    #[inline]
    pub fn begin_text(&mut self) {
        self.text = Some(self.bytes.len());
        self.bytes.extend_from_slice(&[0; PARAM_HEADER]);
    }

    /// The open text.
    #[inline]
    pub fn text_writer(&mut self) -> TextWriter<'_> {
        let from = self.text.map_or(self.bytes.len(), |at| at + PARAM_HEADER);
        TextWriter { bytes: &mut self.bytes, from }
    }

    /// Turns the open text into a parameter; cut as by [`Self::text`].
    #[inline]
    pub fn end_text(&mut self, pmid: Pmid) {
        let Some(at) = self.text else { return };
        let len = self.bytes.len().saturating_sub(at + PARAM_HEADER);
        // The text's bytes are already in the record: only the padding needs more room.
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

    /// Drops the open text.
    pub fn discard_text(&mut self) {
        if let Some(at) = self.text.take() {
            self.bytes.truncate(at);
        }
    }
}

/// Whether a text needs no quotes in a list of `name=value`: it is not empty and has no blank, no control character of
/// ASCII, no `"` and no `=`. Eight bytes at a time, since each parameter of each record is looked at.
#[must_use]
#[inline(always)]
pub fn is_bare(text: &[u8]) -> bool {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    /// High bits of bytes that are 0, at least where there is one.
    const fn zeros(word: u64) -> u64 {
        word.wrapping_sub(each(1)) & !word
    }
    let ends = |bytes: &[u8; 8]| {
        let word = u64::from_ne_bytes(*bytes);
        let control = word.wrapping_sub(each(b' ' + 1)) & !word;
        let marks = zeros(word ^ each(b'"')) | zeros(word ^ each(b'=')) | zeros(word ^ each(0x7f));
        (control | marks) & each(0x80)
    };
    if let Some(last) = text.last_chunk() {
        let all = text.as_chunks().0.iter().fold(ends(last), |found, bytes| found | ends(bytes));
        return all == 0;
    }
    let ends = |byte: &u8| *byte <= b' ' || matches!(*byte, b'"' | b'=' | 0x7f);
    !text.is_empty() && !text.iter().any(ends)
}

#[cfg(test)]
mod bare_tests {
    use super::is_bare;

    #[test]
    fn words_and_bytes_say_the_same() {
        for length in 0..20 {
            assert_eq!(is_bare(&vec![b'a'; length]), length > 0);
            for (at, byte) in (0..length).flat_map(|at| (0..=255_u8).map(move |byte| (at, byte))) {
                let mut text = vec![b'\x80'; length];
                text[at] = byte;
                let quoted = byte <= b' ' || byte == b'"' || byte == b'=' || byte == 0x7f;
                assert_eq!(is_bare(&text), !quoted, "{length} {at} {byte}");
            }
        }
    }
}
