//! Options of the log profiler, as its header has them.

/// What a profiler was asked to report, as far as it decides which metrics have values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) gc: bool,
    pub(super) exception: bool,
    pub(super) monitor: bool,
    pub(super) alloc: bool,
    pub(super) moves: bool,
    pub(super) finalization: bool,
    pub(super) handles: bool,
    pub(super) heapshot: bool,
}

impl Options {
    /// Reads `log:nodefaults,gc,…`. Unknown words are of no concern.
    pub(super) fn parse(text: &str) -> Self {
        let words = text.split_once(':').map_or("", |(_, words)| words);
        let mut all = Self { exception: true, ..Self::default() };
        for word in words.split(',') {
            let (name, _) = word.split_once('=').unwrap_or((word, ""));
            match name {
                "nodefaults" => all = Self::default(),
                "gc" => all.gc = true,
                "exception" => all.exception = true,
                "monitor" => all.monitor = true,
                "gcalloc" => all.alloc = true,
                "gcmove" => all.moves = true,
                "finalization" => all.finalization = true,
                "gchandle" => all.handles = true,
                "heapshot" | "heapshot-on-shutdown" => (all.heapshot, all.gc) = (true, true),
                "alloc" => (all.alloc, all.gc, all.moves) = (true, true, true),
                "legacy" => {
                    (all.gc, all.exception, all.monitor) = (true, true, true);
                    (all.moves, all.finalization, all.handles) = (true, true, true);
                }
                _ => {}
            }
        }
        all
    }

    /// Classes of objects are known, and somebody wants to know them.
    pub(super) const fn tracks_objects(&self) -> bool {
        self.alloc && self.moves && (self.exception || self.monitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_turn_groups_on() {
        let none = Options::default();
        for (text, expected) in [
            ("log:nodefaults,counter", none),
            ("log:nodefaults,gc,output=x,y", Options { gc: true, ..none }),
            ("log:counter,output=|gc", Options { exception: true, ..none }),
            ("log", Options { exception: true, ..none }),
            (
                "log:nodefaults,exception,gcalloc,gcmove",
                Options { exception: true, alloc: true, moves: true, ..none },
            ),
            ("log:nodefaults,heapshot=2gc", Options { heapshot: true, gc: true, ..none }),
        ] {
            assert_eq!(Options::parse(text), expected, "{text}");
        }
        assert!(Options::parse("log:nodefaults,monitor,alloc").tracks_objects());
        assert!(!Options::parse("log:nodefaults,monitor,gcalloc").tracks_objects());
    }
}
