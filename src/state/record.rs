//! A line of the state file: eight hexadecimal digits (CRC-32 of the rest), a space, a JSON object.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Departure, Manner};

/// The format version that is written, and the newest that is read.
pub const VERSION: u32 = 1;
/// Most bytes of a line, with its newline.
pub const LINE_MAX: usize = 64 << 10;
const SUM: usize = 8;

/// One remembered object. Sources and tables are identified by name, so that their order in the
/// program does not matter. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Record {
    /// The first line.
    Head {
        /// Version of the format.
        version: u32,
        /// When the file was written.
        saved: i64,
        /// The process was about to end: the state did not change afterwards.
        clean: bool,
    },
    /// Ids of a domain below `next` are never given out again. First and last in the file.
    Next {
        /// `agent`, `<source>`, `<source>/<table>`, `<source> names` for dynamic metrics, `<source> sums` for those
        /// that are sums.
        of: String,
        /// The first free id.
        next: u32,
    },
    /// A dynamic metric.
    Name {
        /// Name of the source.
        source: String,
        /// Number within the source.
        id: u32,
        /// Path in the PMNS.
        path: String,
        /// The source's own text, from which it restores the metric.
        persist: String,
        /// No client has fetched it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
    },
    /// A peer: an instance of its source's domain and of that of all agents.
    Peer {
        /// Name of the source.
        source: String,
        /// Its instance name.
        name: String,
        /// Instance of the source's domain.
        id: u32,
        /// Instance of the domain of all agents.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<u32>,
        /// When its last connection ended; absent while it is connected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<i64>,
        /// The peer is no instance any more; only its ids are kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        forgotten: bool,
        /// How its last connection ended.
        #[serde(default, skip_serializing_if = "Ending::is_none")]
        end: Ending,
        /// Last address.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        address: String,
        /// Instance labels.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
    },
    /// A row of a table.
    Row {
        /// `<source>/<table>`.
        table: String,
        /// Its instance name.
        key: String,
        /// Instance id in the table's domain.
        id: u32,
        /// When the row lost its place; absent while it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<i64>,
    },
}

/// How the last connection of a peer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
    /// It was lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
    /// It is there and was not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unread: bool,
}

impl Ending {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl From<Departure> for Ending {
    fn from(Departure { manner, why }: Departure) -> Self {
        let (lost, unread) = (manner == Manner::Lost, manner == Manner::Unread);
        Self { why: why.into_owned(), lost, unread }
    }
}

impl From<Ending> for Departure {
    fn from(Ending { why, lost, unread }: Ending) -> Self {
        let manner = match (lost, unread) {
            (true, _) => Manner::Lost,
            (false, true) => Manner::Unread,
            (false, false) => Manner::Regular,
        };
        Self { manner, why: why.into() }
    }
}

fn sum(text: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(text);
    crc.sum()
}

/// The line of a text without newlines, with checksum and newline.
pub(super) fn seal(json: &str) -> String {
    format!("{:08x} {json}\n", sum(json.as_bytes()))
}

/// The text of a line without its newline; `None` if the checksum does not match.
pub(super) fn open(line: &[u8]) -> Option<&str> {
    let (head, text) = line.split_at_checked(SUM)?;
    let text = text.strip_prefix(b" ")?;
    (head == format!("{:08x}", sum(text)).as_bytes())
        .then(|| std::str::from_utf8(text).ok())
        .flatten()
}

impl Record {
    /// The line with its newline.
    #[must_use]
    pub fn line(&self) -> String {
        // Strings and numbers only: this cannot fail, and an empty line would lose only this
        // record.
        serde_json::to_string(self).map(|json| seal(&json)).unwrap_or_default()
    }

    /// Parses a line's text; `None` for a kind that only a later version knows.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
