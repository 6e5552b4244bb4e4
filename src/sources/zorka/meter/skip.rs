//! Where strings and comments of SQL end, in every dialect.

/// The rest of the statement cannot be read safely: dialects disagree about it.
pub(super) struct Ambiguous;

/// Length of the rest of a string, with its closing quote; the opening one was read. A quote behind
/// a backslash belongs to the string in one dialect and ends it in others.
pub(super) fn string(text: &str, quote: u8) -> Result<usize, Ambiguous> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied();
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = memchr::memchr2(quote, b'\\', rest).ok_or(Ambiguous)?;
        at += end + 1;
        if byte(at - 1) == Some(quote) {
            if byte(at) != Some(quote) {
                return Ok(at);
            }
            at += 1;
            continue;
        }
        match byte(at) {
            Some(b'\\') if byte(at + 1) != Some(quote) => at += 1,
            Some(b'\\') => return Err(Ambiguous),
            next if next == Some(quote) => return Err(Ambiguous),
            _ => {}
        }
    }
}

/// Length of Oracle's `'[text]'`, whose prefix `q` was read.
pub(super) fn alternative_quote(text: &str) -> Result<usize, Ambiguous> {
    let mut rest = text.chars();
    rest.next();
    let close = match rest.next().ok_or(Ambiguous)? {
        '[' => ']',
        '(' => ')',
        '{' => '}',
        '<' => '>',
        c => c,
    };
    let inner = rest.as_str();
    let close = format!("{close}'");
    let end = inner.find(&close).ok_or(Ambiguous)?;
    Ok(text.len() - inner.len() + end + close.len())
}

/// Length of a comment: `/* */`, or `--` to the end of the line.
pub(super) fn comment(text: &str) -> Result<usize, Ambiguous> {
    if let Some(inner) = text.strip_prefix("/*") {
        let (inner, _) = inner.split_once("*/").ok_or(Ambiguous)?;
        // Some dialects have comments within comments.
        return if inner.contains("/*") { Err(Ambiguous) } else { Ok(inner.len() + 4) };
    }
    let line = line(text);
    // MySQL wants a blank behind the dashes.
    let sure = line.get(2..).is_none_or(|l| l.is_empty() || l.starts_with(char::is_whitespace));
    if sure || !has_quote(line) { Ok(line.len()) } else { Err(Ambiguous) }
}

/// The rest of the line.
pub(super) fn line(text: &str) -> &str {
    text.split(['\n', '\r']).next().unwrap_or_default()
}

/// Whether a text has what begins or ends a string or a quoted name.
pub(super) fn has_quote(text: &str) -> bool {
    text.contains(['\'', '"', '`', '$'])
}

/// Characters of names.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '_' | '$')
        || !c.is_ascii() && !c.is_whitespace() && !c.is_control()
}
