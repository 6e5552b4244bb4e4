//! The configured rights to see event records and to store to metrics.

use super::Network;

/// The clients with one right. Empty lists: all clients on this host, and all that pmcd has
/// authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// User ids.
    pub uids: Vec<u32>,
    /// User names; a user that pmcd has authenticated needs no account on this host.
    pub users: Vec<String>,
    /// Names of groups, primary or supplementary.
    pub groups: Vec<String>,
    /// Hosts of unauthenticated clients with the right.
    pub hosts: Vec<Network>,
    /// Also unauthenticated clients on other hosts.
    pub remote: bool,
    /// Clients of pmproxy(1) count as clients of this host. Else they count as on other hosts.
    pub pmproxy: bool,
    /// Root has the right, and with empty lists nobody else, as PCP 7.2 has it for `pmcd.control`.
    pub root: bool,
}

impl std::fmt::Display for Allow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listed = [
            self.uids.iter().map(|u| format!("uid {u}")).collect::<Vec<_>>(),
            self.users.iter().map(|u| format!("user {u}")).collect(),
            self.groups.iter().map(|g| format!("group {g}")).collect(),
        ];
        let mut whom = listed.concat();
        if self.root {
            whom.insert(0, "root".into());
        } else if whom.is_empty() {
            whom.push("all on this host and the authenticated".into());
        }
        whom.extend(self.hosts.iter().map(|h| format!("host {h}")));
        if self.remote {
            whom.push("the unauthenticated on other hosts".into());
        }
        if self.pmproxy {
            whom.push("clients of pmproxy".into());
        }
        f.write_str(&whom.join(", "))
    }
}

/// All rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Event records and tables, in the order of the catalogue's sources.
    pub events: Vec<Allow>,
    /// Storing to control metrics.
    pub control: Allow,
    /// Storing filters.
    pub filter: Allow,
}

/// What the configuration of sources lets the opener do besides opening files that have a name of theirs
/// (docs/security.md, the opener).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// It opens the memory of processes.
    pub memory: bool,
    /// It connects to sockets of processes.
    pub connect: bool,
    /// It starts processes that become another user.
    pub others: bool,
}

impl Grants {
    /// What one of both grants.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            memory: self.memory | other.memory,
            connect: self.connect | other.connect,
            others: self.others | other.others,
        }
    }
}
