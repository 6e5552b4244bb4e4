//! Who a client context is, and what it may: the configuration's names resolved to ids of this
//! host.

use std::cell::OnceCell;
use std::ffi::c_int;
use std::net::IpAddr;
use std::time::Duration;

use pmda::process::{group_id, groups_of, user_id};

use super::local::{self, Clients};
use super::sys;
use crate::model::{Allow, Network, Rights, SourceId};

/// How long an answer about connections from other hosts holds.
const LOCAL_FOR: Duration = Duration::from_secs(1);

/// A client context, as pmcd told of it (attributes of PCP_ATTR_*): nothing at all for an
/// unauthenticated TCP connection.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    uid: Option<u32>,
    gid: Option<u32>,
    user: Option<String>,
    groups: OnceCell<Vec<u32>>,
    /// The connections that pmcd had at a moment when this one was among them, and when that was.
    seen: Option<(Duration, Option<Clients>)>,
}

impl Credentials {
    /// Takes an attribute; others than of identity are ignored.
    pub(super) fn learn(&mut self, key: c_int, value: Option<String>) {
        match key {
            sys::PCP_ATTR_USERID => self.uid = value.and_then(|v| v.parse().ok()),
            sys::PCP_ATTR_GROUPID => self.gid = value.and_then(|v| v.parse().ok()),
            sys::PCP_ATTR_USERNAME => self.user = value,
            _ => {}
        }
    }

    pub(super) const fn uid(&self) -> Option<u32> {
        self.uid
    }

    /// For the log.
    pub(super) fn shown(&self) -> String {
        match (&self.user, self.uid) {
            (Some(user), _) => format!("user {user}"),
            (None, Some(uid)) => format!("uid {uid}"),
            (None, None) => "an unknown user".into(),
        }
    }

    const fn known(&self) -> bool {
        self.uid.is_some() || self.user.is_some()
    }

    /// Whether `all` holds of pmcd's connections, of which this context's is one, now or at an
    /// earlier moment of its life.
    fn among(&mut self, now: Duration, all: impl Fn(&Clients) -> bool) -> bool {
        if let Some((at, seen)) = &self.seen {
            let holds = seen.as_ref().is_some_and(&all);
            if holds || now.saturating_sub(*at) < LOCAL_FOR {
                return holds;
            }
        }
        let seen = local::clients();
        let holds = seen.as_ref().is_some_and(&all);
        self.seen = Some((now, seen));
        holds
    }

    /// Hosts one of which this client may be on, as they were when that was asked last.
    pub(super) fn hosts(&self) -> &[IpAddr] {
        self.seen.as_ref().and_then(|(_, seen)| seen.as_ref()).map_or(&[], Clients::elsewhere)
    }

    fn groups(&self) -> &[u32] {
        self.groups.get_or_init(|| {
            let mut all: Vec<u32> = self.gid.into_iter().collect();
            if let Some(uid) = self.uid {
                all.extend(groups_of(uid));
            }
            all
        })
    }
}

/// What one [`Allow`] comes to on this host.
#[derive(Debug, Default)]
pub(super) struct Permit {
    listed: bool,
    uids: Vec<u32>,
    users: Vec<String>,
    gids: Vec<u32>,
    hosts: Vec<Network>,
    remote: bool,
}

impl Permit {
    fn new(allow: &Allow) -> Self {
        let missing = |what: &str, name: &str| {
            log::warn!("the configuration allows {what} {name}, which this host does not know")
        };
        let mut uids = allow.uids.clone();
        for user in &allow.users {
            match user_id(user) {
                Some(uid) => uids.push(uid),
                None => missing("user", user),
            }
        }
        let gid = |group: &String| {
            let gid = group_id(group);
            if gid.is_none() {
                missing("group", group);
            }
            gid
        };
        Self {
            listed: !(allow.uids.is_empty() && allow.users.is_empty() && allow.groups.is_empty()),
            gids: allow.groups.iter().filter_map(gid).collect(),
            uids,
            users: allow.users.clone(),
            hosts: allow.hosts.clone(),
            remote: allow.remote,
        }
    }

