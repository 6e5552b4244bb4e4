//! Shared code of the tests of `ctf`: paths of captures, babeltrace's texts, and comparison with
//! them.
#![allow(dead_code, reason = "each test uses some of it")]

#[path = "../../examples/ctfdump/dump.rs"]
pub mod dump;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctf::Trace;
use ctf::fs::Session;

/// A recorded trace with babeltrace's text of it.
pub struct Capture {
    pub name: String,
    pub dir: PathBuf,
    /// Directory of the trace's files.
    pub trace: PathBuf,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn corpus() -> PathBuf {
    root().join("qa/corpus/lttng")
}

/// Captures that are too large for the repository. Only ignored tests read them.
pub fn shared() -> PathBuf {
    let dir = root().join("../shared/data/lttng");
    assert!(dir.is_dir(), "no {}", dir.display());
    dir
}

/// The traces in a directory that have a text of babeltrace.
pub fn captures(dir: &Path) -> Vec<Capture> {
    let mut all: Vec<Capture> = Vec::new();
    let mut inner: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    inner.sort();
    for dir in inner {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let trace = ["trace", "received"].iter().map(|t| dir.join(t)).find(|t| t.is_dir());
        // babeltrace crashed on it, so its text is incomplete.
        let whole = !name.ends_with("bt2crash");
        if let Some(trace) = trace.filter(|_| whole && expected(&dir, "pretty").is_some()) {
            all.push(Capture { name, dir, trace });
        }
    }
    assert!(all.len() >= 6, "the captures of {} are missing", dir.display());
    all
}

/// The text of a file `expect.WHAT.txt` or `expect.WHAT.txt.gz`, if there is one. Not always UTF-8.
pub fn expected(dir: &Path, what: &str) -> Option<String> {
    let plain = dir.join(format!("expect.{what}.txt"));
    let packed = dir.join(format!("expect.{what}.txt.gz"));
    let bytes = if plain.is_file() {
        std::fs::read(plain).unwrap()
    } else if packed.is_file() {
        let out = Command::new("gzip").arg("-dc").arg(&packed).output().expect("gzip");
        assert!(out.status.success(), "gzip -dc {}", packed.display());
        out.stdout
    } else {
        return None;
    };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The events as text, losses and errors of packets, and errors of metadata.
pub fn dumped(dirs: &[PathBuf], how: dump::How) -> (String, dump::Report, Vec<String>) {
    let (session, errors) =
        Session::open_all(dirs).unwrap_or_else(|e| (Session::default(), vec![e]));
    let mut out = Vec::new();
    let report = dump::dump(&session, how, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), report, errors.iter().map(ToString::to_string).collect())
}

/// The streams of all traces below a directory, in memory.
pub fn streams(session: &Session) -> Vec<(&Trace, Vec<u8>)> {
    let whole = |paths: &[PathBuf]| -> Vec<u8> {
        paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    };
    let traces = session.traces().iter();
    traces.flat_map(|t| t.streams.iter().map(|s| (&t.trace, whole(&s.paths)))).collect()
}

/// The metadata file beside a stream file.
pub fn metadata_beside(path: &Path) -> Trace {
    Trace::from_metadata(&std::fs::read(path.with_file_name("metadata")).unwrap()).unwrap()
}

/// babeltrace 2.0.4 reuses the objects of fields for later events and does not clear their text for
/// an empty one: it then shows the text of an earlier event. Compares texts that are equal except
/// for that, and counts the differences.
#[derive(Default)]
pub struct Stale {
    pub count: usize,
    seen: HashSet<String>,
}

impl Stale {
    /// Whether lines are equal, or differ only where ours has an empty text and theirs an earlier
    /// text.
    pub fn same(&mut self, ours: &str, theirs: &str) -> bool {
        let mut found = 0;
        let (mut a, mut b) = (ours, theirs);
        let same = loop {
            let common = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
            if common == a.len() && common == b.len() {
                break true;
            }
            // Ours continues with the closing quote of an empty text, theirs with a text.
            let empty = a.get(..common).is_some_and(|s| s.ends_with(" = \""))
                && a[common..].starts_with('"');
            let Some(text) = b.get(common..).and_then(quoted_end).filter(|_| empty) else {
                break false;
            };
            if !self.seen.contains(&b[common..common + text]) {
                break false;
            }
            found += 1;
            (a, b) = (&a[common..], &b[common + text..]);
        };
        self.count += found;
        self.remember(ours);
        same
    }

    fn remember(&mut self, line: &str) {
        for (at, _) in line.match_indices(" = \"") {
            let text = &line[at + 4..];
            if let Some(end) = quoted_end(text) {
                self.seen.insert(text[..end].to_owned());
            }
        }
    }
}

/// Bytes up to a quote that is not escaped.
fn quoted_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|b| {
        let end = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        end
    })
}

/// Asserts that two texts have the same lines. Returns the number of empty texts that babeltrace
/// showed wrongly.
pub fn assert_same_lines(name: &str, ours: &str, theirs: &str) -> usize {
    let mut stale = Stale::default();
    for (n, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert!(stale.same(a, b), "{name}, line {}:\nours:       {a}\nbabeltrace: {b}", n + 1);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}: number of lines");
    stale.count
}
