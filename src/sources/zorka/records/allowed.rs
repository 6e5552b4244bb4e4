//! The attributes that records may have, and the parameters that they become.

use crate::model::ParamItem;
use crate::sources::zorka::metrics as m;

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
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_or_starts_of_names() {
        let allowed = Allowed::new(&["http.url", "peer.*", "order.id", "db.statement"]);
        let role = |name| allowed.role(name);
        assert_eq!(role("http.url"), Some(Role::Url(m::P_HTTP_URL)));
        assert_eq!(role("URI"), Some(Role::Url(m::P_HTTP_URL)));
        assert_eq!(role("SQL"), Some(Role::Text(m::P_DB_STATEMENT)));
        assert_eq!(role("peer.ipv4"), Some(Role::Text(m::P_PEER_ADDRESS)));
        assert_eq!((role("peer.port"), role("order.id")), (Some(Role::Other), Some(Role::Other)));
        assert_eq!(["http.method", "METHOD", "order.ids", "peer", "", "DB"].map(role), [None; 6]);
        assert_eq!(role("thread.name"), Some(Role::Text(m::P_THREAD)));
    }

    #[test]
    fn secrets_are_shown_only_if_they_are_asked_for() {
        let secrets = [
            "http.header.in.Cookie.0",
            "http.cookie.id",
            "http.param.q",
            "HdrIn__Cookie",
            "CookieIn__secret",
            "Par__id",
            "db.PassWord",
            "auth.token.x",
        ];
        let all = Allowed::new(&["*", "http.*", "h*", "Hdr*"]);
        for name in secrets {
            assert_eq!(all.role(name), None, "{name}");
            assert_eq!(Allowed::new(&[name]).role(name), Some(Role::Other), "{name}");
        }
        let asked = Allowed::new(&["http.header.in.*"]);
        assert_eq!(asked.role("http.header.in.Host.0"), Some(Role::Other));
        assert_eq!(asked.role("http.header.out.Date.0"), None);
        assert_eq!(all.role("order.id"), Some(Role::Other));
    }
}
