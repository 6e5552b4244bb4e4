//! Babeltrace's own traces (`tests/data/ctf-traces` of its repository), if a copy is in
//! `tests/ctf-traces` or in the directory CTF_TRACES_DIR. They are not part of this repository.
//!
//! Valid traces have the text printed by babeltrace2 (which must be installed for that), faulty
//! ones give an error and no panic, and losses are those reported by babeltrace.
#![cfg(feature = "fs")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "a test"
)]

mod kit;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kit::dump::How;
use kit::{assert_same_lines, dumped, root};

fn corpora() -> PathBuf {
    let dir = std::env::var_os("CTF_TRACES_DIR").map(PathBuf::from);
    let dir = dir.unwrap_or_else(|| root().join("tests/ctf-traces"));
    assert!(dir.is_dir(), "CTF_TRACES_DIR is no directory of traces: {}", dir.display());
    dir
}

fn babeltrace(dir: &Path) -> Output {
    let mut command = Command::new("babeltrace2");
    command.args(["--clock-gmt", "--clock-date"]).arg(dir).output().expect("babeltrace2")
}

fn traces(dir: &Path) -> Vec<PathBuf> {
    let mut inner: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    inner.sort();
    inner
}

/// Count, kind, start and end of the lines about losses.
fn losses(lines: &str) -> Vec<String> {
    let lost = lines.lines().filter(|line| line.contains("Tracer discarded"));
    lost.map(|line| {
        let line = &line[line.find("Tracer").unwrap()..];
        let end = line.find(" in trace").or(line.find(" within stream")).unwrap();
        line[..end].to_owned()
    })
    .collect()
}

/// Compares all comparable output with babeltrace.
fn compare(dir: &Path) -> bool {
    let (text, told, faults) = dumped(&[dir.to_owned()], How::Dates);
    let name = dir.display().to_string();
    let theirs = babeltrace(dir);
    if theirs.status.code().is_none() {
        // babeltrace2 aborts on some traces, newer versions do not; then there is nothing to
        // compare with.
        println!("{name}: babeltrace2 {}", theirs.status);
        return false;
    }
    assert!(theirs.status.success(), "{name}: babeltrace2 {}", theirs.status);
    assert_eq!((told.errors, faults), (vec![], vec![]), "{name}");
    assert_same_lines(&name, &text, &String::from_utf8_lossy(&theirs.stdout));
    let (mut ours, mut lost) =
        (losses(&told.lost.join("\n")), losses(&String::from_utf8_lossy(&theirs.stderr)));
    ours.sort();
    lost.sort();
    assert_eq!(ours, lost, "{name}");
    true
}

#[test]
#[ignore = "reads the traces of babeltrace's repository: CTF_TRACES_DIR"]
fn what_must_succeed_is_babeltraces_text() {
    let corpora = corpora();
    let mut compared = 0;
    for group in ["succeed", "packet-seq-num", "intersection"] {
        compared += traces(&corpora.join(group)).iter().filter(|dir| compare(dir)).count();
    }
    for name in ["live/split-metadata", "deterministic-ordering/b-not-corrupted"] {
        compared += usize::from(compare(&corpora.join(name)));
    }
    println!("{compared} traces compared");
}

#[test]
#[ignore = "reads the traces of babeltrace's repository: CTF_TRACES_DIR"]
fn what_must_fail_gives_an_error() {
    let corpora = corpora();
    let all = traces(&corpora.join("fail"));
    assert!(all.len() >= 11, "where are they?");
    for dir in all {
        let (text, told, faults) = dumped(std::slice::from_ref(&dir), How::Dates);
        assert!(told.errors.len() + faults.len() > 0, "{}: no error", dir.display());
        if dir.ends_with("valid-events-then-invalid-events") {
            assert_eq!(text, "gadoua: \ngadoua: \n");
        } else {
            assert_eq!(text, "", "{}", dir.display());
        }
    }
}

#[test]
#[ignore = "reads the traces of babeltrace's repository: CTF_TRACES_DIR"]
fn losses_are_what_the_names_say() {
    let corpora = corpora();
    for (name, lost) in [
        ("packet-seq-num/no-lost", vec![]),
        ("packet-seq-num/no-lost-not-starting-at-0", vec![]),
        ("packet-seq-num/2-lost-before-last", vec!["2 packets"]),
        ("packet-seq-num/2-streams-lost-in-1", vec!["2 packets"]),
        ("packet-seq-num/2-streams-lost-in-2", vec!["2 packets", "3 packets", "1 packet"]),
        ("packet-seq-num/7-lost-between-2-with-index", vec!["7 packets"]),
        ("succeed/ev-disc-no-ts-begin-end", vec!["17 events"]),
        ("succeed/multi-domains", vec!["728 events"]),
    ] {
        let (_, told, _) = dumped(&[corpora.join(name)], How::Dates);
        let mut found: Vec<String> = losses(&told.lost.join("\n"))
            .iter()
            .map(|line| line.split(' ').skip(2).take(2).collect::<Vec<_>>().join(" "))
            .collect();
        let mut lost: Vec<String> = lost.into_iter().map(str::to_owned).collect();
        found.sort();
        lost.sort();
        assert_eq!(found, lost, "{name}");
    }
}

/// Metadata that only differs in line ends or underscores of mappings means the same.
#[test]
#[ignore = "reads the traces of babeltrace's repository: CTF_TRACES_DIR"]
fn forms_of_metadata() {
    let corpora = corpora();
    let text = |name: &str| dumped(&[corpora.join("succeed").join(name)], How::Dates).0;
    let events = |name: &str| {
        text(name)
            .lines()
            .map(|line| line[line.find(") ").unwrap()..].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(events("lf-metadata"), events("crlf-metadata"));
    let plain = text("meta-variant-no-underscore");
    assert_eq!(text("meta-variant-one-underscore"), plain);
    assert_eq!(text("meta-variant-same-with-underscore"), plain.replace("PELCHAT", "_PELCHAT"));
    assert_eq!(text("meta-variant-two-underscores"), plain.replace("PELCHAT", "__PELCHAT"));
}
