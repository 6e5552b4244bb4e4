//! Citations resolve: `docs/protocols/NAME.md SECTION` in code is a page with that heading, relative
//! links in pages lead to files, and nothing cites a folder that readers do not have.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with code that cites.
const CODE: &[&str] = &[
    "agents",
    "benches",
    "capi",
    "clients",
    "crates",
    "etc",
    "examples",
    "fuzz",
    "packaging",
    "qa",
    "src",
    "tests",
];
/// Folders that are generated, or that contain captures.
const SKIPPED: &[&str] = &["target", ".git", "artifacts", "corpus", "ctf-traces"];

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Text files below a folder, as (path from the top, text).
fn files(dir: &Path, found: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.map(|e| e.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                files(&path, found);
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push((path.strip_prefix(top()).unwrap().display().to_string(), text));
        }
    }
}

fn code() -> Vec<(String, String)> {
    let mut found = Vec::new();
    CODE.iter().for_each(|dir| files(&top().join(dir), &mut found));
    found.retain(|(path, _)| path != "tests/citations.rs");
    assert!(found.len() > 200, "where has the code gone?");
    found
}

fn pages() -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(top(), &mut found);
    found.retain(|(path, _)| path.ends_with(".md"));
    found
}

/// One line without the marks of comments, so that a citation may be broken between two lines.
fn flat(text: &str) -> String {
    let bare = |line: &str| line.trim().trim_start_matches(['/', '!', '#', '*']).trim().to_owned();
    text.lines().map(bare).collect::<Vec<_>>().join(" ")
}

/// The first words of a page's headings, without the full stop: `2.1`, `B.5`, `(ii)`.
fn headings(page: &str) -> Vec<String> {
    let text = fs::read_to_string(top().join(page)).unwrap();
    let marked = text.lines().filter_map(|l| l.trim_start_matches('#').strip_prefix(' '));
    marked.filter_map(|l| Some(l.split(' ').next()?.trim_end_matches('.').to_owned())).collect()
}

/// A token that names a section: `6`, `2.1`, `B.5`, `(iii)`.
fn section(token: &str) -> Option<&str> {
    let token = token.trim_end_matches(['.', ',', ';', ':', ')', '`', '"']);
    let inner = token.trim_matches(['(', ')']);
    let (head, tail) = inner.split_once('.').unwrap_or((inner, "0"));
    let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let letter = head.len() == 1 && head.bytes().all(|b| b.is_ascii_uppercase());
    let roman = token.starts_with('(') && inner.bytes().all(|b| b == b'i' || b == b'v');
    (roman || (number(tail) && (number(head) || (letter && inner.contains('.'))))).then_some(inner)
}

fn lettered(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The sections that follow a page's name: `section 6`, `sections 1 and 2`, `B.5, B.6`, `part (i)`.
fn sections(after: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for token in after.split_whitespace() {
        match token.trim_matches([',', '`']) {
            "" | "and" | "section" | "sections" | "part" | "parts" => {}
            other => match section(other) {
                // An item of the section before: `A.9, 1`.
                Some(name) if !name.contains('.') && found.last().is_some_and(|l| lettered(l)) => {}
                Some(name) => found.push(name.to_owned()),
                None => break,
            },
        }
        if token.ends_with(['.', ')', ';', ':']) && !token.starts_with('(') {
            break;
        }
    }
    found
}

#[test]
fn cited_sections_exist() {
    let (mut faults, mut cited) = (Vec::new(), 0);
    for (path, text) in code() {
        let text = flat(&text);
        for (at, _) in text.match_indices("docs/") {
            let rest = &text[at..];
            let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
            let Some(page) = rest[..end].find(".md").map(|i| &rest[..i + 3]) else { continue };
            if page.contains(['*', 'N']) {
                continue;
            }
            if !top().join(page).is_file() {
                faults.push(format!("{path}: there is no {page}"));
                continue;
            }
            let headings = headings(page);
            for name in sections(&rest[page.len()..]) {
                cited += 1;
                if !headings.iter().any(|h| h.trim_matches(['(', ')']) == name) {
                    faults.push(format!("{path}: {page} has no section {name}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(cited > 50, "only {cited} citations are recognised");
}

#[test]
fn nothing_cites_what_readers_do_not_have() {
    // In parts, so that this file does not match itself.
    let gone = [["spec", "s/"], ["(spe", "c "], ["desig", "n/"]].map(|p| p.concat());
    let numbered = |line: &str| {
        let rest = |at: usize| line[at + 5..].starts_with(|c: char| c.is_ascii_digit());
        line.match_indices(&["spe", "c "].concat()).any(|(at, _)| rest(at))
    };
    let mut faults = Vec::new();
    for (path, text) in code() {
        for (n, line) in text.lines().enumerate() {
            if numbered(line)
                || gone.iter().any(|g| line.contains(g.as_str()))
                || line.ends_with(gone[1].trim())
            {
                faults.push(format!("{path}:{}: {}", n + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn links_in_pages_lead_to_files() {
    let mut faults = Vec::new();
    for (path, text) in pages() {
        let folder: PathBuf = top().join(&path).parent().unwrap().to_owned();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split([')', '#']).next().unwrap();
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                faults.push(format!("{path}: {target}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
