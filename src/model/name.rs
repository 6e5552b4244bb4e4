//! Turns peers' names for metrics into PCP names.

use std::borrow::Cow;

/// Bytes of the name of a stack, frames with commas between them, at most.
pub const STACK_NAME: usize = 900;

/// One component of a metric name: lower case, each run of other characters than letters and digits
/// replaced by one underscore.
#[must_use]
pub fn component(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.is_empty() || out.ends_with('_') => {}
            _ => out.push('_'),
        }
    }
    out.truncate(out.trim_end_matches('_').len());
    // Not every PCP tool accepts names of one character or with a leading digit.
    if out.len() < 2 || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert_str(0, "c_");
    }
    out
}

/// Whether all components of a path are names for PCP: letters, digits and underscores, a letter first.
#[must_use]
pub fn is_path(path: &str) -> bool {
    path.split('.').all(|node| {
        node.starts_with(|c: char| c.is_ascii_alphabetic())
            && node.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// Characters that change the order of others, or are not seen.
#[must_use]
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// The name with a `_` for each character that changes the order of others, or is not seen.
#[must_use]
pub fn visible(name: &str) -> Cow<'_, str> {
    if name.is_ascii() || !name.contains(is_invisible) {
        return name.into();
    }
    name.replace(is_invisible, "_").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_seen_as_they_are() {
        assert_eq!(visible("shop/é1\u{202e}gpj.\u{200b}exe"), "shop/é1_gpj._exe");
        assert!(matches!(visible("shop/é1"), Cow::Borrowed("shop/é1")));
    }

    #[test]
    fn letters_digits_and_single_underscores() {
        for (raw, sanitised) in [
            ("Minor GC collections", "minor_gc_collections"),
            ("# major blocks allocated", "major_blocks_allocated"),
            ("JIT/method_to_ir", "jit_method_to_ir"),
            ("Valloc SGen mark&sweep", "valloc_sgen_mark_sweep"),
            ("MonoClass::ref_info_handle count", "monoclass_ref_info_handle_count"),
            ("Methods from AOT+LLVM", "methods_from_aot_llvm"),
            ("CPU Load Average - 1min", "cpu_load_average_1min"),
            ("JIT time (µs)", "jit_time_s"),
            ("_x_", "c_x"),
            ("15min load", "c_15min_load"),
            ("", "c_"),
            ("### ", "c_"),
            ("日本", "c_"),
            ("\u{212a}elvin", "elvin"),
        ] {
            assert_eq!(component(raw), sanitised, "{raw}");
        }
    }
}
