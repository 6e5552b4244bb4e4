//! Texts of `name=value` parted by blanks (docs/events.md, "Attributes").

use std::borrow::Cow;

/// The names and values of a text. A name or value with a blank, a quote or `=` is in double quotes, with `\"` and
/// `\\`. Values of archives that were made before there were quotes reach to the next ` NAME=`.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let (name, behind) = quoted(rest, '=').or_else(|| {
            let (name, behind) = rest.split_once('=')?;
            Some((Cow::Borrowed(name), behind))
        })?;
        let (value, next) = quoted(behind, ' ').unwrap_or_else(|| bare(behind));
        rest = next;
        Some((name, value))
    })
}

/// A text in quotes that ends with `end` or as all does, and what comes behind it.
fn quoted(text: &str, end: char) -> Option<(Cow<'_, str>, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                let behind = inner.get(at + 1..)?;
                let last = behind.is_empty().then_some(behind);
                return Some((Cow::Owned(value), behind.strip_prefix(end).or(last)?));
            }
            '\\' => value.push(letters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// A value without quotes, and what comes behind it.
fn bare(text: &str) -> (Cow<'_, str>, &str) {
    let mut from = 0;
    while let Some(blank) = text.get(from..).and_then(|rest| rest.find(' ')).map(|at| at + from) {
        let behind = text.get(blank + 1..).unwrap_or_default();
        if named(behind) {
            return (Cow::Borrowed(text.get(..blank).unwrap_or(text)), behind);
        }
        from = blank + 1;
    }
    (Cow::Borrowed(text), "")
}

/// Whether a text begins with `NAME=`.
fn named(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && letters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        pairs(text).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    #[test]
    fn values_with_quotes_are_whole() {
        let found = read(r#"a=1 b="x y=z \"q\" \\" "c d"="" e=f"#);
        let expected = [("a", "1"), ("b", r#"x y=z "q" \"#), ("c d", ""), ("e", "f")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn values_of_before_reach_to_the_next_name() {
        let found = read("local.host=web 1 app=a = b");
        let expected = [("local.host", "web 1"), ("app", "a = b")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn no_text_hangs() {
        for text in ["", "=", "a", " ", "a=\"", "a=\"b\"c d=1", "==", "\u{e9}=\u{e9} \u{e9}"] {
            assert!(read(text).len() <= 2, "{text}");
        }
    }
}
