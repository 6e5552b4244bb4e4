//! Patterns with `*`, for names of counters and of files.

/// `*` stands for any text. Linear but for the last `*`, where it is pattern × text at worst:
/// callers bound both.
#[must_use]
pub fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to try again: behind the last `*`, one more byte of the text taken by it.
    let mut star = None;
    while let Some(byte) = text.get(t) {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(want) if want == byte => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, t) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|b| *b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, fits) in [
            ("*.counters", "app.counters", true),
            ("*.counters", "app.counters.1", false),
            ("a*b*c", "a-bb-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*", "", true),
            ("x", "", false),
        ] {
            assert_eq!(glob(pattern.as_bytes(), text.as_bytes()), fits, "{pattern} {text}");
        }
    }
}
