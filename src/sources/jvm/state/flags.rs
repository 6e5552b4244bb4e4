//! Limits of memory and processors that the command line sets: `java.rt.vmArgs`, with those of
//! JAVA_TOOL_OPTIONS and JDK_JAVA_OPTIONS in front.

use crate::sources::jvm::limits;

/// What was asked for, in bytes if nothing else is said; `None`: the JVM chooses. The text has lost
/// quotation: a word within a value that looks like an option is taken for one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flags {
    /// -Xmx, MaxHeapSize
    pub(crate) heap_max: Option<u64>,
    /// -Xms, InitialHeapSize
    pub(crate) heap_initial: Option<u64>,
    /// MaxRAMPercentage: the heap's limit as a part of the container's memory
    pub(crate) ram_percent: Option<f64>,
    /// MaxMetaspaceSize
    pub(crate) metaspace_max: Option<u64>,
    /// MaxDirectMemorySize
    pub(crate) direct_max: Option<u64>,
    /// ReservedCodeCacheSize
    pub(crate) code_cache_max: Option<u64>,
    /// -Xss, ThreadStackSize
    pub(crate) thread_stack: Option<u64>,
    /// ActiveProcessorCount
    pub(crate) processors: Option<u64>,
}

impl Flags {
    /// Of the text of `java.rt.vmArgs`. The last word of a text that was cut is left out.
    pub(crate) fn new(arguments: &[u8]) -> Self {
        let whole = if arguments.len() < limits::CUT {
            arguments
        } else {
            let end = arguments.iter().rposition(u8::is_ascii_whitespace).unwrap_or_default();
            arguments.get(..end).unwrap_or_default()
        };
        let mut flags = Self::default();
        let words = whole.split(u8::is_ascii_whitespace);
        for word in words.filter_map(|word| std::str::from_utf8(word).ok()) {
            flags.word(word);
        }
        flags
    }

    /// The last one of two counts, as for the JVM.
    fn word(&mut self, word: &str) {
        let (name, value) = match word.strip_prefix("-XX:") {
            Some(flag) => flag.split_once('=').unwrap_or_default(),
            // -Xmx64m
            None => word.split_at_checked(4).unwrap_or_default(),
        };
        let (field, value) = match name {
            "MaxHeapSize" | "-Xmx" => (&mut self.heap_max, size(value)),
            "InitialHeapSize" | "-Xms" => (&mut self.heap_initial, size(value)),
            "-Xss" => (&mut self.thread_stack, size(value)),
            // In KiB.
            "ThreadStackSize" => {
                (&mut self.thread_stack, size(value).map(|k| k.saturating_mul(1024)))
            }
            "MaxMetaspaceSize" => (&mut self.metaspace_max, size(value)),
            "MaxDirectMemorySize" => (&mut self.direct_max, size(value)),
            "ReservedCodeCacheSize" => (&mut self.code_cache_max, size(value)),
            "ActiveProcessorCount" => (&mut self.processors, value.parse().ok()),
            "MaxRAMPercentage" => {
                let percent = value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
                self.ram_percent = percent.or(self.ram_percent);
                return;
            }
            _ => return,
        };
        *field = value.or(*field);
    }
}

/// `512m`, `8G`, `1048576`: units are powers of 1024.
fn size(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(number.len()..)? {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        "t" | "T" => 1 << 40,
        _ => return None,
    };
    let digits = number.bytes().all(|b| b.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| digits)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let of = ["512m", "8G", "1048576", "1t", "2K", "0"].map(size);
        assert_eq!(of, [512 << 20, 8 << 30, 1 << 20, 1 << 40, 2048, 0].map(Some));
        for text in ["", "m", "-1m", "+1m", "1.5g", "1gb", "99999999999t", "1ü"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_one_counts() {
        let flags = Flags::new(
            b"-Xmx64m -Dx=-Xmx1g -Xms32m -Xmx96m -XX:MaxMetaspaceSize=128m -XX:ThreadStackSize=512 \
              -XX:MaxRAMPercentage=75.0 -XX:+UseG1GC -XX:ActiveProcessorCount=2 -Xmxfoo",
        );
        assert_eq!((flags.heap_max, flags.heap_initial), (Some(96 << 20), Some(32 << 20)));
        assert_eq!((flags.metaspace_max, flags.thread_stack), (Some(128 << 20), Some(512 << 10)));
        assert_eq!((flags.ram_percent, flags.processors), (Some(75.0), Some(2)));
        assert_eq!((flags.direct_max, flags.code_cache_max), (None, None));
    }

    #[test]
    fn a_cut_text_has_no_last_word() {
        let mut text = [b"-Xmx2g -D=".as_slice(), &[b'x'; 1007], b" -Xmx128m"].concat();
        text.truncate(1024);
        assert!(text.ends_with(b" -Xmx12"));
        assert_eq!(Flags::new(&text).heap_max, Some(2 << 30));
    }
}
