//! The credentials of a client context.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::time::Duration;

use pmda::Attribute;
use pmda::process::{Clients, groups_of, is_pmproxy};

/// How long a list of pmcd's connections is used.
const CONNECTIONS_FOR: Duration = Duration::from_secs(1);

/// Credentials from pmcd: none for an unauthenticated TCP connection.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    uid: Option<u32>,
    gid: Option<u32>,
    user: Option<String>,
    /// The client is pmproxy: `uid` and `gid` are not those of who asks.
    pmproxy: bool,
    /// It is pmproxy's web API: to pmcd's Unix socket, which has told its process, pmproxy passes nothing else on.
    web: bool,
    groups: OnceCell<Vec<u32>>,
    /// A list of pmcd's connections that includes this client's, and its time.
    seen: Option<(Duration, Option<Clients>)>,
}

impl Credentials {
    /// Sets a credential; attributes other than of identity are ignored.
    pub(super) fn set(&mut self, attribute: Attribute) {
        match attribute {
            Attribute::UserId(uid) => self.uid = uid,
            Attribute::GroupId(gid) => self.gid = gid,
            Attribute::ProcessId(pid) => {
                let is = pid.and_then(is_pmproxy);
                (self.pmproxy, self.web) = (is != Some(false), is == Some(true));
            }
            Attribute::UserName(user) => self.user = user,
            _ => {}
        }
    }

    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(super) const fn uid(&self) -> Option<u32> {
        self.uid
    }

    /// Text for the log.
    pub(super) fn shown(&self) -> String {
        match (&self.user, self.uid) {
            (Some(user), _) => format!("user {user}"),
            (None, _) if self.pmproxy => "a client of pmproxy".into(),
            (None, Some(uid)) => format!("uid {uid}"),
            (None, None) => "an unknown user".into(),
        }
    }

    /// Whether it asks for clients that may be anywhere.
    pub(super) const fn is_pmproxy(&self) -> bool {
        self.pmproxy
    }

    /// Whether it surely asks for clients of the web API, whose answers have no event arrays (null in REST, nothing in
    /// `/metrics`), and each of whose scrapes is a context of its own.
    pub(super) const fn is_web(&self) -> bool {
        self.web
    }

    /// Whether one of pmcd's TCP connections of this host may be pmproxy's, as of their last list.
    pub(super) fn among_pmproxy(&self) -> bool {
        self.seen.as_ref().and_then(|(_, seen)| seen.as_ref()).is_some_and(Clients::pmproxy)
    }

    pub(super) const fn known(&self) -> bool {
        self.uid.is_some() || self.user.is_some()
    }

    /// Whether `all` is true of pmcd's connections, which include this context's, now or at an
    /// earlier moment of its life.
    pub(super) fn among(&mut self, now: Duration, all: impl Fn(&Clients) -> bool) -> bool {
        if let Some((at, seen)) = &self.seen {
            let holds = seen.as_ref().is_some_and(&all);
            if holds || now.saturating_sub(*at) < CONNECTIONS_FOR {
                return holds;
            }
        }
        let seen = Clients::now();
        let holds = seen.as_ref().is_some_and(&all);
        self.seen = Some((now, seen));
        holds
    }

    /// Other hosts that this client may be on, as of the last list of pmcd's connections.
    pub(super) fn hosts(&self) -> &[IpAddr] {
        self.seen.as_ref().and_then(|(_, seen)| seen.as_ref()).map_or(&[], Clients::elsewhere)
    }

    pub(super) fn groups(&self) -> &[u32] {
        self.groups.get_or_init(|| {
            let mut all: Vec<u32> = self.gid.into_iter().collect();
            if let Some(uid) = self.uid {
                all.extend(groups_of(uid));
            }
            all
        })
    }
}

#[cfg(test)]
impl Credentials {
    /// A client that comes through pmproxy.
    pub(super) fn of_pmproxy(uid: Option<u32>, user: Option<&str>) -> Self {
        Self { pmproxy: true, ..Self::of(uid, user, None) }
    }

    /// A client while pmcd has these connections, or unknown ones: the test does not depend on the
    /// connections of this host.
    pub(super) fn of(uid: Option<u32>, user: Option<&str>, clients: Option<Clients>) -> Self {
        let seen = Some((Duration::MAX, clients));
        Self { uid, user: user.map(Into::into), seen, ..Self::default() }
    }
}
