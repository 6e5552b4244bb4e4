//! `--forget`: drops names of metrics that peers have brought from the state file, while no PMDA keeps it.

use std::path::Path;
use std::time::Duration;

use pmda::process::{FileLock, create_private, lock_file, open_private};

use crate::catalogue::Catalogue;
use crate::read::glob;
use crate::state::{Record, Replace, read, write};

/// Drops the names that match the pattern, in which `*` stands for anything. Returns them. Their numbers stay
/// reserved: a metric that is brought again gets a new one.
///
/// # Errors
/// In words: a PMDA keeps the file, or it cannot be read or written. It is unchanged then.
pub fn forget(
    dir: &Path,
    domain: u32,
    catalogue: &Catalogue,
    pattern: &str,
) -> Result<Vec<String>, String> {
    let path = dir.join(format!("apm.{domain}.state"));
    let lock = path.with_extension("state.lock");
    let at = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let _lock = match lock_file(&lock, Duration::ZERO).map_err(|e| at(&lock, &e))? {
        FileLock::Ours(lock) => lock,
        FileLock::Others(pid) => {
            let of = if pid.is_empty() { String::new() } else { format!(", process {pid}") };
            let kept = format!("a running PMDA keeps it{of}: stop pmcd, try again, start pmcd");
            return Err(at(&path, &kept));
        }
    };
    let loaded = open_private(&path).and_then(read).map_err(|e| at(&path, &e))?;
    if let Some(version) = loaded.newer {
        return Err(at(&path, &format!("it is of version {version}, of a later program")));
    }
    if loaded.damaged > 0 {
        eprintln!("{}", at(&path, &format!("{} damaged lines are left out", loaded.damaged)));
    }
    let mut dropped = Vec::new();
    let kept = loaded.records.into_iter().filter(|record| {
        let names = names(catalogue, record);
        let matches = names.iter().any(|name| glob(pattern.as_bytes(), name.as_bytes()));
        if matches {
            dropped.extend(names);
        }
        !matches
    });
    let kept: Vec<Record> = kept.collect();
    if !dropped.is_empty() {
        write(&path, create_private, Replace::Synced, kept.into_iter(), &loaded.kept)
            .map_err(|e| at(&path, &e))?;
    }
    Ok(dropped)
}

/// The names of a dynamic metric: of its values, and of its parameter.
fn names(catalogue: &Catalogue, record: &Record) -> Vec<String> {
    let Record::Name { source, path, persist, .. } = record else { return Vec::new() };
    let found = catalogue.id(source).and_then(|id| catalogue.source(id));
    let Some(spec) = found.and_then(|s| s.dynamic).and_then(|d| (d.restore)(persist)) else {
        return Vec::new();
    };
    let param = spec.place.has_param().then_some("param");
    let nodes = spec.place.node().into_iter().chain(param);
    nodes.map(|node| format!("apm.{source}.{node}.{path}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::test_kit;
    use crate::state::VERSION;

    #[test]
    fn names_that_match_are_dropped_and_their_numbers_are_not_given_again() {
        let dir = std::env::temp_dir().join(format!("apm-forget-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let path = dir.join("apm.400.state");
        let name = |id, path: &str| Record::Name {
            source: "toy".into(),
            id,
            path: path.into(),
            persist: test_kit::persist(path),
            unseen: false,
        };
        let records = [
            Record::Head { version: VERSION, saved: 7, clean: true },
            Record::Next { of: "toy names".into(), next: 3 },
            name(0, "junk_1"),
            name(1, "orders"),
            name(2, "junk_2"),
        ];
        let kept = ["{\"is\":\"later\"}".to_owned()];
        write(&path, create_private, Replace::Synced, records.iter().cloned(), &kept)
            .expect("room");
        let catalogue = test_kit::catalogue();
        let all = names(&catalogue, &records[2]);
        let drop = |pattern: &str| forget(&dir, 400, &catalogue, pattern);
        assert!(drop("apm.toy.nothing*").expect("sound").is_empty());
        let dropped = drop("apm.toy.*.junk_*").expect("sound");
        assert_eq!((dropped.len(), dropped.contains(&all[0])), (2 * all.len(), true));
        let left = read(open_private(&path).expect("there")).expect("sound");
        let expected: Vec<Record> =
            [0, 1, 3].map(|at: usize| records[at].clone()).into_iter().collect();
        assert_eq!((left.records, &left.kept[..]), (expected, &kept[..]));

        let lock = lock_file(&path.with_extension("state.lock"), Duration::ZERO);
        let refused = drop("*").expect_err("it is kept");
        assert!(refused.contains("stop pmcd"), "{refused}");
        std::mem::drop(lock);
        std::fs::remove_file(&path).expect("ours");
        assert!(drop("*").is_err(), "there is none");
        std::fs::remove_dir_all(&dir).expect("ours");
    }
}
