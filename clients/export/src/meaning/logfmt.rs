//! Texts of `name=value` parted by blanks (docs/events.md, "Attributes").

use std::borrow::Cow;

/// Texts of this many bytes may have been cut at their end: records have a limit. Shorter ones are whole.
const MAY_BE_CUT: usize = 64 << 10;

type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The names and values of a text. A name or value with a blank, a quote or `=` is in double quotes, with `\"` and
/// `\\`. Values of archives that were made before there were quotes reach to the next ` NAME=`.
pub(super) fn pairs(text: &str) -> Vec<Pair<'_>> {
    quoted_pairs(text).unwrap_or_else(|| old_pairs(text))
}

/// The pairs of a text that is as [`pcp_event::TextWriter::pair`] writes it; the last one may have been cut.
fn quoted_pairs(text: &str) -> Option<Vec<Pair<'_>>> {
    let (mut found, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (name, behind) = word(rest)?;
        let Some(behind) = behind.strip_prefix('=') else {
            let cut = rest.starts_with('"') || text.len() >= MAY_BE_CUT;
            return (behind.is_empty() && cut).then_some(found);
        };
        let (value, behind) = word(behind)?;
        found.push((name, value));
        rest = match behind.strip_prefix(' ') {
            Some(rest) => rest,
            None if behind.is_empty() => behind,
            None => return None,
        };
    }
    Some(found)
}

/// A name or a value, and what comes behind it. Only at the end it may be empty without quotes, or have no second one:
/// it was cut there.
fn word(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(inner) = text.strip_prefix('"') else {
        let ends = |c: char| c.is_ascii_control() || matches!(c, ' ' | '"' | '=');
        let (word, behind) = text.split_at(text.find(ends).unwrap_or(text.len()));
        return (!word.is_empty() || text.is_empty()).then_some((Cow::Borrowed(word), behind));
    };
    let mut value = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => value.extend(letters.next()),
            other => value.push(other),
        }
    }
    Some((Cow::Owned(value), letters.as_str()))
}

/// The pairs of a text as they were written before.
fn old_pairs(text: &str) -> Vec<Pair<'_>> {
    let mut rest = text.trim_start();
    let found = std::iter::from_fn(move || {
        let (name, behind) = quoted(rest, '=').or_else(|| {
            let (name, behind) = rest.split_once('=')?;
            Some((Cow::Borrowed(name), behind))
        })?;
        let (value, next) = quoted(behind, ' ').unwrap_or_else(|| bare(behind));
        rest = next;
        Some((name, value))
    });
    found.collect()
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
        pairs(text)
            .into_iter()
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect()
    }

    #[test]
    fn values_with_quotes_are_whole() {
        let found = read(r#"a=1 b="x y=z \"q\" \\" "c d"="" e=f"#);
        let expected = [("a", "1"), ("b", r#"x y=z "q" \"#), ("c d", ""), ("e", "f")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn names_are_quoted_and_have_any_letters() {
        let found = read(r#"a=1 "c d"=2 q[]=3 @t=4 1st=5 a/b=6"#);
        let expected =
            [("a", "1"), ("c d", "2"), ("q[]", "3"), ("@t", "4"), ("1st", "5"), ("a/b", "6")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn the_last_pair_may_be_cut() {
        let whole = r#"q[]=1 "c d"="x y""#;
        let first = ("q[]".to_owned(), "1".to_owned());
        for (cut, value) in [(15, Some("x ")), (13, Some("")), (12, Some("")), (9, None), (6, None)]
        {
            let last = value.map(|value| ("c d".to_owned(), value.to_owned()));
            let expected: Vec<_> = [first.clone()].into_iter().chain(last).collect();
            assert_eq!(read(&whole[..cut]), expected, "{cut}");
        }
        let long = format!("q[]=1 a={} b[", "x".repeat(MAY_BE_CUT));
        assert_eq!(read(&long).len(), 2);
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(
            pairs in proptest::collection::vec(("[^\0]{1,6}", "[^\0]{0,6}"), 0..6)
        ) {
            let mut batch = pcp_event::Batch::default();
            batch.record(pcp_event::Stamp::default(), 0);
            batch.begin_text();
            for (name, value) in &pairs {
                batch.text_writer().pair(|to| to.push(name), |to| to.push(value));
            }
            proptest::prop_assert_eq!(read(&batch.text_writer().text()), pairs);
        }
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
