//! Quoted strings.

use std::fmt::Write as _;

/// Appends a string in quotes, with the escapes of C.
pub fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let escape = match c {
            '\\' => "\\\\",
            '\'' => "\\'",
            '"' => "\\\"",
            '?' => "\\?",
            '\x07' => "\\a",
            '\x08' => "\\b",
            '\x1b' => "\\e",
            '\x0c' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\x0b' => "\\v",
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
                continue;
            }
            c => {
                out.push(c);
                continue;
            }
        };
        out.push_str(escape);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes() {
        let mut out = String::new();
        super::quoted("a\"'\\?\n\u{1b}\u{1}\u{7f}é中", &mut out);
        assert_eq!(out, "\"a\\\"\\'\\\\\\?\\n\\e\\x01\\x7fé中\"");
    }
}
