//! Short names of methods.

use std::fmt::Write;

/// Bytes of the longest name.
const NAME_MAX: usize = 200;

/// `package.Class.method` of `returnType package.Class.method(argTypes) (Source.java:line) [jar]`
/// (docs/protocols/java-profiler.md B.2), without blanks; the whole word if it is not a method, `#` if that is empty: a row needs a name.
pub(crate) fn method_name(word: &str) -> String {
    let head = word.split('(').next().unwrap_or(word).trim_end();
    let name = head.rsplit(' ').next().filter(|n| !n.is_empty()).unwrap_or(word);
    if name.is_empty() { "#".to_owned() } else { clean(name, NAME_MAX) }
}

/// `text` with `_` for blanks and control characters, cut at a character to `max` bytes.
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

/// The agent's own method whose calls report lost calls, every 60 s while there are any
/// (docs/protocols/java-profiler.md B.6).
pub(crate) fn is_loss_report(word: &str) -> bool {
    word.split('(').next().is_some_and(|method| method.ends_with(".ESC_CORRUPTED_CALLS.log"))
}

/// The name shown for an id without a word.
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
            ("", "#"),
            ("(", "("),
            ("a\tb", "a_b"),
        ] {
            assert_eq!(method_name(word), name, "{word}");
        }
        assert_eq!(clean("\u{e9}\u{e9}", 3), "\u{e9}");
    }

    #[test]
    fn the_report_of_losses_is_known_by_its_method() {
        assert!(is_loss_report(
            "void com.netcracker.profiler.ESC_CORRUPTED_CALLS.log() (Dumper.java:200) [profiler-runtime.jar]"
        ));
        assert!(!is_loss_report(
            "void com.x.Main.run(com.netcracker.profiler.ESC_CORRUPTED_CALLS.log) (Main.java:1)"
        ));
        assert!(!is_loss_report("ESC_CORRUPTED_CALLS.log") && !is_loss_report(""));
    }
}
