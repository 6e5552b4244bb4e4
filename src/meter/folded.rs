//! Names of instances: a stack, and a text of a peer.

/// Name of a stack of which nothing is known.
const UNKNOWN: &str = "unknown";
/// Stands for outer frames that do not fit.
const MORE: &str = "...";

/// `OUTERMOST,…,INNERMOST` of frames, the innermost first, in at most `longest` bytes; `...` stands for outer
/// frames that do not fit.
#[must_use]
pub fn folded<T: AsRef<str>>(frames: &[T], longest: usize) -> String {
    let mut length = MORE.len();
    let fits = |frame: &&T| {
        length += frame.as_ref().len() + 1;
        length <= longest
    };
    let kept = frames.iter().take_while(fits).count();
    let mut name = if kept < frames.len() { format!("{MORE},") } else { String::new() };
    for frame in frames.iter().take(kept).rev() {
        name.push_str(frame.as_ref());
        name.push(',');
    }
    name.pop();
    if frames.is_empty() { UNKNOWN.to_owned() } else { name }
}

/// `text` with `_` for blanks and control characters, cut at a character to `longest` bytes.
#[must_use]
pub fn clean(text: &str, longest: usize) -> String {
    let mut name = String::with_capacity(text.len().min(longest));
    for c in text.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }) {
        if name.len() + c.len_utf8() > longest {
            break;
        }
        name.push(c);
    }
    name
}

/// A text as the key of a row: [`clean`], and `#` if nothing is left.
#[must_use]
pub fn row_key(text: &str, longest: usize) -> String {
    let key = clean(text, longest);
    if key.is_empty() { "#".to_owned() } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_frames_are_kept() {
        assert_eq!(folded::<&str>(&[], 9), "unknown");
        assert_eq!(folded(&["c", "b", "a"], 9), "a,b,c");
        assert_eq!(folded(&["c", "b", "a"], 8), "...,b,c");
        assert_eq!(folded(&["long"], 4), "...");
    }

    #[test]
    fn a_text_is_cut_at_a_character() {
        assert_eq!([clean(" a\tb", 9), clean("\u{e9}\u{e9}", 3)], ["_a_b", "\u{e9}"]);
        assert_eq!([row_key("", 9), row_key("a b", 9)], ["#", "a_b"]);
    }
}
