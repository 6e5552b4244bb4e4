//! A line of the state file: eight hexadecimal digits (CRC-32 of the rest), a space, a JSON object.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
/// Bytes of the longest line that is read.
pub const LINE_MAX: usize = 64 << 10;
const SUM: usize = 8;

/// One thing that is remembered. Sources and tables go by their names, so that their order in the
/// program does not matter. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Record {
    /// The first line.
    Head {
        /// Of the format.
        version: u32,
        /// When the file was written.
        saved: i64,
        /// The process was about to end: nothing has happened since.
        clean: bool,
    },
    /// Ids of a domain below `next` are never given out again. First and last in the file.
    Next {
        /// `agent`, `<source>`, `<source>/<table>`, or `<source> names` for dynamic metrics.
        of: String,
        /// The first id that is free.
        next: u32,
    },
    /// A dynamic metric.
    Name {
        /// Whose.
        source: String,
        /// Its number within the source.
        id: u32,
        /// Its place in the name space.
        path: String,
        /// The source's own description of it.
        persist: String,
    },
    /// A peer: an instance of its source's domain and of that of all agents.
    Peer {
        /// Its source.
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
        /// It is not an instance any more; only its ids are kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        forgotten: bool,
        /// Where it was.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        address: String,
        /// Its instance labels.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
    },
    /// A row of a table.
    Row {
        /// `<source>/<table>`.
        table: String,
        /// Its instance name.
        key: String,
        /// Its instance.
        id: u32,
        /// When it lost its place; absent while it is there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<i64>,
    },
}

fn sum(text: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(text);
    crc.sum()
}

/// A line for text that holds no newline, with its newline.
pub(super) fn seal(json: &str) -> String {
    format!("{:08x} {json}\n", sum(json.as_bytes()))
}

/// The text of a line without its newline, if it is as it was written.
pub(super) fn open(line: &[u8]) -> Option<&str> {
    let (head, text) = line.split_at_checked(SUM)?;
    let text = text.strip_prefix(b" ")?;
    (head == format!("{:08x}", sum(text)).as_bytes())
        .then(|| std::str::from_utf8(text).ok())
        .flatten()
}

impl Record {
    /// Its line, with the newline.
    #[must_use]
    pub fn line(&self) -> String {
        // Strings and numbers only: this cannot fail. A line that is not there is one that is lost.
        serde_json::to_string(self).map(|json| seal(&json)).unwrap_or_default()
    }

    /// The record of a line's text; `None`: a kind that a later version knows.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