    /// Whether a context has this right.
    pub(super) fn holds(&self, who: &mut Credentials, now: Duration) -> bool {
        if !who.known() {
            let hosts = &self.hosts;
            return self.remote
                || !self.listed && who.among(now, |clients| clients.all_here_or(hosts))
                || !hosts.is_empty() && who.among(now, |clients| clients.all_from(hosts));
        }
        !self.listed
            || who.uid.is_some_and(|uid| self.uids.contains(&uid))
            || who.user.as_ref().is_some_and(|user| self.users.contains(user))
            || (!self.gids.is_empty() && who.groups().iter().any(|gid| self.gids.contains(gid)))
    }
}

/// All rights.
#[derive(Debug, Default)]
pub(super) struct Permits {
    events: Vec<Permit>,
    pub(super) control: Permit,
    pub(super) filter: Permit,
}

impl Permits {
    pub(super) fn new(rights: &Rights) -> Self {
        Self {
            events: rights.events.iter().map(Permit::new).collect(),
            control: Permit::new(&rights.control),
            filter: Permit::new(&rights.filter),
        }
    }

    /// The right to see event records of a source.
    pub(super) fn events(&self, source: SourceId) -> Option<&Permit> {
        self.events.get(source.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(uid: Option<u32>, user: Option<&str>) -> Credentials {
        // Decided, so that the test does not depend on this host's connections.
        Credentials {
            uid,
            user: user.map(Into::into),
            seen: Some((Duration::MAX, None)),
            ..Credentials::default()
        }
    }

    /// A client without credentials, while pmcd has one connection from this host and others from
    /// these.
    fn unknown(others: &str) -> Credentials {
        let clients = Clients::of("127.0.0.1", others);
        Credentials { seen: Some((Duration::MAX, Some(clients))), ..Credentials::default() }
    }

    fn holds(allow: &Allow, mut who: Credentials) -> bool {
        Permit::new(allow).holds(&mut who, Duration::MAX)
    }

    #[test]
    fn everyone_here_or_authenticated_unless_somebody_is_listed() {
        let nobody = Allow::default();
        assert!(holds(&nobody, who(Some(1000), None)));
        assert!(holds(&nobody, who(None, Some("ann"))));
        assert!(!holds(&nobody, who(None, None)));
        assert!(holds(&nobody, unknown("")));
        assert!(!holds(&nobody, unknown("10.77.0.1")));
        let logger =
            Allow { hosts: vec!["10.77.0.0/16".parse().expect("a network")], ..Allow::default() };
        assert!(
            holds(&logger, unknown("10.77.0.1"))
                && holds(&logger, unknown(""))
                && holds(&logger, who(Some(5), None))
        );
        assert!(
            !holds(&logger, unknown("10.77.0.1 10.78.0.1")) && !holds(&logger, who(None, None))
        );
        let strict = Allow { uids: vec![7], ..logger };
        assert!(!holds(&strict, unknown("10.77.0.1")), "nobody has listed this host");
        let own = "127.0.0.1".parse().expect("an address");
        assert!(holds(
            &Allow { hosts: [strict.hosts.clone(), vec![own]].concat(), ..strict.clone() },
            unknown("10.77.0.1")
        ));
        let remote = Allow { remote: true, ..Allow::default() };
        assert!(holds(&remote, who(None, None)));
        let uids = Allow { uids: vec![7], ..Allow::default() };
        assert!(holds(&uids, who(Some(7), None)));
        assert!(!holds(&uids, who(Some(0), None)) && !holds(&uids, who(None, None)));
        assert!(!holds(&uids, unknown("")));
        let root = Allow { users: vec!["root".into(), "ann".into()], ..Allow::default() };
        assert!(holds(&root, who(Some(0), None)) && holds(&root, who(None, Some("ann"))));
        assert!(!holds(&root, who(Some(7), None)));
        let group =
            Allow { groups: vec!["root".into(), "no such group".into()], ..Allow::default() };
        assert!(
            holds(&group, who(Some(0), None)) && !holds(&group, who(Some(4_000_000_000), None))
        );
        assert!(!holds(
            &Allow { groups: vec!["no such group".into()], ..Allow::default() },
            who(Some(0), None)
        ));
    }
}
