//! The rules of the picture in src/lib.rs, checked in the `use` lines: the imports each module may
//! have.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Module → modules of this crate that it may name. Foreign crates are checked below.
const RULES: &[(&str, &[&str])] = &[
    ("read", &[]),
    ("ctf", &["read"]),
    ("model", &[]),
    ("catalogue", &["model"]),
    ("events", &["model"]),
    ("meter", &["contract", "model"]),
    ("contract", &["catalogue", "events", "model"]),
    ("runtimes", &["catalogue", "contract", "meter", "model"]),
    (
        "sources",
        &[
            "catalogue",
            "contract",
            "ctf",
            "events",
            "meter",
            "model",
            "read",
            "runtimes",
            "sources",
        ],
    ),
    ("store", &["catalogue", "contract", "events", "model"]),
    ("state", &["catalogue", "model", "store"]),
    ("config", &["model", "read", "store"]),
    ("generate", &["catalogue", "model"]),
    ("clock", &["model"]),
    ("confine", &[]),
    ("host", &["clock", "confine", "model"]),
    ("net", &["clock", "confine", "contract", "model", "read", "store"]),
    // A source's section of apm.toml, and its thin half that does I/O.
    ("sources::config", &["config", "contract", "model", "read", "sources"]),
    (
        "sources::io",
        &["clock", "config", "confine", "contract", "host", "model", "net", "sources", "store"],
    ),
    // How a source is started, and the list of all sources.
    ("sources::source", &["config", "host", "model", "net", "sources"]),
    (
        "sources::registry",
        &["catalogue", "config", "host", "model", "net", "sources", "store", "twins"],
    ),
    ("twins", &["catalogue", "clock", "confine", "host", "model", "store"]),
    (
        "callbacks",
        &["catalogue", "clock", "contract", "events", "model", "generate", "state", "store"],
    ),
];

/// Macros live at the root of the crate; "" is a list of them in braces.
const MACROS: &[&str] =
    &["", "event_params", "heap_size", "listed", "peer_metrics", "row_metrics", "section"];

/// Crates that only these modules may name.
const FOREIGN: &[(&str, &[&str])] = &[
    ("tokio", &["confine", "host", "net", "sources::io", "twins"]),
    ("tokio_util", &["confine", "net", "sources::io"]),
    ("socket2", &["net", "sources::io"]),
    ("libc", &["confine", "net"]),
    ("landlock", &["confine"]),
    ("seccompiler", &["confine"]),
    ("hyper", &["net"]),
    ("hyper_util", &["net"]),
    ("http_body_util", &["net"]),
    ("rustls", &["net"]),
    ("tokio_rustls", &["net"]),
    ("webpki", &["net"]),
    ("pmda", &["callbacks", "daemon", "host", "net", "options", "sources::io"]),
    ("pcp_sys", &[]),
];

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The lines of a file without comments and without its test module.
fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().take_while(|l| !l.starts_with("#[cfg(test)]"));
    lines.filter(|l| !l.trim_start().starts_with("//")).map(str::to_owned).collect()
}

/// `store` for `store/rows.rs`, `sources::io` for `sources/lttng/io/relay.rs`.
fn module(inner: &Path) -> String {
    let names: Vec<_> =
        inner.components().map(|c| c.as_os_str().to_string_lossy().replace(".rs", "")).collect();
    match &names[..] {
        [room, _, part, ..] if room == "sources" && (part == "io" || part == "config") => {
            format!("sources::{part}")
        }
        [room, file] if room == "sources" && (file == "source" || file == "registry") => {
            format!("sources::{file}")
        }
        [room, ..] => room.clone(),
        [] => String::new(),
    }
}

fn words_after<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    let ident =
        |s: &'a str| s.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
    line.match_indices(prefix).map(|(i, _)| ident(&line[i + prefix.len()..])).collect()
}

