//! The `pmValueBlock`s of an answer, and texts that many answers point to.

use std::sync::Arc;

use pcp_event::ValueType;

/// Most bytes of a string: a value is its header, the bytes and the NUL; its length has 24 bits.
const LONGEST: usize = 0x00ff_fff0;

/// A string as a finished `pmValueBlock`, made once: answers point to it and copy nothing.
///
/// ```
/// let text = pmda::TextValue::new("cut at\0the NUL");
/// assert_eq!((text.len(), text.clone() == text), (11, true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextValue {
    words: Arc<[u32]>,
    length: usize,
}

impl TextValue {
    /// The value of a text, cut at a NUL and at 16 MiB.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut words = Vec::new();
        let length = push(&mut words, text);
        Self { words: words.into(), length }
    }

    /// Bytes of the block: its header of 4, the text, a NUL.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Aligned for a `pmValueBlock`.
    pub(super) fn as_ptr(&self) -> *const u32 {
        self.words.as_ptr()
    }
}

/// The first word of a `pmValueBlock`: its length with this word in the low 24 bits, its type in the
/// high 8. C declares bit fields in the order that gives this in both byte orders.
pub(super) const fn block_header(length: u32, ty: ValueType) -> u32 {
    length | (ty as u32) << 24
}

/// The part of a text that is a string of C.
pub(super) fn c_part(text: &str) -> &[u8] {
    let end = text.find('\0').unwrap_or(text.len());
    text.as_bytes().get(..end.min(LONGEST)).unwrap_or_default()
}

/// Bytes of the block of a string of C.
pub(super) const fn block_length(bytes: &[u8]) -> usize {
    bytes.len() + 5
}

/// Appends the block of a text. Returns its length in bytes.
fn push(words: &mut Vec<u32>, text: &str) -> usize {
    let bytes = c_part(text);
    push_block(words, bytes);
    block_length(bytes)
}

/// Appends the block of a string of C, padded with zeros.
pub(super) fn push_block(words: &mut Vec<u32>, bytes: &[u8]) {
    let length = u32::try_from(block_length(bytes)).unwrap_or_default();
    let (whole, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    words.reserve(whole.len() + 2);
    words.push(block_header(length, ValueType::Text));
    words.extend(whole.iter().map(|word| u32::from_ne_bytes(*word)));
    words.push(u32::from_ne_bytes(last));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_its_header_the_text_and_zeros() {
        for len in 0..20 {
            let text = "0123456789abcdefghij".split_at(len).0;
            let value = TextValue::new(&format!("{text}\0hidden"));
            let (header, words) = value.words.split_first().expect("a header");
            assert_eq!(
                *header,
                block_header(u32::try_from(len + 5).expect("small"), ValueType::Text)
            );
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!((value.len(), bytes.len()), (len + 5, (len + 4) & !3));
            assert!(bytes.starts_with(text.as_bytes()) && bytes.iter().skip(len).all(|b| *b == 0));
            assert_eq!(value, TextValue::new(text));
        }
        assert_eq!(TextValue::new(&"a".repeat(17 << 20)).len(), LONGEST + 5);
    }
}
