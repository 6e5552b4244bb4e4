//! What the program has in it that is no source: its version, which is that of the package and the commit
//! that it was built from, and the page, which clients/page/build.py makes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=packaging/build.rs");
    println!("cargo::rerun-if-env-changed=PMDAAPM_COMMIT");
    if Path::new(".commit").exists() {
        println!("cargo::rerun-if-changed=.commit");
    }
    let mut version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    if let Some(commit) = commit() {
        version = format!("{version}+{commit}");
    }
    println!("cargo::rustc-env=PMDAAPM_VERSION={version}");
    page();
}

/// `apm.html` for `src/page.rs`. PCP needs Python too.
fn page() {
    for part in ["page", "rules", "cli/pcp_apm/columns.py"] {
        println!("cargo::rerun-if-changed=clients/{part}");
    }
    let made = Command::new("python3").arg("clients/page/build.py").output();
    let made = made.unwrap_or_else(|e| panic!("python3 for clients/page/build.py: {e}"));
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "clients/page/build.py: {said}");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let written = fs::write(folder.join("apm.html"), made.stdout);
    written.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
}

/// `8c2f1d0a3b`, or `8c2f1d0a3b.dirty` with changes that are not committed: by the environment, by the
/// file that `packaging/sources` makes, or by git. `None`: a build for tests,
/// which would be made again for each commit, or a tree that is not git's.
fn commit() -> Option<String> {
    if let Ok(commit) = env::var("PMDAAPM_COMMIT") {
        return Some(commit).filter(|commit| !commit.is_empty());
    }
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return None;
    }
    if let Ok(commit) = fs::read_to_string(".commit") {
        return Some(commit.trim().to_owned());
    }
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| text.trim().to_owned())
    };
    // A package that lies in another project's tree is not of that project's commit.
    if !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    // Which commit is checked out, and whether something was changed since.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    for path in [log.as_str(), "src", "crates"].into_iter().filter(|path| Path::new(path).exists())
    {
        println!("cargo::rerun-if-changed={path}");
    }
    git(&["describe", "--always", "--dirty=.dirty", "--abbrev=10", "--exclude=*"])
}
