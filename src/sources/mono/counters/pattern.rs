//! Patterns of counters, `CATEGORY/NAME` with `*` for any text, as in `mono.select` and the
//! controls.

use mono_counters::numbers::bare_category;

use crate::contract::Peer;
use crate::events::glob;
use crate::heap_size;

/// One pattern. The first `/` ends the category, because names can contain slashes:
/// `JIT/JIT/method_to_ir`.
///
/// Categories match in any letter case and with or without the `Mono ` of 2014; names match
/// exactly. `*` alone is every counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    category: String,
    name: String,
}

heap_size!(Pattern { text, category, name });

impl Pattern {
    /// Parses `CATEGORY/NAME`; blanks around it are ignored.
    ///
    /// # Errors
    /// The error in words for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (category, name) = match text.split_once('/') {
            _ if text == "*" => ("*", "*"),
            Some((category, name)) if !category.is_empty() && !name.is_empty() => (category, name),
            _ => return Err(format!("\"{text}\" is not CATEGORY/NAME")),
        };
        let category = bare_category(category).to_ascii_lowercase();
        Ok(Self { text: text.to_owned(), category, name: name.to_owned() })
    }

    /// Those of these texts that are patterns; what the others are is an error of the peer.
    pub(crate) fn sound(texts: &[String], peer: &mut Peer) -> Vec<Self> {
        let parsed = texts.iter().map(|text| Self::parse(text));
        parsed.filter_map(|pattern| pattern.map_err(|wrong| peer.error(&wrong)).ok()).collect()
    }

    /// The text given to [`Self::parse`].
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Category as written and name, if the pattern has no `*`.
    #[must_use]
    pub fn literal(&self) -> Option<(&str, &str)> {
        self.text.split_once('/').filter(|_| !self.text.contains('*'))
    }

    /// Whether the pattern matches the counter.
    #[must_use]
    pub fn matches(&self, category: &str, name: &str) -> bool {
        // The name is compared first: it differs most often, and the category costs an allocation.
        glob(self.name.as_bytes(), name.as_bytes())
            && glob(
                self.category.as_bytes(),
                bare_category(category).to_ascii_lowercase().as_bytes(),
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, category, name, matches) in [
            ("GC/*", "GC", "Minor GC time", true),
            ("gc/*", "GC", "Minor GC time", true),
            ("Mono GC/Minor GC time", "GC", "Minor GC time", true),
            ("GC/Minor GC time", "Mono GC", "Minor GC time", true),
            ("GC/minor gc time", "GC", "Minor GC time", false),
            ("GC/Minor*time", "GC", "Minor GC time", true),
            ("GC/*GC*", "GC", "Minor GC time", true),
            ("GC/*time*x", "GC", "Minor GC time", false),
            ("GC/Minor", "GC", "Minor GC time", false),
            ("JIT/JIT/*", "JIT", "JIT/method_to_ir", true),
            ("JIT/method_to_ir", "JIT", "JIT/method_to_ir", false),
            ("*", "JIT", "JIT/method_to_ir", true),
            ("*/Total*", "JIT", "Total code space allocated", true),
            ("*/*", "", "", true),
            (" JIT/Compiled methods ", "JIT", "Compiled methods", true),
            ("G*C/x", "GC", "x", true),
        ] {
            assert_eq!(
                Pattern::parse(pattern).unwrap().matches(category, name),
                matches,
                "{pattern} {category}/{name}"
            );
        }
    }

    #[test]
    fn what_is_no_pattern() {
        for text in ["", "GC", "/x", "GC/", "/"] {
            assert!(Pattern::parse(text).unwrap_err().contains("CATEGORY/NAME"), "{text}");
        }
    }

    #[test]
    fn a_literal_pattern_is_one_counter() {
        let literal = |text| {
            Pattern::parse(text).unwrap().literal().map(|(c, n)| (c.to_owned(), n.to_owned()))
        };
        assert_eq!(
            literal("Mono GC/Minor GC time"),
            Some(("Mono GC".into(), "Minor GC time".into()))
        );
        assert_eq!(literal("JIT/JIT/codegen"), Some(("JIT".into(), "JIT/codegen".into())));
        assert_eq!((literal("GC/*"), literal("*")), (None, None));
    }
}
