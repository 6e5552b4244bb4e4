//! `--check`: reports the effects of a configuration.

use std::fmt::Write;
use std::net::SocketAddr;

use crate::config::{Loaded, Sections as _};
use crate::sources::registry::Sections;

/// The first two sources that listen at one address.
#[must_use]
pub fn clash(loaded: &Loaded<Sections>) -> Option<String> {
    let lines = loaded.config.sources.describe();
    let places: Vec<_> = lines.iter().filter_map(|line| line.split_once(": listens on ")).collect();
    places.iter().enumerate().filter(|(_, (_, at))| *at != "nowhere").find_map(
        |(n, (source, at))| {
            let (other, place) = places.iter().take(n).find(|(_, other)| is_taken(at, other))?;
            Some(if place == at {
                format!("{other}.listen and {source}.listen are both {at}")
            } else {
                format!("{other}.listen is {place} and {source}.listen is {at}: only one can be")
            })
        },
    )
}

/// Two places are one, or two addresses with one port of which one is a part of the other: `0.0.0.0` is every address
/// of IPv4, `[::]` every address.
fn is_taken(one: &str, other: &str) -> bool {
    let (Ok(a), Ok(b)) = (one.parse::<SocketAddr>(), other.parse::<SocketAddr>()) else {
        return one == other;
    };
    let has = |all: SocketAddr, part: SocketAddr| {
        all.ip().is_unspecified() && (all.is_ipv6() || part.is_ipv4())
    };
    a.port() == b.port() && (a.ip() == b.ip() || has(a, b) || has(b, a))
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
    if !config.redact.patterns.is_empty() {
        let patterns = config.redact.patterns.len();
        line(format!(
            "texts: matches of {patterns} patterns are shown as {}",
            config.redact.replace
        ));
    }
    line(format!("control metrics: for {}", rights.control));
    line(format!("filters: for {}", rights.filter));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_which_one_is_a_part_of_the_other() {
        for (one, other, taken) in [
            ("127.0.0.1:1", "127.0.0.1:1", true),
            ("127.0.0.1:1", "127.0.0.1:2", false),
            ("127.0.0.1:1", "127.0.0.2:1", false),
            ("0.0.0.0:1", "127.0.0.1:1", true),
            ("0.0.0.0:1", "127.0.0.1:2", false),
            ("0.0.0.0:1", "[::1]:1", false),
            ("[::]:1", "127.0.0.1:1", true),
            ("[::]:1", "0.0.0.0:1", true),
            ("[::]:1", "[::1]:1", true),
            ("[::1]:1", "127.0.0.1:1", false),
            ("/run/s", "/run/s", true),
            ("/run/s", "0.0.0.0:1", false),
        ] {
            assert_eq!(
                (is_taken(one, other), is_taken(other, one)),
                (taken, taken),
                "{one} {other}"
            );
        }
    }
}
