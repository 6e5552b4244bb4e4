//! The tags of a series as a name.

/// Bytes of the name, at most.
const NAME: usize = 200;

/// The tags in the order of their keys, as `KEY=VALUE,KEY=VALUE` without blanks; `-` without tags.
///
/// Runtimes write `key=value,key=value` without escapes and in the order of each call
/// (docs/protocols/dotnet.md 7). A comma is a separator only if a key and `=` follow; where the
/// text does not begin with those, it stays as it is.
pub(super) fn name(raw: &str, out: &mut String) {
    out.clear();
    if raw.is_empty() {
        return out.push('-');
    }
    match split(raw) {
        Some(mut pairs) => {
            pairs.sort_by(|a, b| key(a).cmp(key(b)));
            for (n, pair) in pairs.iter().enumerate() {
                if n > 0 {
                    push(",", out);
                }
                push(pair, out);
            }
        }
        None => push(raw, out),
    }
}

/// The pairs; `None`: the text does not begin with a key.
fn split(raw: &str) -> Option<Vec<&str>> {
    let mut starts: Vec<_> = vec![0];
    starts.extend(raw.match_indices(',').map(|(at, _)| at + 1));
    starts.retain(|&at| raw.get(at..).is_some_and(begins));
    if starts.first() != Some(&0) {
        return None;
    }
    let ends = starts.iter().skip(1).map(|at| at - 1).chain([raw.len()]);
    starts.iter().zip(ends).map(|(&start, end)| raw.get(start..end)).collect()
}

/// A key and `=` are next.
fn begins(text: &str) -> bool {
    let key = key(text);
    key.len() < text.len()
        && !key.is_empty()
        && !key.contains(|c: char| c == ',' || c.is_whitespace())
}

fn key(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(key, _)| key)
}

/// Appends a text without blanks and control characters.
fn push(text: &str, out: &mut String) {
    for c in text.chars() {
        let c = if c.is_whitespace() || c.is_control() { '_' } else { c };
        if out.len() + c.len_utf8() > NAME {
            return;
        }
        out.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_sorted_where_they_can_be_split() {
        for (raw, expected) in [
            ("", "-"),
            ("a=1", "a=1"),
            ("b=2,a=1", "a=1,b=2"),
            ("status=500,route=/odd,=x", "route=/odd,=x,status=500"),
            ("route=/odd,=x,status=500", "route=/odd,=x,status=500"),
            ("q=a, b,c=", "c=,q=a,_b"),
            ("x,y,a=1", "x,y,a=1"),
            ("=1,a=2", "=1,a=2"),
            (",", ","),
            ("text with\tblanks", "text_with_blanks"),
            ("k=1=2,j==", "j==,k=1=2"),
            ("z=1,z=0", "z=1,z=0"),
        ] {
            let mut out = String::from("old");
            name(raw, &mut out);
            assert_eq!(out, expected, "{raw}");
        }
        let mut out = String::new();
        name(&"é".repeat(500), &mut out);
        assert_eq!(out.len(), NAME);
    }
}
