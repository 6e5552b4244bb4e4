//! A stack as the name of an instance.

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
}
