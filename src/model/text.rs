//! Texts.

/// The start of a text: at most `max` bytes, whole characters.
#[must_use]
pub fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn characters_stay_whole() {
        let starts = (0..=6).map(|max| cut("aé€", max));
        assert_eq!(starts.collect::<Vec<_>>(), ["", "a", "a", "aé", "aé", "aé", "aé€"]);
        assert_eq!(cut("aé€", usize::MAX), "aé€");
    }
}
