//! Names of methods as people say them.

use std::fmt::Write;

/// Most bytes of a name that is shown.
const NAME_MAX: usize = 200;

/// `package.Class.method` of `returnType package.Class.method(argTypes) (Source.java:line) [jar]`
/// (spec B.2), without blanks; the whole word where it is no method.
pub(crate) fn method_name(word: &str) -> String {
    let head = word.split('(').next().unwrap_or(word).trim_end();
    let name = head.rsplit(' ').next().filter(|n| !n.is_empty()).unwrap_or(word);
    clean(name, NAME_MAX)
}

/// A name without blanks and control characters, cut at a character.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    for c in text.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }) {
        if out.len() + c.len_utf8() > max {
            break;
        }
        out.push(c);
    }
    out
}

/// The name of an id that has no word.
pub(crate) fn nameless(id: u32) -> String {
    let mut out = String::new();
    let _ = write!(out, "#{id}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_others() {
        for (word, name) in [
            (
                "void com.x.Main.run(int, java.lang.String[]) (Main.java:7) [app.jar]",
                "com.x.Main.run",
            ),
            (
                "java.net.URL java.lang.ClassLoader.getResource(java.lang.String) (ClassLoader.java:1395)",
                "java.lang.ClassLoader.getResource",
            ),
            ("void Demo.lambda$main$0() (Demo.java:3) [cls/app/]", "Demo.lambda$main$0"),
            ("call.info", "call.info"),
            ("", ""),
            ("(", "("),
            ("a\tb", "a_b"),
        ] {
            assert_eq!(method_name(word), name, "{word}");
        }
        assert_eq!(clean("\u{e9}\u{e9}", 3), "\u{e9}");
    }
}
