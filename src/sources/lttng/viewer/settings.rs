//! Settings of the viewer of one relay daemon.

use std::time::Duration;

use super::limits;
use crate::events::glob;

/// A pattern of sessions, `host/session`; `*` matches any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    host: String,
    session: String,
}

impl Pattern {
    /// Longest pattern in bytes: names have 64 and 255 at most.
    const LENGTH: usize = 1024;

    /// Parses `host/session`, or `session` for any host. Session names have no slash.
    ///
    /// `None` if a side is empty or the whole is longer than 1024 bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, session) = text.split_once('/').unwrap_or(("*", text));
        let sound = !host.is_empty()
            && !session.is_empty()
            && !session.contains('/')
            && text.len() <= Self::LENGTH;
        sound.then(|| Self { host: host.to_owned(), session: session.to_owned() })
    }

    /// Whether a session matches.
    #[must_use]
    pub fn fits(&self, host: &str, session: &str) -> bool {
        glob(self.host.as_bytes(), host.as_bytes())
            && glob(self.session.as_bytes(), session.as_bytes())
    }
}

/// Where reading of a session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seek {
    /// With the oldest packet of the relay daemon.
    #[default]
    Beginning,
    /// With the first packet that is complete after the attach, for sessions of the first listing.
    /// Younger sessions and sessions that were read before begin with the oldest packet
    /// ([`super::ReplayFilter`] skips reported packets).
    Last,
}

/// Settings of the viewer of one relay daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A session that matches any of these patterns is read.
    pub patterns: Vec<Pattern>,
    /// Where reading begins.
    pub seek: Seek,
    /// Time between two requests for a stream whose data is due; at least 0.25 ms for each stream
    /// that is open on this relay daemon ([`super::OpenStreams`]).
    pub poll: Duration,
    /// Time between two listings: the longest delay until a new session is found.
    pub list: Duration,
    /// Time between two listings for [`Self::busy_time`] after a session has come or gone: others that come and go
    /// soon after it are found, too. More where many sessions are listed.
    pub list_busy: Duration,
    /// How long listings stay frequent after a session has come or gone.
    pub busy_time: Duration,
    /// Longest time without a byte while a reply is due; after it the connection is closed.
    pub reply_time: Duration,
    /// Most streams of a session open at once.
    pub streams: usize,
    /// Most bytes of a packet's content; larger packets are skipped.
    pub packet: usize,
    /// Announced minor version, 4 to [`super::MINOR`]; lower than that only in tests.
    pub minor: u32,
}

impl Settings {
    /// The announced minor version.
    pub(super) fn announced(&self) -> u32 {
        self.minor.clamp(4, super::model::MINOR)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            seek: Seek::default(),
            poll: Duration::from_millis(5),
            list: Duration::from_secs(1),
            list_busy: Duration::from_millis(100),
            busy_time: Duration::from_secs(10),
            reply_time: limits::REPLY_TIME,
            streams: limits::STREAMS,
            packet: limits::PACKET,
            minor: super::model::MINOR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, host, session, fits) in [
            ("*/*", "vm", "s1", true),
            ("web*/app-*", "web7", "app-live", true),
            ("web*/app-*", "db1", "app-live", false),
            ("vm/s1", "vm", "s10", false),
            ("s1", "anything", "s1", true),
        ] {
            assert_eq!(
                Pattern::parse(pattern).unwrap().fits(host, session),
                fits,
                "{pattern} {host} {session}"
            );
        }
        for wrong in ["", "/", "a/", "/b", "a/b/c", &"x".repeat(1025)] {
            assert_eq!(Pattern::parse(wrong), None, "{wrong}");
        }
    }
}
