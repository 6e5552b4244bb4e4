//! Keys that grant access: in `[events]`, `[events.SOURCE]`, `[access]`, `[access.control]` and
//! `[access.filter]`.

use serde::Deserialize;
use serde::de::MapAccess;

use super::section::Key;
use super::table::Table;
use super::units::{Bytes, Count, Networks, networks};
use crate::model::{Allow, Network, Rights};

const fn key(
    name: &'static str,
    default: &'static str,
    takes: &'static str,
    text: &'static str,
) -> Key {
    Key { name, default, takes, text }
}

/// The clients with one right.
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
    #[serde(deserialize_with = "networks")]
    pub allow_hosts: Vec<Network>,
    /// Also unauthenticated clients on other hosts.
    pub allow_remote: bool,
}

impl AllowKeys {
    /// The keys of `[events.SOURCE]`, `[access.control]` and `[access.filter]`.
    pub(super) const KEYS: &'static [Key] = &[
        key("allow_uids", "[]", "user ids", "Users by id."),
        key("allow_users", "[]", "names", "Users by name."),
        key("allow_groups", "[]", "names", "Groups by name."),
        key(
            "allow_hosts",
            "[]",
            "addresses and networks",
            "Hosts whose unauthenticated clients count as on this host.",
        ),
        key("allow_remote", "false", "true or false", "Also unauthenticated clients elsewhere."),
    ];
}

impl Table for AllowKeys {
    fn keys(&self) -> Vec<&'static str> {
        Self::KEYS.iter().map(|key| key.name).collect()
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "allow_uids" => self.allow_uids = map.next_value()?,
            "allow_users" => self.allow_users = map.next_value()?,
            "allow_groups" => self.allow_groups = map.next_value()?,
            "allow_hosts" => self.allow_hosts = map.next_value::<Networks>()?.0,
            _ => self.allow_remote = map.next_value()?,
        }
        Ok(())
    }
}

/// `[events]`: event records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// Bytes of packed records kept for all streams together.
    pub memory: u64,
    /// Most records of a stream for each second since a client's last fetch of it.
    pub max_records: u64,
    /// Clients that may see records.
    pub allow: AllowKeys,
    /// `[events.SOURCE]` for each source, instead of `allow`.
    pub sources: Vec<(&'static str, Option<AllowKeys>)>,
}

impl Events {
    /// The keys of `[events]`, beside those of [`AllowKeys`].
    pub(super) const KEYS: &'static [Key] = &[
        key("memory", "\"32MiB\"", "256KiB to 16GiB", "Memory for the records of all streams."),
        key(
            "max_records",
            "10000",
            "1 to 100000",
            "Most records of a stream for each second since a client's last fetch of it.",
        ),
    ];

    /// The defaults, with a section for each of these sources.
    pub(super) fn of(sources: &[&'static str]) -> Self {
        Self {
            memory: 32 << 20,
            max_records: 10_000,
            allow: AllowKeys::default(),
            sources: sources.iter().map(|name| (*name, None)).collect(),
        }
    }
}

impl Table for Events {
    fn keys(&self) -> Vec<&'static str> {
        let own = Self::KEYS.iter().map(|key| key.name).chain(self.allow.keys());
        own.chain(self.sources.iter().map(|(name, _)| *name)).collect()
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "memory" => {
                self.memory = map.next_value::<Bytes<{ 256 << 10 }, { 16 << 30 }>>()?.0;
            }
            "max_records" => self.max_records = map.next_value::<Count<1, 100_000>>()?.0,
            _ => match self.sources.iter_mut().find(|(name, _)| *name == key) {
                Some((_, allow)) => *allow = Some(map.next_value()?),
                None => self.allow.read(key, map)?,
            },
        }
        Ok(())
    }
}

/// What clients of pmproxy may do beyond what unauthenticated clients on other hosts may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pmproxy {
    /// Nothing.
    #[default]
    Remote,
    /// They see records as its user on this host does.
    Read,
    /// They also store as its user on this host may.
    Store,
}

/// `[access]`: storing to metrics, and clients of pmproxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// What clients of pmproxy may do.
    pub pmproxy: Pmproxy,
    /// Clients that may store.
    pub allow: AllowKeys,
    /// `[access.control]`, instead of `allow`.
    pub control: Option<AllowKeys>,
    /// `[access.filter]`, instead of `allow`.
    pub filter: Option<AllowKeys>,
}

impl Access {
    /// The keys of `[access]`, beside those of [`AllowKeys`].
    pub(super) const KEYS: &'static [Key] = &[key(
        "pmproxy",
        "\"remote\"",
        "remote, read or store",
        "What clients of pmproxy may do: what unauthenticated clients on other hosts may, also see records, also store.",
    )];
}

impl Table for Access {
    fn keys(&self) -> Vec<&'static str> {
        let own = Self::KEYS.iter().map(|key| key.name).chain(self.allow.keys());
        own.chain(["control", "filter"]).collect()
    }

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "pmproxy" => self.pmproxy = map.next_value()?,
            "control" => self.control = Some(map.next_value()?),
            "filter" => self.filter = Some(map.next_value()?),
            _ => self.allow.read(key, map)?,
        }
        Ok(())
    }
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
            pmproxy: false,
            root: false,
        }
    }
}

/// The rights that the two sections give.
pub(super) fn rights(events: &Events, access: &Access) -> Rights {
    let (reads, stores) = (access.pmproxy != Pmproxy::Remote, access.pmproxy == Pmproxy::Store);
    let or = |own: &Option<AllowKeys>, all: &AllowKeys, pmproxy| Allow {
        pmproxy,
        ..Allow::from(own.as_ref().unwrap_or(all))
    };
    Rights {
        events: events.sources.iter().map(|(_, own)| or(own, &events.allow, reads)).collect(),
        control: Allow { root: true, ..or(&access.control, &access.allow, stores) },
        filter: or(&access.filter, &access.allow, stores),
    }
}
