//! Names of methods as flame graphs want them.

/// The name of a method that has none.
const UNKNOWN: &str = "unknown";

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
}
