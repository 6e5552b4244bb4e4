//! Names of the files and sockets that may be opened: what sources have said that they read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the kernel puts behind the name of a file that is gone.
const DELETED: &[u8] = b" (deleted)";

/// Patterns of each source, of a folder's and a file's name: in `logs_*/#`, `#` stands for a decimal number, `*` for
/// any text.
#[derive(Clone, Copy, Debug)]
pub struct Names(pub &'static [&'static [&'static str]]);

impl Names {
    /// Whether the last two names of a path are as one of the patterns.
    pub(super) fn has(self, path: &Path) -> bool {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let file = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let file = file.strip_suffix(DELETED).unwrap_or(file);
        self.0.iter().copied().flatten().filter_map(|pattern| pattern.split_once('/')).any(
            |(folders, files)| {
                is(files.as_bytes(), file) && is(folders.as_bytes(), folder.as_bytes())
            },
        )
    }
}

/// Whether a name is as a pattern with at most some wildcards: each `#` takes all digits that there are.
fn is(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => {
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|n| is(rest, n)))
        }
        Some((b'#', rest)) => {
            let digits = name.iter().take_while(|b| b.is_ascii_digit()).count();
            digits > 0 && name.get(digits..).is_some_and(|name| is(rest, name))
        }
        Some((first, rest)) => name.split_first().is_some_and(|(b, n)| b == first && is(rest, n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_sources_read_has_a_name() {
        let names = Names(&[&["data_*/#", "shm/area.#"], &["*/door-#-#-socket"]]);
        let has = |path: &str| names.has(Path::new(path));
        for path in [
            "/tmp/data_shop/17",
            "/x/y/data_/0",
            "/dev/shm/area.5 (deleted)",
            "/dev/shm/area.5",
            "/tmp/door-5-77-socket",
            "/home/a b/door-5-77-socket",
        ] {
            assert!(has(path), "{path}");
        }
        for path in [
            "/etc/shadow",
            "/tmp/data_shop/17x",
            "/tmp/data_shop/",
            "/tmp/data_shop",
            "/tmp/data_shop/17/shadow",
            "/tmp/xdata_shop/17",
            "/dev/shm/area.",
            "/dev/shm/area.5x (deleted)",
            "/shm/x/area.5",
            "/tmp/door-5--socket",
            "/",
            "",
            "5",
        ] {
            assert!(!has(path), "{path}");
        }
    }
}
