//! `--check`: reports the effects of a configuration.

use std::fmt::Write;
use std::net::SocketAddr;

#[cfg(feature = "agent")]
use crate::config::TlsKeys;
use crate::config::{Loaded, Sections as _};
use crate::model::Listening;
#[cfg(feature = "agent")]
use crate::net::{Tls, TlsFiles};
use crate::sources::registry::Sections;

/// The first two sources that listen at one address.
#[must_use]
pub fn clash(loaded: &Loaded<Sections>) -> Option<String> {
    let places = loaded.config.sources.listens();
    places.iter().enumerate().find_map(|(n, (key, at))| {
        let (at, mut before) = (at.address(), places.iter().take(n));
        let (other, place) = before.find(|(_, other)| is_taken(at, other.address()))?;
        let place = place.address();
        Some(if place == at {
            format!("{other} and {key} are both {at}")
        } else {
            format!("{other} is {place} and {key} is {at}: only one can be")
        })
    })
}

/// Listeners that others than this host's programs can reach and that are not encrypted, a line each.
#[must_use]
pub fn plain(sections: &Sections) -> Vec<String> {
    let places = sections.listens().into_iter();
    let open =
        places.filter(|(_, at)| matches!(at, Listening::Plain(at) if !at.ip().is_loopback()));
    open.map(|(key, at)| {
        let at = at.address();
        format!(
            "{key} = {at} is not encrypted: who is on the way can read and change what agents send \
             (docs/security.md, TLS)"
        )
    })
    .collect()
}

/// What `[tls]` is in force with; `None`: nothing needs it and nothing is set.
///
/// # Errors
/// Why no connection could be encrypted.
#[cfg(feature = "agent")]
pub fn tls(loaded: &Loaded<Sections>) -> Result<Option<(String, Vec<String>)>, String> {
    let keys = &loaded.config.tls;
    let mut places = loaded.config.sources.listens().into_iter();
    match places.find(|(_, at)| matches!(at, Listening::Tls(_))) {
        None if *keys == TlsKeys::default() => Ok(None),
        Some((key, _)) if *keys == TlsKeys::default() => {
            Err(format!("{key} needs certificate and key in [tls]"))
        }
        _ => Tls::check(&files(keys)).map(Some),
    }
}

/// `[tls]` for the listeners.
#[cfg(feature = "agent")]
#[must_use]
pub fn files(keys: &TlsKeys) -> TlsFiles {
    let TlsKeys { certificate, key, client_ca, names, crl } = keys.clone();
    TlsFiles { certificate, key, client_ca, names, crl }
}

/// Two addresses are one, or have one port and one is a part of the other: `0.0.0.0` is every address of IPv4, `[::]`
/// every address.
fn is_taken(a: SocketAddr, b: SocketAddr) -> bool {
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
    let wanted = [("seccomp", config.confine.seccomp), ("landlock", config.confine.landlock)];
    let wanted = wanted.iter().filter(|(_, on)| *on).map(|(key, _)| format!(", {key}"));
    line(format!("confinement: no_new_privs, no core dumps{}", wanted.collect::<String>()));
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
        ] {
            let address = |text: &str| text.parse().expect("an address");
            let (a, b) = (address(one), address(other));
            assert_eq!((is_taken(a, b), is_taken(b, a)), (taken, taken), "{one} {other}");
        }
    }
}
