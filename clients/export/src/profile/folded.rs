//! Lines of `pcp apm folded`.

use std::io::{self, BufRead, Read};

use serde::Deserialize;

use super::Folded;

/// Bytes of a line, and lines.
const MOST_LINE: u64 = 1 << 20;
const MOST_LINES: usize = 1 << 20;

/// A line of `pcp apm folded --json`.
#[derive(Deserialize)]
struct Line {
    stack: String,
    us: u64,
}

/// Reads lines: `SERVICE;FRAME;FRAME MICROSECONDS`, or those of `--json`.
///
/// # Errors
/// The stream fails, or a line is none.
pub fn folded(mut lines: impl BufRead) -> io::Result<Vec<Folded>> {
    let mut found = Vec::new();
    // One more, which is the end.
    for number in 1..=MOST_LINES + 1 {
        let mut line = String::new();
        if (&mut lines).take(MOST_LINE).read_line(&mut line)? == 0 {
            return Ok(found);
        }
        if line.trim().is_empty() {
            continue;
        }
        let stack = stack(line.trim_end_matches(['\n', '\r']));
        found.push(stack.ok_or_else(|| {
            io::Error::other(format!("line {number} is none of `pcp apm folded`"))
        })?);
    }
    Err(io::Error::other(format!("more than {MOST_LINES} lines")))
}

fn stack(line: &str) -> Option<Folded> {
    let (text, us) = if line.starts_with('{') {
        let line: Line = serde_json::from_str(line).ok()?;
        (line.stack, line.us)
    } else {
        let (stack, us) = line.rsplit_once(' ')?;
        (stack.to_owned(), us.parse().ok()?)
    };
    let mut parts = text.split(';');
    let service = parts.next().filter(|service| !service.is_empty())?;
    let mut frames: Vec<Box<str>> = parts.map(Box::from).collect();
    if frames.is_empty() {
        // What is of no service: `other`.
        frames.push(service.into());
    }
    let value = us.saturating_mul(1000);
    Some(Folded { service: service.into(), source: "".into(), frames, value, sampled: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let text = "shop/orders;A.a;B with blanks.b 12\n\nother 3\n\
                    {\"table\": \"folded\", \"stack\": \"shop;A.a\", \"us\": 7}\n";
        let found = folded(text.as_bytes()).unwrap();
        let found: Vec<_> =
            found.iter().map(|one| (&*one.service, one.frames.join("|"), one.value)).collect();
        let expected = [
            ("shop/orders", "A.a|B with blanks.b".to_owned(), 12_000),
            ("other", "other".to_owned(), 3000),
            ("shop", "A.a".to_owned(), 7000),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_none_is_refused() {
        for wrong in ["a;b", "a;b x", ";b 1", "{\"stack\": 1}", "{", "a;b -1"] {
            assert!(folded(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
