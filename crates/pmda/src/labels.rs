//! Label sets.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fmt::Write;

use pcp_sys as sys;

use crate::cstring;

/// Labels of one level: names with text values, sent as JSON.
///
/// ```
/// let labels = pmda::LabelSet::new().with("role", "testing").with("path", "a \"b\"");
/// assert_eq!(labels.to_json(), r#"{"path":"a \"b\"","role":"testing"}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSet(BTreeMap<String, String>);

impl LabelSet {
    /// No labels.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a label, or replaces the one of the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The labels as a JSON object, in the order of their names.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = String::from("{");
        for (name, value) in &self.0 {
            if json.len() > 1 {
                json.push(',');
            }
            quote(&mut json, name);
            json.push(':');
            quote(&mut json, value);
        }
        json.push('}');
        json
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for LabelSet {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(labels: I) -> Self {
        Self(labels.into_iter().map(|(n, v)| (n.into(), v.into())).collect())
    }
}

/// Appends a JSON string. PCP's tools print it as it is: what would control a terminal is escaped.
fn quote(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\x08' => json.push_str("\\b"),
            '\x0c' => json.push_str("\\f"),
            c if c.is_control() || turns(c) => drop(write!(json, "\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
}

/// Characters that end a line or turn its direction.
const fn turns(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Adds labels to a set of libpcp_pmda; the status of pmdaAddLabels(3).
///
/// # Safety
/// `set` must be the place of a label set that libpcp_pmda passes to a label callback.
pub(crate) unsafe fn add(set: *mut *mut sys::pmLabelSet, labels: &LabelSet) -> c_int {
    let text = cstring::cut(&labels.to_json());
    // SAFETY: pmdaAddLabels(3): `set` as the caller promises; the format takes one C string, which
    // is copied.
    unsafe { sys::pmdaAddLabels(set, c"%s".as_ptr(), text.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let labels: LabelSet =
            [("a", "1\n\u{1}\u{7f}é"), ("a", "\t\u{8}\u{c}\r\\")].into_iter().collect();
        assert_eq!(labels.to_json(), r#"{"a":"\t\b\f\r\\"}"#);
        assert_eq!(
            LabelSet::new().with("b", "\n\u{1}\u{7f}é").to_json(),
            "{\"b\":\"\\n\\u0001\\u007fé\"}"
        );
        assert_eq!(
            LabelSet::new().with("\u{9b}", "a\u{202e}b\u{200f}日").to_json(),
            r#"{"\u009b":"a\u202eb\u200f日"}"#
        );
        assert_eq!(LabelSet::new().to_json(), "{}");
    }
}
