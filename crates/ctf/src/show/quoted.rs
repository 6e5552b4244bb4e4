//! Quoted strings.

use std::fmt::Write as _;

/// Appends a string in quotes, with the escapes of C.
pub fn quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    // Most texts have nothing to escape; what must be is ASCII.
    while let Some(at) = rest.bytes().position(is_escaped) {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = from.chars();
        match chars.next().unwrap_or_default() {
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x1b' => out.push_str("\\e"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.extend(['\\', c]),
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

const fn is_escaped(byte: u8) -> bool {
    byte.is_ascii_control() || matches!(byte, b'\\' | b'\'' | b'"' | b'?')
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
