//! `--check`: reports the effects of a configuration.

use std::fmt::Write;

use crate::config::{Loaded, Sections as _};
use crate::sources::registry::Sections;

/// The first two sources that listen at one address.
#[must_use]
pub fn clash(loaded: &Loaded<Sections>) -> Option<String> {
    let lines = loaded.config.sources.describe();
    let places: Vec<_> = lines.iter().filter_map(|line| line.split_once(": listens on ")).collect();
    places.iter().enumerate().filter(|(_, (_, at))| *at != "nowhere").find_map(
        |(n, (source, at))| {
            let (other, _) = places.iter().take(n).find(|(_, other)| other == at)?;
            Some(format!("{other}.listen and {source}.listen are both {at}"))
        },
    )
}

/// The report, one fact a line: first those of each source, then those of all.
#[must_use]
pub fn report(loaded: &Loaded<Sections>) -> String {
    let config = &loaded.config;
    let rights = config.rights();
    let mut out = format!("configuration: {}\n", loaded.origin());
    let mut line = |text: String| {
        let _ = writeln!(out, "{text}");
    };
    config.sources.describe().into_iter().for_each(&mut line);
    line(format!(
        "events: {} bytes, {} records a second",
        config.event_memory(),
        config.events.max_records
    ));
    let limits = &config.limits;
    line(format!("memory: {} bytes in all, {} for one peer", limits.memory, limits.peer_memory));
    for (source, allow) in Sections::NAMES.iter().zip(&rights.events) {
        line(format!("events of {source}: for {allow}"));
    }
    line(format!("control metrics: for {}", rights.control));
    line(format!("filters: for {}", rights.filter));
    out
}
