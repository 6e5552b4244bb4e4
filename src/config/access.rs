//! Keys that say who may: in `[events]`, `[events.SOURCE]`, `[access]`, `[access.control]` and
//! `[access.filter]`.

use serde::Deserialize;

use super::units::count;
use crate::model::{Allow, Network, Rights};

/// Whom one thing is allowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllowKeys {
    /// User ids.
    pub allow_uids: Vec<u32>,
    /// User names.
    pub allow_users: Vec<String>,
    /// Group names.
    pub allow_groups: Vec<String>,
    /// Addresses and networks of unauthenticated clients.
    #[serde(deserialize_with = "super::units::networks")]
    pub allow_hosts: Vec<Network>,
    /// Also unauthenticated clients on other hosts.
    pub allow_remote: bool,
}

/// `[events]`: event records.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// Bytes of packed records kept for all streams together.
    #[serde(deserialize_with = "super::units::bytes::<_, { 256 << 10 }, { 16 << 30 }>")]
    pub memory: u64,
    /// Most records of a stream for each second since a client's last fetch of it.
    #[serde(deserialize_with = "count::<_, 1, 100_000>")]
    pub max_records: u64,
    /// User ids that may see records.
    pub allow_uids: Vec<u32>,
    /// User names.
    pub allow_users: Vec<String>,
    /// Group names.
    pub allow_groups: Vec<String>,
    /// Addresses and networks of unauthenticated clients.
    #[serde(deserialize_with = "super::units::networks")]
    pub allow_hosts: Vec<Network>,
    /// Also unauthenticated clients on other hosts.
    pub allow_remote: bool,
    /// `[events.mono]`, instead of the keys above.
    pub mono: Option<AllowKeys>,
    /// `[events.profiler]`, instead of the keys above.
    pub profiler: Option<AllowKeys>,
    /// `[events.lttng]`, instead of the keys above.
    pub lttng: Option<AllowKeys>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            memory: 32 << 20,
            max_records: 10_000,
            allow_uids: Vec::new(),
            allow_users: Vec::new(),
            allow_groups: Vec::new(),
            allow_hosts: Vec::new(),
            allow_remote: false,
            mono: None,
            profiler: None,
            lttng: None,
        }
    }
}

/// `[access]`: storing to metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// User ids that may store.
    pub allow_uids: Vec<u32>,
    /// User names.
    pub allow_users: Vec<String>,
    /// Group names.
    pub allow_groups: Vec<String>,
    /// Addresses and networks of unauthenticated clients.
    #[serde(deserialize_with = "super::units::networks")]
    pub allow_hosts: Vec<Network>,
    /// Also unauthenticated clients on other hosts.
    pub allow_remote: bool,
    /// `[access.control]`, instead of the keys above.
    pub control: Option<AllowKeys>,
    /// `[access.filter]`, instead of the keys above.
    pub filter: Option<AllowKeys>,
}

impl From<&AllowKeys> for Allow {
    fn from(keys: &AllowKeys) -> Self {
        let AllowKeys { allow_uids, allow_users, allow_groups, allow_hosts, allow_remote } =
            keys.clone();
        Self {
            uids: allow_uids,
            users: allow_users,
            groups: allow_groups,
            hosts: allow_hosts,
            remote: allow_remote,
        }
    }
}

/// The rights that the two sections give; `sources` are the names of all sources in their order.
pub(super) fn rights<'s>(
    events: &Events,
    access: &Access,
    sources: impl Iterator<Item = &'s str>,
) -> Rights {
    let all = Allow {
        uids: events.allow_uids.clone(),
        users: events.allow_users.clone(),
        groups: events.allow_groups.clone(),
        hosts: events.allow_hosts.clone(),
        remote: events.allow_remote,
    };
    let of = |source: &str| match source {
        "mono" => events.mono.as_ref().map(Allow::from),
        "profiler" => events.profiler.as_ref().map(Allow::from),
        "lttng" => events.lttng.as_ref().map(Allow::from),
        _ => None,
    };
    let store = Allow {
        uids: access.allow_uids.clone(),
        users: access.allow_users.clone(),
        groups: access.allow_groups.clone(),
        hosts: access.allow_hosts.clone(),
        remote: access.allow_remote,
    };
    let own = |keys: &Option<AllowKeys>| keys.as_ref().map_or_else(|| store.clone(), Allow::from);
    Rights {
        events: sources.map(|source| of(source).unwrap_or_else(|| all.clone())).collect(),
        control: own(&access.control),
        filter: own(&access.filter),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::sources::SOURCES;

    #[test]
    fn every_source_has_a_section_of_its_own() {
        for (at, source) in SOURCES.iter().enumerate() {
            let config = Config::parse(&format!("[events.{}]\nallow_uids = [7]", source.name))
                .expect(source.name);
            let rights = config.rights(SOURCES.iter().map(|s| s.name));
            let uids: Vec<_> = rights.events.iter().map(|allow| allow.uids.clone()).collect();
            assert!(
                uids.iter().enumerate().all(|(n, uids)| (*uids == [7]) == (n == at)),
                "{}: {uids:?}",
                source.name
            );
        }
    }
}
