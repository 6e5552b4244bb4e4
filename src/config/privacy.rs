//! `[redact]` and `[labels]`: what is not shown of the texts of peers.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::model::redact::{PATTERNS, Pattern, REPLACEMENT, Redact};

crate::section! {
    /// `[redact]`: what is replaced in texts.
    RedactKeys;

    /// Regular expressions; what they match in a text of a peer is replaced.
    #[serde(deserialize_with = "patterns")]
    patterns: Vec<Pattern> = Vec::new(), "[]", "at most 32 of 1024 bytes";

    /// What is shown instead.
    #[serde(deserialize_with = "replacement")]
    replace: String = "***".to_owned(), r#""***""#, "1 to 16 ASCII characters without blanks, quotes, commas and backslashes";
}

crate::section! {
    /// `[labels]`
    Labels;

    /// Processes have the label `command`, the start of their command line, if their source tells it. `apm.SOURCE.process.command` has it in any case.
    command: bool = false, "false", "true or false";
}

impl RedactKeys {
    /// What holds for the store.
    pub(super) fn rules(&self) -> Redact {
        Redact::new(self.patterns.clone(), self.replace.clone())
    }
}

fn patterns<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Pattern>, D::Error> {
    let patterns = Vec::<Pattern>::deserialize(d)?;
    if patterns.len() > PATTERNS {
        let text = format!("at most {PATTERNS} patterns, not {}", patterns.len());
        return Err(D::Error::custom(text));
    }
    Ok(patterns)
}

fn replacement<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    let text = String::deserialize(d)?;
    let fits = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\' | b',');
    if (1..=REPLACEMENT).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(text);
    }
    Err(D::Error::custom(format!(
        "{text:?} is not 1 to {REPLACEMENT} ASCII characters without blanks, quotes, commas and backslashes"
    )))
}
