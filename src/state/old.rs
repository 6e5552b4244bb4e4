//! The state of pmdaapm 0.1: pmdaCache(3) files `<domain>.<serial>` with a header line, then lines
//! `<id> <time> <text>`. The files are only read, so that the old version can still use them.

use std::collections::HashMap;
use std::path::Path;

use super::file::Loaded;
use super::record::{Ending, LINE_MAX, Record};
use crate::catalogue::{AGENT_INDOM, Catalogue};

/// Serial number of the first name table; a source's table adds the source's own serial.
const NAMES_SERIAL: u32 = 1000;

/// Entries of one file: id, time it was added (seconds since 1970), text. A damaged line loses only
/// itself.
fn entries(dir: &Path, domain: u32, serial: u32, damaged: &mut usize) -> Vec<(u32, i64, String)> {
    let Ok(bytes) = std::fs::read(dir.join(format!("{domain}.{serial}"))) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for line in bytes.split(|b| *b == b'\n').skip(1).filter(|line| !line.is_empty()) {
        let text =
            std::str::from_utf8(line).ok().filter(|t| t.len() < LINE_MAX && !t.contains('\0'));
        let entry = text.and_then(|text| {
            let mut words = text.splitn(3, ' ');
            Some((
                words.next()?.parse().ok()?,
                words.next()?.parse().ok()?,
                words.next()?.to_owned(),
            ))
        });
        match entry {
            Some(entry) => found.push(entry),
            None => *damaged += 1,
        }
    }
    found
}

/// The old version's state as records of this version; `None` if there is none.
#[must_use]
pub fn read_old(dir: &Path, domain: u32, catalogue: &Catalogue) -> Option<Loaded> {
    let (mut records, mut damaged) = (Vec::new(), 0);
    let agents = entries(dir, domain, AGENT_INDOM, &mut damaged);
    // The mark protects an id even if the peer's own line is lost.
    let next = |of: String, ids: &[(u32, i64, String)]| Record::Next {
        of,
        next: ids.iter().map(|e| e.0.saturating_add(1)).max().unwrap_or(0),
    };
    records.push(next("agent".into(), &agents));
    let agents: HashMap<String, u32> = agents.into_iter().map(|(id, _, name)| (name, id)).collect();
    for (_, source) in catalogue.sources() {
        for (id, _, text) in entries(dir, domain, NAMES_SERIAL + source.indom.serial, &mut damaged)
        {
            let (path, persist) = text.split_once(' ').unwrap_or((&text, ""));
            let (path, persist) = (path.to_owned(), persist.to_owned());
            records.push(Record::Name {
                source: source.name.into(),
                id,
                path,
                persist,
                unseen: false,
            });
        }
        for (id, since, name) in entries(dir, domain, source.indom.serial, &mut damaged) {
            let agent = agents.get(&format!("{}::{name}", source.name)).copied();
            records.push(Record::Peer {
                source: source.name.into(),
                name,
                id,
                agent,
                left: Some(since),
                forgotten: false,
                end: Ending::default(),
                address: String::new(),
                labels: std::collections::BTreeMap::new(),
            });
        }
        for table in source.tables {
            for (id, since, key) in entries(dir, domain, table.indom.serial, &mut damaged) {
                records.push(Record::Row {
                    table: format!("{}/{}", source.name, table.name),
                    key,
                    id,
                    left: Some(since),
                });
            }
        }
    }
    (records.len() > 1).then_some(Loaded { records, damaged, ..Loaded::default() })
}
