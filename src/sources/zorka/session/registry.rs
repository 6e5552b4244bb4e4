//! Registered agents and their ids: those before 1.90.7 keep the ids that they once got
//! (docs/protocols/zorka.md 3.1).
//!
//! The ids of a registered agent are hashes of its names and of the registration key: an agent
//! keeps them for ever, and a collector without its state file gives the same ones. They are no
//! secret to those who know the registration key.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

use super::Agent;
use crate::sources::zorka::limits::{NAME, REGISTERED, SESSION_ID};

/// Version of the file's layout.
const VERSION: u32 = 1;

/// A registered agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) id: u64,
    pub(crate) uuid: String,
    /// The key with which it opens sessions; empty: adopted without one.
    pub(crate) authkey: String,
    pub(crate) name: String,
    pub(crate) app: String,
    pub(crate) env: String,
    /// The instance name.
    pub(crate) shown: String,
}

impl Registration {
    fn is_valid(&self) -> bool {
        let short = |text: &str| text.len() <= NAME + 16 && !text.chars().any(char::is_control);
        visible(self.uuid.as_bytes(), SESSION_ID).is_some()
            && !self.shown.is_empty()
            && !self.shown.contains(char::is_whitespace)
            && [&self.authkey, &self.name, &self.app, &self.env, &self.shown]
                .into_iter()
                .all(|text| short(text))
    }

    fn whole_name(&self) -> String {
        whole_name(&self.name, &self.app, &self.env)
    }
}

fn whole_name(name: &str, app: &str, env: &str) -> String {
    [name, app, env].join("\n")
}

/// Why a session is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The id cannot be one.
    Malformed,
    /// The id is not known, and new agents are not admitted.
    Unknown,
    /// The key is not that of the id.
    WrongKey,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    version: u32,
    agents: Vec<Registration>,
}

/// All registered agents, in the order of their registration.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    agents: BTreeMap<u64, (Registration, Weak<Agent>)>,
    next: u64,
    /// By id and by UUID.
    by_id: HashMap<String, u64>,
    by_name: HashMap<String, u64>,
    /// By instance name.
    by_shown: HashMap<String, u64>,
    /// Changes have not been written yet.
    dirty: bool,
}

impl Registry {
    /// Reads a file's text; an empty one has no agents.
    ///
    /// # Errors
    /// The text is damaged, or of a later version.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut registry = Self::default();
        if text.is_empty() {
            return Ok(registry);
        }
        let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if file.version > VERSION {
            return Err(format!("version {} is newer than {VERSION}", file.version));
        }
        for agent in file.agents.into_iter().filter(Registration::is_valid).take(REGISTERED) {
            registry.add(agent);
        }
        registry.dirty = false;
        Ok(registry)
    }

    /// The text of the file, if it has changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.dirty) {
            return None;
        }
        let agents = self.agents.values().map(|(agent, _)| agent.clone()).collect();
        serde_json::to_string(&File { version: VERSION, agents }).ok()
    }

    /// The text could not be written.
    pub(crate) const fn keep_changes(&mut self) {
        self.dirty = true;
    }

    /// Number of agents.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.agents.len()
    }

    /// The agent with these names, if it has registered before.
    pub(crate) fn known(&self, name: &str, app: &str, env: &str) -> Option<&Registration> {
        let serial = self.by_name.get(&whole_name(name, app, env))?;
        self.agents.get(serial).map(|(agent, _)| agent)
    }

    /// Registers an agent with new ids. `key`: the registration key.
    pub(crate) fn register(&mut self, name: &str, app: &str, env: &str, key: &str) -> Registration {
        let texts = [key, name, app, env];
        let mut agent = Registration {
            id: number(&texts),
            uuid: uuid(&texts),
            authkey: letters(&texts),
            name: name.to_owned(),
            app: app.to_owned(),
            env: env.to_owned(),
            shown: String::new(),
        };
        while self.by_id.contains_key(&agent.id.to_string()) {
            agent.id += 1;
        }
        agent.shown = self.free_name(&clean(name, NAME), &agent.uuid);
        self.add(agent.clone());
        agent
    }

    /// The agent of an id that opens a session. `adopt`: an unknown id is taken for one that the
    /// agent got before the file was lost.
    ///
    /// # Errors
    /// [`Refusal`]
    pub(crate) fn open(
        &mut self,
        id: &str,
        authkey: &str,
        adopt: bool,
    ) -> Result<&mut (Registration, Weak<Agent>), Refusal> {
        let id = visible(id.as_bytes(), SESSION_ID).ok_or(Refusal::Malformed)?;
        let serial = match self.by_id.get(id) {
            Some(serial) => *serial,
            None if !adopt => return Err(Refusal::Unknown),
            None => self.adopt(id, authkey)?,
        };
        let found = self.agents.get_mut(&serial).ok_or(Refusal::Unknown)?;
        if !found.0.authkey.is_empty() && found.0.authkey != authkey {
            return Err(Refusal::WrongKey);
        }
        Ok(found)
    }

    fn adopt(&mut self, id: &str, authkey: &str) -> Result<u64, Refusal> {
        let plausible = (1..=SESSION_ID).contains(&authkey.len())
            && authkey.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !plausible {
            return Err(Refusal::WrongKey);
        }
        let mut agent = Registration {
            id: id.parse().unwrap_or_else(|_| number(&[id])),
            uuid: if id.parse::<u64>().is_ok() { uuid(&[id]) } else { id.to_owned() },
            ..Registration::default()
        };
        while self.by_id.contains_key(&agent.id.to_string()) {
            agent.id = agent.id.wrapping_add(1);
        }
        let name = format!("agent-{}", if id.len() > 8 { digits(id) } else { id.to_owned() });
        agent.shown = self.free_name(&name, &agent.uuid);
        Ok(self.add(agent))
    }

    /// A name that no other registered agent has.
    fn free_name(&self, name: &str, uuid: &str) -> String {
        if !self.by_shown.contains_key(name) {
            return name.to_owned();
        }
        let name = format!("{name}#{}", digits(uuid));
        let mut free = name.clone();
        let mut n = 1;
        while self.by_shown.contains_key(&free) {
            n += 1;
            free = format!("{name}.{n}");
        }
        free
    }

    fn add(&mut self, agent: Registration) -> u64 {
        if self.agents.len() >= REGISTERED {
            self.drop_oldest();
        }
        let serial = self.next;
        self.next += 1;
        self.by_id.insert(agent.id.to_string(), serial);
        self.by_id.insert(agent.uuid.clone(), serial);
        if !agent.name.is_empty() {
            self.by_name.insert(agent.whole_name(), serial);
        }
        self.by_shown.insert(agent.shown.clone(), serial);
        self.agents.insert(serial, (agent, Weak::new()));
        self.dirty = true;
        serial
    }

    /// Drops an eighth of the agents: the oldest ones without a session. They can register again,
    /// with the same ids.
    fn drop_oldest(&mut self) {
        let idle = self.agents.iter().filter(|(_, (_, live))| live.strong_count() == 0);
        let mut oldest: Vec<u64> = idle.map(|(serial, _)| *serial).take(REGISTERED / 8).collect();
        if oldest.is_empty() {
            oldest.extend(self.agents.keys().next());
        }
        for serial in oldest {
            let Some((agent, _)) = self.agents.remove(&serial) else { continue };
            self.by_id.remove(&agent.id.to_string());
            self.by_id.remove(&agent.uuid);
            self.by_name.remove(&agent.whole_name());
            self.by_shown.remove(&agent.shown);
        }
    }
}

