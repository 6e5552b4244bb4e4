//! Names of methods and stacks as flame graphs want them.

use crate::sources::mono::limits;

/// The name of a stack of which no method is known.
const UNKNOWN: &str = "unknown";
/// The beginning of a name that lost its outermost frames.
const MORE: &str = "...";

/// `Namespace.Class.Method` of `(wrapper …) Namespace.Class:Method (arguments)`. Commas, which part
/// frames, become `;`, and blanks go.
pub(super) fn method(name: &str) -> String {
    let name = match name.strip_prefix("(wrapper ").and_then(|rest| rest.split_once(") ")) {
        Some((_, name)) => name,
        None => name,
    };
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    let (class, method) = name.rsplit_once(':').unwrap_or(("", name));
    // `Class::.ctor` is `Class:` and `.ctor`.
    let parted = if class.is_empty() { "" } else { "." };
    let mut text = String::with_capacity(name.len());
    for c in class.chars().chain(parted.chars()).chain(method.chars()) {
        match c {
            ',' => text.push(';'),
            c if c.is_whitespace() || c.is_control() => {}
            c => text.push(c),
        }
    }
    if text.is_empty() { UNKNOWN.to_owned() } else { text }
}

/// `OUTERMOST,…,INNERMOST` of frames, the innermost first.
pub(super) fn stack(frames: &[String]) -> String {
    let mut length = MORE.len();
    let fits = |frame: &&String| {
        length += frame.len() + 1;
        length <= limits::STACK_NAME
    };
    let kept = frames.iter().take_while(fits).count();
    let mut name = if kept < frames.len() { format!("{MORE},") } else { String::new() };
    for frame in frames.iter().take(kept).rev() {
        name.push_str(frame);
        name.push(',');
    }
    name.pop();
    if frames.is_empty() { UNKNOWN.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_methods() {
        for (mono, ours) in [
            ("Truth:HotLeaf (long)", "Truth.HotLeaf"),
            ("A.B/C:.ctor (int,string)", "A.B/C..ctor"),
            (
                "(wrapper runtime-invoke) <Module>:runtime_invoke_void (object,intptr)",
                "<Module>.runtime_invoke_void",
            ),
            ("X.D`2<int, string>:Add (int,string)", "X.D`2<int;string>.Add"),
            ("NoClass", "NoClass"),
            ("", "unknown"),
        ] {
            assert_eq!(method(mono), ours);
        }
    }

    #[test]
    fn long_stacks_lose_their_outermost_frames() {
        let frames: Vec<String> = (0..100).map(|n| format!("A.B.Method{n:060}")).collect();
        let name = stack(&frames);
        assert!(name.len() <= limits::STACK_NAME && name.starts_with("...,A.B"));
        assert!(name.ends_with(&*frames[0]));
        assert_eq!(stack(&frames[..2]), format!("{},{}", frames[1], frames[0]));
        assert_eq!(stack(&[]), "unknown");
    }
}
