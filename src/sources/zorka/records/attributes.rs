//! Which attributes a record may have, and their texts: whole characters, bounded, addresses without secrets.

use std::fmt::Write;

use crate::events::TextWriter;
use crate::model::{ParamItem, cut};
use crate::sources::zorka::metrics as m;

/// Appends bytes as text, at most `max` bytes of it; those that are not UTF-8 become U+FFFD.
pub(super) fn push(to: &mut TextWriter<'_>, bytes: &[u8], max: usize) {
    let end = to.len() + max;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let room = end.saturating_sub(to.len());
        let kept = cut(valid, room);
        to.push(kept);
        if kept.len() < valid.len() {
            return;
        }
        if !chunk.invalid().is_empty() {
            if to.len() + char::REPLACEMENT_CHARACTER.len_utf8() > end {
                return;
            }
            to.push("\u{fffd}");
        }
    }
}

/// 16 hexadecimal digits.
pub(super) fn push_id(to: &mut TextWriter<'_>, id: u64) {
    let _ = write!(to, "{id:016x}");
}

/// The parts of an address without its secrets: user and password, and all from the first `?`, `;`
/// or `#` on. `jdbc:oracle:thin:scott/tiger@host` has them too.
pub(super) fn public(url: &[u8]) -> [&[u8]; 2] {
    let end = memchr::memchr3(b'?', b';', b'#', url).unwrap_or(url.len());
    let url = url.get(..end).unwrap_or_default();
    let scheme = memchr::memmem::find(url, b"://").map(|at| at + 3);
    let is_web = url.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"http"));
    // In an address of the web, an @ may also be part of the path.
    let authority = match scheme {
        Some(start) if is_web => {
            let path = url.iter().skip(start).position(|b| *b == b'/');
            path.map_or(url.len(), |path| start + path)
        }
        None if url.first() == Some(&b'/') => 0,
        _ => url.len(),
    };
    let Some(at) = url.get(..authority).and_then(|part| memchr::memrchr(b'@', part)) else {
        return [url, b""];
    };
    let user = url.get(..at).unwrap_or_default();
    let start = scheme.filter(|start| *start <= at).unwrap_or_else(|| {
        let colons = user.iter().position(|b| *b == b'/').and_then(|slash| user.get(..slash));
        memchr::memrchr(b':', colons.unwrap_or(user)).map_or(0, |colon| colon + 1)
    });
    [url.get(..start).unwrap_or_default(), url.get(at + 1..).unwrap_or_default()]
}

/// How an attribute is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// As a parameter of its own.
    Text(ParamItem),
    /// The same for an address: user names, passwords and queries are left out.
    Url(ParamItem),
    /// Within the parameter `attributes`.
    Other,
}

/// Attributes with a parameter of their own: name (docs/protocols/zorka.md 5.2), name in agents
/// before 1.90.7, parameter. Of several of one parameter the first is shown.
const KNOWN: [(&str, &str, Role); 17] = [
    ("component", "", Role::Text(m::P_COMPONENT)),
    ("span.kind", "", Role::Text(m::P_KIND)),
    ("http.method", "METHOD", Role::Text(m::P_HTTP_METHOD)),
    ("http.url", "URI", Role::Url(m::P_HTTP_URL)),
    ("http.status_code", "STATUS", Role::Text(m::P_HTTP_STATUS)),
    ("db.statement", "SQL", Role::Text(m::P_DB_STATEMENT)),
    ("db.type", "", Role::Text(m::P_DB_TYPE)),
    ("db.url", "DB", Role::Url(m::P_DB_URL)),
    ("db.instance", "", Role::Text(m::P_DB_INSTANCE)),
    ("peer.service", "", Role::Text(m::P_PEER_SERVICE)),
    ("peer.address", "", Role::Url(m::P_PEER_ADDRESS)),
    ("peer.hostname", "", Role::Text(m::P_PEER_ADDRESS)),
    ("peer.ipv4", "", Role::Text(m::P_PEER_ADDRESS)),
    ("peer.ipv6", "", Role::Text(m::P_PEER_ADDRESS)),
    ("local.service", "", Role::Text(m::P_SERVICE)),
    ("thread.name", "", Role::Text(m::P_THREAD)),
    ("message_bus.destination", "", Role::Text(m::P_PEER_ADDRESS)),
];

/// Attributes whose values a client of the application chooses, with passwords and session ids
/// among them (docs/protocols/zorka.md 11). A pattern must begin so to match them.
const PRIVATE: [&str; 8] = [
    "http.header.",
    "http.cookie.",
    "http.param.",
    "HdrIn__",
    "HdrOut__",
    "CookieIn__",
    "CookieOut__",
    "Par__",
];
/// Words in names that no `*` matches.
const SECRET: [&[u8]; 7] =
    [b"passw", b"secret", b"token", b"credential", b"authorization", b"cookie", b"apikey"];

/// The patterns of `zorka.attributes`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    /// Whole names.
    exact: Vec<Box<str>>,
    /// Names begin so.
    prefixes: Vec<Box<str>>,
}

impl Allowed {
    /// Patterns: names, or starts of names with a `*` behind.
    pub(crate) fn new(patterns: &[impl AsRef<str>]) -> Self {
        let mut new = Self::default();
        for pattern in patterns {
            match pattern.as_ref().strip_suffix('*') {
                Some(prefix) => new.prefixes.push(prefix.into()),
                None => new.exact.push(pattern.as_ref().into()),
            }
        }
        new
    }

    /// How an attribute is shown; `None`: it is not.
    pub(super) fn role(&self, name: &str) -> Option<Role> {
        let known =
            KNOWN.iter().find(|(new, old, _)| name == *new || name == *old && !old.is_empty());
        let allowed = match known {
            // The name of the thread is part of every span.
            Some((_, _, Role::Text(m::P_THREAD))) => true,
            Some((new, ..)) => self.has(new) || self.has(name),
            None => self.has(name),
        };
        allowed.then(|| known.map_or(Role::Other, |(_, _, role)| *role))
    }

    fn has(&self, name: &str) -> bool {
        self.exact.iter().any(|exact| **exact == *name)
            || self.prefixes.iter().any(|prefix| name.starts_with(&**prefix) && open(name, prefix))
    }
}

/// A name that may be matched by a prefix of it.
fn open(name: &str, prefix: &str) -> bool {
    let group = PRIVATE.iter().find(|group| name.starts_with(*group));
    let secret =
        |word: &&[u8]| name.as_bytes().windows(word.len()).any(|w| w.eq_ignore_ascii_case(word));
    match group {
        Some(group) => prefix.starts_with(group),
        None => !SECRET.iter().any(secret),
    }
}

#[cfg(test)]
#[path = "tests/attributes.rs"]
mod tests;