#[test]
fn imports_run_from_both_ends_to_the_middle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (src, examples) = (root.join("src"), root.join("examples"));
    let mut all = Vec::new();
    files(&src, &mut all);
    assert!(all.len() > 30, "where have the sources gone?");
    // It is there to be copied to src/sources.
    files(&examples.join("toy"), &mut all);
    let mut faults = Vec::new();
    for path in all {
        let toy = path.strip_prefix(&examples).map(|inner| Path::new("sources").join(inner));
        let inner = &*toy.unwrap_or_else(|_| path.strip_prefix(&src).unwrap().to_owned());
        // `x_tests.rs`, `x/tests.rs`, `x/tests/`.
        if inner.iter().any(|part| part.to_string_lossy().contains("tests")) {
            continue;
        }
        let module = module(inner);
        let Some((_, allowed)) = RULES.iter().find(|r| r.0 == module) else { continue };
        for line in code(&path) {
            for other in words_after(&line, "crate::") {
                if other != module && !allowed.contains(&other) && !MACROS.contains(&other) {
                    faults.push(format!(
                        "{}: {module} names {other}: {}",
                        inner.display(),
                        line.trim()
                    ));
                }
            }
            for (foreign, homes) in FOREIGN {
                if line.contains(&format!("{foreign}::")) && !homes.contains(&module.as_str()) {
                    faults.push(format!(
                        "{}: {module} names {foreign}: {}",
                        inner.display(),
                        line.trim()
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn unsafe_stays_behind_its_fences_and_rooms_stay_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for dir in ["src", "crates", "agents", "capi", "tests", "benches"] {
        files(&root.join(dir), &mut all);
    }
    for path in all {
        let inner = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() <= 500, "{inner} has more than 500 lines");
        let fenced = inner.starts_with("crates/pcp-sys/")
            || inner.starts_with("crates/pmda/src/")
            || inner.starts_with("agents/")
            || inner.starts_with("capi/");
        let word = concat!("un", "safe ");
        let named =
            text.lines().filter(|l| !l.trim_start().starts_with("//")).any(|l| l.contains(word));
        assert!(fenced || !named, "{inner} has {word}code outside the fences");
    }
}

#[test]
fn folders_stay_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for dir in ["src", "crates", "capi", "tests", "benches"] {
        files(&root.join(dir), &mut all);
    }
    let mut folders = std::collections::HashMap::new();
    for path in all {
        *folders.entry(path.parent().unwrap().to_path_buf()).or_insert(0) += 1;
    }
    for (folder, count) in folders {
        assert!(count <= 15, "{} has {count} files, at most 15", folder.display());
    }
}

/// Rooms that work for every protocol.
const GENERIC: &[&str] = &[
    "callbacks",
    "catalogue",
    "check.rs",
    "config",
    "contract",
    "daemon.rs",
    "generate.rs",
    "host",
    "main.rs",
    "meter",
    "net",
    "options.rs",
    "pmlogconf.rs",
    "runtimes",
    "state",
    "store",
    "twins.rs",
];

#[test]
fn generic_rooms_name_no_protocol() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src, &mut all);
    let mut faults = Vec::new();
    for path in all {
        let inner = path.strip_prefix(&src).unwrap().to_string_lossy().into_owned();
        if !GENERIC.iter().any(|room| inner == *room || inner.starts_with(&format!("{room}/")))
            || inner.contains("test")
        {
            continue;
        }
        for line in code(&path) {
            let lower = line.to_lowercase();
            // `now.monotonic` is the monotonic clock.
            let mono = ["mono::", "\"mono", "Mono "].iter().any(|word| line.contains(word));
            if mono
                || ["profiler", "lttng", "zorka", "dotnet", "jvm", "hsperf"]
                    .iter()
                    .any(|word| lower.contains(word))
            {
                faults.push(format!("{inner}: {}", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_source_names_no_other_source() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src.join("sources"), &mut all);
    let names: Vec<String> = fs::read_dir(src.join("sources"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    for path in all {
        let inner = path.strip_prefix(src.join("sources")).unwrap();
        let own = inner.components().next().unwrap().as_os_str().to_string_lossy();
        for other in names.iter().filter(|name| names.contains(&own.to_string()) && **name != own) {
            let named = code(&path).iter().any(|line| line.contains(&format!("sources::{other}")));
            assert!(!named, "{} names {other}", inner.display());
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["ctf", "jfr", "pcp-event", "pcp-sys", "pmda"] {
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let path = root.join("crates").join(name).join(file);
            assert!(path.is_file(), "{} leads nowhere", path.display());
        }
    }
}
