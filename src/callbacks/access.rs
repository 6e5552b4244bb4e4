//! The rights of client contexts: the configuration's names resolved to ids of this host.

use std::time::Duration;

use pmda::process::{Clients, group_id, user_id};

use super::audit::Audit;
use super::credentials::Credentials;
use crate::catalogue::Stat;
use crate::model::{Allow, Network, Rights, SourceId};
use crate::store::{LogThrottle, SelfStats};

/// An [`Allow`] with the ids of this host.
#[derive(Debug, Default)]
pub(super) struct Permit {
    listed: bool,
    uids: Vec<u32>,
    users: Vec<String>,
    gids: Vec<u32>,
    hosts: Vec<Network>,
    remote: bool,
    pmproxy: bool,
    root: bool,
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
            pmproxy: allow.pmproxy,
            root: allow.root,
        }
    }

    /// Whether a context has this right.
    pub(super) fn holds(&self, who: &mut Credentials, now: Duration) -> bool {
        if who.is_pmproxy() && !self.pmproxy {
            // Who asks may be anywhere: only a name that pmcd has authenticated tells more.
            let anyone = !self.listed && !self.root;
            return self.remote || who.user().is_some_and(|user| anyone || self.names(user));
        }
        if !who.known() {
            let listed = |far| self.hosts.iter().any(|host| host.contains(far));
            let direct = |clients: &Clients| self.pmproxy || !clients.pmproxy();
            return self.remote
                || !self.listed
                    && who.among(now, |all| {
                        (!self.root || all.pmproxy()) && direct(all) && all.all_here_or(listed)
                    })
                || !self.hosts.is_empty()
                    && who.among(now, |all| direct(all) && all.all_from(listed));
        }
        !self.listed && (!self.root || self.remote || who.is_pmproxy())
            || self.root && who.uid() == Some(0) && !who.is_pmproxy()
            || who.uid().is_some_and(|uid| self.uids.contains(&uid))
            || who.user().is_some_and(|user| self.names(user))
            || (!self.gids.is_empty() && who.groups().iter().any(|gid| self.gids.contains(gid)))
    }

    fn names(&self, user: &str) -> bool {
        self.users.iter().any(|listed| listed == user) || self.root && user == "root"
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

/// The rights, and the requests that they refuse.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub(super) permits: Permits,
    refusals: LogThrottle,
    pub(super) audit: Audit,
}

impl Access {
    /// Counts a request that was refused for want of a right, and logs it at most once a minute.
    pub(super) fn denied(
        &mut self,
        stats: &SelfStats,
        who: &Credentials,
        what: &str,
        now: Duration,
    ) {
        let advice = Self::refused(stats, who, what);
        if let Some(n) = self.refusals.allow(now) {
            log::warn!("{} may not {what}: {advice}{}", who.shown(), LogThrottle::more(n));
        }
    }

    /// Counts such a request, and tells what to do.
    pub(super) fn refused(stats: &SelfStats, who: &Credentials, what: &str) -> String {
        stats.add(Stat::AccessDenied, 1);
        let advice = match who.hosts() {
            _ if who.is_pmproxy() => "see pmproxy in [access] of apm.toml".to_owned(),
            _ if who.among_pmproxy() => {
                "over TCP and without credentials, every client may be pmproxy's while that \
                 is connected to pmcd; connect to local: instead, or see pmproxy in [access] of apm.toml"
                    .to_owned()
            }
            [] => "see [events] and [access] in apm.toml".to_owned(),
            [host, more @ ..] => {
                let and = match more.len() {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                format!(
                    "over TCP and without credentials, every client may \
                     be on host {host}{and} while that is connected to pmcd; connect to local: \
                     instead, or see allow_hosts and allow_remote in apm.toml"
                )
            }
        };
        stats.set_access_reason(format!("{} may not {what}: {advice}", who.shown()));
        advice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(uid: Option<u32>, user: Option<&str>) -> Credentials {
        Credentials::of(uid, user, None)
    }

    /// A client without credentials, while pmcd has one connection from this host and others from
    /// these hosts.
    fn unknown(others: &str) -> Credentials {
        let others = others.split_whitespace().map(|a| a.parse().expect("an address")).collect();
        let here = vec!["127.0.0.1".parse().expect("an address")];
        Credentials::of(None, None, Some(Clients::new(here, others)))
    }

    fn holds(allow: &Allow, mut who: Credentials) -> bool {
        Permit::new(allow).holds(&mut who, Duration::MAX)
    }

    #[test]
    fn clients_of_pmproxy_count_as_elsewhere_unless_the_administrator_says_otherwise() {
        let proxied = |user| Credentials::of_pmproxy(Some(0), user);
        let over_tcp = || {
            let here = vec!["127.0.0.1".parse().expect("an address")];
            Credentials::of(None, None, Some(Clients::new(here, Vec::new()).with_pmproxy()))
        };
        let nobody = Allow::default();
        assert!(!holds(&nobody, proxied(None)) && !holds(&nobody, over_tcp()));
        assert!(holds(&nobody, who(Some(0), None)), "others of its user");
        assert!(holds(&nobody, proxied(Some("ann"))), "pmcd has authenticated her");
        let root = Allow { uids: vec![0], users: vec!["root".into()], ..Allow::default() };
        assert!(!holds(&root, proxied(None)), "root is pmproxy's user, not the client");
        assert!(!holds(&root, proxied(Some("ann"))) && holds(&root, proxied(Some("root"))));
        let here = "127.0.0.0/8".parse().expect("a network");
        assert!(!holds(&Allow { hosts: vec![here], ..Allow::default() }, over_tcp()));
        for says in [
            Allow { remote: true, ..Allow::default() },
            Allow { pmproxy: true, ..Allow::default() },
        ] {
            assert!(holds(&says, proxied(None)) && holds(&says, over_tcp()));
        }
        let listed = Allow { uids: vec![7], pmproxy: true, ..Allow::default() };
        assert!(!holds(&listed, proxied(None)) && !holds(&listed, over_tcp()));
        assert!(holds(&Allow { uids: vec![0], ..listed }, proxied(None)));
    }

    #[test]
    fn controls_are_for_root_unless_somebody_is_listed() {
        let control = || Allow { root: true, ..Allow::default() };
        assert!(
            holds(&control(), who(Some(0), None)) && holds(&control(), who(None, Some("root")))
        );
        for other in [who(Some(1000), None), who(None, Some("ann")), unknown(""), who(None, None)] {
            assert!(!holds(&control(), other));
        }
        let ann = || Allow { users: vec!["ann".into()], ..control() };
        assert!(holds(&ann(), who(None, Some("ann"))) && holds(&ann(), who(Some(0), None)));
        assert!(!holds(&ann(), who(None, Some("bob"))));
        let here = Allow { hosts: vec!["127.0.0.0/8".parse().expect("a network")], ..control() };
        assert!(holds(&here, unknown("")) && !holds(&here, unknown("10.77.0.1")));
        let proxied = |uid, user| Credentials::of_pmproxy(uid, user);
        assert!(!holds(&control(), proxied(Some(0), None)), "root is pmproxy's user");
        assert!(holds(&control(), proxied(None, Some("root"))));
        let store = || Allow { pmproxy: true, ..control() };
        assert!(holds(&store(), proxied(Some(7), None)) && !holds(&store(), who(Some(7), None)));
        assert!(!holds(&store(), unknown("")), "no pmproxy is among them");
        let text = |allow: Allow| allow.to_string();
        assert_eq!((text(control()), text(ann())), ("root".into(), "root, user ann".into()));
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
