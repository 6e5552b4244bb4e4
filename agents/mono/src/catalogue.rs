//! Counters, the names of their categories, and the patterns of the option `counters`.

use std::borrow::Cow;

use mono_counters::numbers::{bare_category, sections};

/// One counter as the runtime describes it; the numbers are the runtime's own
/// (docs/protocols/mono-counters.md section 4, E3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counter {
    /// Category bit.
    pub(crate) section: u32,
    /// Name within the category.
    pub(crate) name: String,
    /// Type, from 0 INT to 7 `TIME_INTERVAL`.
    pub(crate) kind: u32,
    /// Unit, an integer shifted left by 24 bits.
    pub(crate) unit: u32,
    /// Monotonic, constant or variable bit.
    pub(crate) variance: u32,
}

impl Counter {
    /// The category's name in List; the number of a section unknown to this module.
    pub(crate) fn category(&self) -> Cow<'static, str> {
        sections().find(|(section, _)| *section == self.section).map_or_else(
            || Cow::Owned(format!("{:#x}", self.section)),
            |(_, name)| Cow::Borrowed(name),
        )
    }
}

/// The section for a category's name: in any letter case, with or without the prefix `Mono ` of the
/// 2014 agents, or the number that [`Counter::category`] returns for an unknown section.
pub(crate) fn section_named(category: &str) -> Option<u32> {
    let bare = bare_category(category);
    sections()
        .find(|(_, name)| name.eq_ignore_ascii_case(bare))
        .map(|(section, _)| section)
        .or_else(|| u32::from_str_radix(bare.strip_prefix("0x")?, 16).ok())
}

/// The counters that Hello announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All counters known when the connection begins.
    All,
    /// The counters that match one of these patterns.
    Only(Vec<Pattern>),
}

impl Selection {
    /// Whether Hello announces `counter`.
    pub(crate) fn takes(&self, counter: &Counter) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| pattern.means(counter)),
        }
    }

    /// The patterns that match none of `counters`: most likely misspelt.
    pub(crate) fn idle<'a>(&'a self, counters: &'a [Counter]) -> impl Iterator<Item = &'a Pattern> {
        let patterns: &[Pattern] = match self {
            Self::All => &[],
            Self::Only(patterns) => patterns,
        };
        patterns.iter().filter(|pattern| !counters.iter().any(|counter| pattern.means(counter)))
    }
}

/// One item of `counters=`: `CAT/NAME`, `CAT/*` or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// As the user wrote it.
    pub(crate) text: String,
    section: Option<u32>,
    name: Option<String>,
}

impl Pattern {
    /// Parses one item. The first `/` ends the category, since names can contain slashes
    /// (`JIT/JIT/method_to_ir`).
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (section, name) = if text == "*" {
            (None, None)
        } else {
            let (category, name) = text
                .split_once('/')
                .filter(|(_, name)| !name.is_empty())
                .ok_or_else(|| format!("counter `{text}` is not CAT/NAME"))?;
            let section = section_named(category).ok_or_else(|| {
                let known: Vec<_> = sections().map(|(_, name)| name).collect();
                format!("category `{category}` is none of {}", known.join(" "))
            })?;
            (Some(section), (name != "*").then(|| name.to_owned()))
        };
        Ok(Self { text: text.to_owned(), section, name })
    }

    fn means(&self, counter: &Counter) -> bool {
        self.section.is_none_or(|section| section == counter.section)
            && self.name.as_ref().is_none_or(|name| *name == counter.name)
    }
}

#[cfg(test)]
mod tests {
    use mono_counters::numbers::{kind, unit};

    use super::*;

    fn counter(section: u32, name: &str) -> Counter {
        Counter {
            section,
            name: name.to_owned(),
            kind: kind::INT,
            unit: unit::RAW,
            variance: 1 << 28,
        }
    }

    #[test]
    fn every_section_has_a_name_that_leads_back() {
        for (section, name) in sections() {
            assert_eq!(counter(section, "x").category(), name);
            assert_eq!(section_named(name), Some(section));
            assert_eq!(section_named(&name.to_lowercase()), Some(section));
            assert_eq!(section_named(&format!("Mono {name}")), Some(section));
            assert_eq!(section_named(&format!("MONO {name}")), Some(section));
        }
        let future = counter(0x4_0000, "x");
        assert_eq!(section_named(&future.category()), Some(0x4_0000));
    }

    #[test]
    fn other_words_are_no_category() {
        for word in ["", "Mono ", "Mono", "MonoGC", "GC ", "Gc2", "é GC", "0x", "Mon\u{f6} GC"] {
            assert_eq!(section_named(word), None, "{word}");
        }
    }

    #[test]
    fn patterns() {
        let minor = counter(0x200, "Minor GC time");
        let ir = counter(0x100, "JIT/method_to_ir");
        for (text, takes_minor, takes_ir) in [
            ("*", true, true),
            ("gc/*", true, false),
            ("Mono GC/Minor GC time", true, false),
            ("GC/minor gc time", false, false),
            ("JIT/JIT/method_to_ir", false, true),
            ("JIT/Minor GC time", false, false),
        ] {
            let one = Selection::Only(vec![Pattern::parse(text).unwrap()]);
            assert_eq!(one.takes(&minor), takes_minor, "{text}");
            assert_eq!(one.takes(&ir), takes_ir, "{text}");
        }
        assert!(Selection::All.takes(&ir));
        assert!(!Selection::Only(Vec::new()).takes(&ir));
    }

    #[test]
    fn a_pattern_that_means_nothing_is_told() {
        let known = [counter(0x200, "Minor GC time")];
        let list = ["GC/*", "GC/Minor GC tme"].map(|text| Pattern::parse(text).unwrap());
        let selection = Selection::Only(list.to_vec());
        let idle: Vec<_> = selection.idle(&known).map(|p| p.text.as_str()).collect();
        assert_eq!(idle, ["GC/Minor GC tme"]);
        assert_eq!(Selection::All.idle(&known).count(), 0);
    }
}
