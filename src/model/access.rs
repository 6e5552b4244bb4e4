//! Who may see event records and store to metrics, as the configuration says it.

use super::Network;

/// Whom one thing is allowed to. Empty lists: everyone on this host, and whoever pmcd has
/// authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// User ids.
    pub uids: Vec<u32>,
    /// User names; those that pmcd has authenticated need no account on this host.
    pub users: Vec<String>,
    /// Names of groups, primary or supplementary.
    pub groups: Vec<String>,
    /// Clients that nobody has authenticated and that are on these hosts.
    pub hosts: Vec<Network>,
    /// Also clients on other hosts that nobody has authenticated.
    pub remote: bool,
}

impl std::fmt::Display for Allow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listed = [
            self.uids.iter().map(|u| format!("uid {u}")).collect::<Vec<_>>(),
            self.users.iter().map(|u| format!("user {u}")).collect(),
            self.groups.iter().map(|g| format!("group {g}")).collect(),
        ];
        let mut whom = listed.concat();
        if whom.is_empty() {
            whom.push("all on this host and the authenticated".into());
        }
        whom.extend(self.hosts.iter().map(|h| format!("host {h}")));
        if self.remote {
            whom.push("the unauthenticated on other hosts".into());
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
