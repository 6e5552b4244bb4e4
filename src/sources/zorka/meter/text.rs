//! Texts of peers as instance names.

use std::borrow::Cow;

/// Bytes of a name, at most.
pub(crate) const NAME: usize = 250;

/// A text without blanks and control characters, at most [`NAME`] bytes; `#` if it is empty.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let fits = text.len() <= NAME && !text.is_empty();
    if fits && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::new();
    for c in text.chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        if clean.len() + c.len_utf8() > NAME {
            break;
        }
        clean.push(c);
    }
    if clean.is_empty() { Cow::Borrowed("#") } else { Cow::Owned(clean) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_blanks_and_an_end() {
        assert_eq!([clean("a.B"), clean(" a\nb\u{a0}"), clean("")], ["a.B", "_a_b_", "#"]);
        assert_eq!(clean(&"é".repeat(200)).len(), NAME);
    }
}