/// The agent of a registration, or a new one.
pub(crate) fn live(weak: &mut Weak<Agent>, new: impl FnOnce() -> Arc<Agent>) -> Arc<Agent> {
    weak.upgrade().filter(|agent| !agent.is_retired()).unwrap_or_else(|| {
        let agent = new();
        *weak = Arc::downgrade(&agent);
        agent
    })
}

/// 128 bits of some texts. The function must never change: agents keep what is made from it.
fn mix(texts: &[&str], salt: u64) -> [u64; 2] {
    // FNV-1a, twice, with the finisher of splitmix64.
    let fnv = |mut hash: u64| {
        for byte in texts.iter().flat_map(|text| text.bytes().chain([0xff])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ hash >> 31
    };
    [fnv(0xcbf2_9ce4_8422_2325 ^ salt), fnv(0x9e37_79b9_7f4a_7c15 ^ salt)]
}

/// A number for some texts, as 1.90.6 wants it: 1 to 2^31 - 2.
pub(crate) fn number(texts: &[&str]) -> u64 {
    mix(texts, 1)[0] % 0x7fff_fffe + 1
}

/// A UUID for some texts.
pub(crate) fn uuid(texts: &[&str]) -> String {
    format_uuid(mix(texts, 2))
}

/// 16 capital letters for some texts.
pub(crate) fn letters(texts: &[&str]) -> String {
    let letter = |bits: u64| char::from(b'A' + (bits % 26).to_le_bytes()[0]);
    mix(texts, 3).iter().flat_map(|bits| (0..8).map(move |n| letter(bits >> (8 * n)))).collect()
}

fn format_uuid([high, low]: [u64; 2]) -> String {
    let hex = format!("{high:016x}{low:016x}");
    let mut uuid = String::with_capacity(36);
    for (n, digit) in hex.chars().enumerate() {
        if matches!(n, 8 | 12 | 16 | 20) {
            uuid.push('-');
        }
        uuid.push(digit);
    }
    uuid
}

/// Makes session ids that nobody can guess.
#[derive(Debug, Default)]
pub(crate) struct SessionIds {
    secrets: [RandomState; 2],
    made: u64,
}

impl SessionIds {
    pub(crate) fn next(&mut self) -> String {
        self.made += 1;
        format_uuid(
            [0, 1]
                .map(|n: usize| self.secrets.get(n).map_or(0, |secret| secret.hash_one(self.made))),
        )
    }
}

/// `text` without blanks around it and with `_` for others, cut to `max` bytes.
pub(crate) fn clean(text: &str, max: usize) -> String {
    crate::meter::clean(text.trim(), max)
}

/// A text of 1 to `max` visible ASCII characters.
pub(crate) fn visible(bytes: &[u8], max: usize) -> Option<&str> {
    let fits = (1..=max).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    fits.then(|| std::str::from_utf8(bytes).ok()).flatten()
}

/// The first digits of an id, to tell instances of one name apart.
pub(crate) fn digits(id: &str) -> String {
    let mut out = String::new();
    let _ = write!(out, "{:.8}", id.replace('-', ""));
    out
}

#[cfg(test)]
#[path = "tests/registry.rs"]
mod tests;
