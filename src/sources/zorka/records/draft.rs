//! What a record has: its parameters, which attributes may be among them, and their texts: whole characters,
//! bounded, addresses without secrets.

use std::fmt::Write;

use arrayvec::ArrayVec;

use crate::contract::{EventParam, Peer};
use crate::model::{EventKindId, ParamItem, Stamp, cut};
use crate::sources::zorka::metrics::{self as m, PARAMS};

const MAX: usize = PARAMS.len();
const _: () = assert!(MAX < u64::BITS as usize, "a bit for each parameter");

/// A parameter: a number, or the end of its text in the draft.
#[derive(Clone, Copy, Debug)]
enum Field {
    Number(u64),
    Text(usize),
}

/// A record that is being made. A parameter is in it once: the first of several counts.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    fields: ArrayVec<(ParamItem, Field), MAX>,
    has: u64,
}

crate::heap_size!(Draft { text });

impl Draft {
    /// Begins a new record.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
        self.has = 0;
    }

    /// The record has the parameter.
    pub(super) const fn has(&self, item: ParamItem) -> bool {
        self.has & 1 << item.get() != 0
    }

    fn add(&mut self, item: ParamItem, field: Field) {
        if self.fields.try_push((item, field)).is_ok() {
            self.has |= 1 << item.get();
        }
    }

    /// Adds a number.
    pub(super) fn number(&mut self, item: ParamItem, value: u64) {
        if !self.has(item) {
            self.add(item, Field::Number(value));
        }
    }

    /// Adds a number that is not 0.
    pub(super) fn positive(&mut self, item: ParamItem, value: u64) {
        if value > 0 {
            self.number(item, value);
        }
    }

    /// Adds the text that `write` appends, if it is not empty.
    pub(super) fn text(&mut self, item: ParamItem, write: impl FnOnce(&mut String)) {
        if self.has(item) {
            return;
        }
        let start = self.text.len();
        write(&mut self.text);
        if self.text.len() > start {
            self.add(item, Field::Text(self.text.len()));
        }
    }

    /// Reports the record.
    pub(super) fn send(&self, kind: EventKindId, stamp: Stamp, flags: u32, peer: &mut Peer) {
        let mut params = ArrayVec::<EventParam<'_>, MAX>::new();
        let mut start = 0;
        for (item, field) in &self.fields {
            params.push(match *field {
                Field::Number(value) => EventParam::number(*item, value),
                Field::Text(end) => {
                    let text = self.text.get(start..end).unwrap_or_default();
                    start = end;
                    EventParam::text(*item, text)
                }
            });
        }
        peer.event(kind, stamp, flags, &params);
    }
}

/// Appends bytes as text, at most `max` bytes of it; those that are not UTF-8 become U+FFFD.
pub(super) fn push(to: &mut String, bytes: &[u8], max: usize) {
    let end = to.len() + max;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let room = end.saturating_sub(to.len());
        let kept = cut(valid, room);
        to.push_str(kept);
        if kept.len() < valid.len() {
            return;
        }
        if !chunk.invalid().is_empty() {
            if to.len() + char::REPLACEMENT_CHARACTER.len_utf8() > end {
                return;
            }
            to.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// 16 hexadecimal digits.
pub(super) fn push_id(to: &mut String, id: u64) {
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
#[path = "tests/draft.rs"]
mod tests;
