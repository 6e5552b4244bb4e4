//! What is replaced in the texts of peers before anybody sees them: section `[redact]`.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::text::cut;

/// Most patterns.
pub const PATTERNS: usize = 32;
/// Most bytes of a pattern.
pub const PATTERN: usize = 1024;
/// Most bytes of a pattern's program, and of what a search keeps of it.
pub const PROGRAM: usize = 128 << 10;
/// Most depth of groups within each other.
pub const NESTING: u32 = 32;
/// Bytes of a text that are searched: the rest of a longer one is cut off.
pub const SEARCHED: usize = 64 << 10;
/// Parts of a text that one pattern replaces: a text with more is cut before the next one, since each
/// search may go to the end.
pub const MATCHES: usize = 256;
/// Most bytes of the replacement.
pub const REPLACEMENT: usize = 16;

/// A pattern: a regular expression of the crate `regex`, whose time is linear in the text.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() > PATTERN {
            return Err(format!("a pattern has at most {PATTERN} bytes, this one {}", text.len()));
        }
        let regex = RegexBuilder::new(&text)
            .size_limit(PROGRAM)
            .dfa_size_limit(PROGRAM)
            .nest_limit(NESTING)
            .build()
            .map_err(|error| format!("{text:?}: {}", in_a_line(&error)))?;
        if regex.is_match("") {
            return Err(format!("{text:?} also matches where there is nothing"));
        }
        Ok(Self(regex))
    }
}

fn in_a_line(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => format!("its program is larger than {PROGRAM} bytes"),
        // The lines before it show the pattern.
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    }
}

/// What is replaced in texts, and by what. Nothing by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redact {
    patterns: Vec<Pattern>,
    replace: String,
}

impl Default for Redact {
    fn default() -> Self {
        Self { patterns: Vec::new(), replace: "***".to_owned() }
    }
}

impl Redact {
    /// Matches of `patterns` become `replace`.
    #[must_use]
    pub const fn new(patterns: Vec<Pattern>, replace: String) -> Self {
        Self { patterns, replace }
    }

    /// Nothing is replaced.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The text as it may be seen. It is not longer than before, or than the replacement.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let searched = cut(text, SEARCHED);
        self.patterns.iter().fold(Cow::Borrowed(searched), |text, pattern| {
            match self.replaced(&pattern.0, &text) {
                Some(replaced) => Cow::Owned(replaced),
                None => text,
            }
        })
    }

    /// `None`: the pattern is not in the text.
    fn replaced(&self, pattern: &Regex, text: &str) -> Option<String> {
        let (mut out, mut from) = (String::new(), 0);
        let mut found = pattern.find_iter(text);
        for part in found.by_ref().take(MATCHES).filter(|part| !part.is_empty()) {
            out.push_str(text.get(from..part.start()).unwrap_or_default());
            out.push_str(&self.replace);
            from = part.end();
        }
        let next = found.next().map_or(text.len(), |part| part.start());
        if from == 0 && next == text.len() {
            return None;
        }
        out.push_str(text.get(from..next).unwrap_or_default());
        let most = cut(&out, text.len().max(self.replace.len())).len();
        out.truncate(most);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(patterns: &[&str]) -> Redact {
        let patterns = patterns.iter().map(|p| Pattern::try_from((*p).to_owned()).expect(p));
        Redact::new(patterns.collect(), "***".into())
    }

    #[test]
    fn each_match_is_replaced() {
        let both = redact(&[r"(?i)password=\S+", r"\b\d{16}\b"]);
        for (text, shown) in [
            ("java -jar shop.jar", "java -jar shop.jar"),
            ("run Password=é,1 -v password=2", "run *** -v ***"),
            ("card 4111111111111111 of ä", "card *** of ä"),
            ("password=4111111111111111", "***"),
            ("", ""),
        ] {
            assert_eq!(both.text(text), shown, "{text}");
            assert_eq!(both.text(shown), shown, "what is replaced stays");
        }
        assert!(matches!(Redact::default().text("password=1"), Cow::Borrowed("password=1")));
        assert_eq!(redact(&["x"]).text("x x"), "***", "no longer than it was");
        assert_eq!(redact(&["x"]).text("x"), "***");
    }

    #[test]
    fn bounded() {
        let long = "é".repeat(SEARCHED);
        let shown = redact(&["x"]).text(&long).len();
        assert_eq!(shown, SEARCHED, "whole characters");
        let many = "secret ".repeat(MATCHES + 1);
        assert_eq!(
            redact(&["secret"]).text(&many),
            "*** ".repeat(MATCHES),
            "the next one is cut off"
        );
        // Each search goes to the end: without the limit this takes minutes.
        let slow = "a".repeat(SEARCHED);
        assert_eq!(redact(&["a(?:.*b)?"]).text(&slow).len(), 3 * MATCHES);
        assert!(redact(&[r"\b"]).text(&"a ".repeat(MATCHES)).len() < 2 * MATCHES);
    }

    #[test]
    fn patterns_that_are_refused_say_why() {
        for (pattern, why) in [
            ("(a", "unclosed group"),
            ("a{", "repetition"),
            ("a*", "where there is nothing"),
            (r"(a)\1", "backreferences are not supported"),
            (r"\pL{1000}", "larger than 131072 bytes"),
            (&format!("{}a{}", "(".repeat(40), ")".repeat(40)), "nest"),
            (&"a".repeat(PATTERN + 1), "at most 1024 bytes"),
        ] {
            let error = Pattern::try_from(pattern.to_owned()).expect_err(pattern);
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }
}
