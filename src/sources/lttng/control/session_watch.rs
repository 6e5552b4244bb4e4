//! What the viewer notices of sessions that the PMDA makes: that the relay daemon has lost one,
//! that events come or do not.

use std::collections::HashMap;
use std::time::Duration;

use super::controller::Notice;

/// A session that is not listed for so long is lost; a new one is listed after its first program or
/// within a second.
const LOST: Duration = Duration::from_secs(5);
/// A session without events for so long is silent.
const SILENT: Duration = Duration::from_secs(30);
/// Time between two notices of the same.
const AGAIN: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Seen {
    /// In the listing that is being read.
    listed: bool,
    /// When it was listed last, or first looked for.
    here: Option<Duration>,
    /// When events came last, or it was first listed.
    flowed: Option<Duration>,
    told: Option<Duration>,
}

/// Sessions that are watched, by name.
#[derive(Debug, Default)]
pub(crate) struct SessionWatch {
    sessions: HashMap<String, Seen>,
    notices: Vec<Notice>,
}

impl SessionWatch {
    /// These from now on.
    pub(crate) fn choose(&mut self, names: &[String]) {
        self.sessions.retain(|name, _| names.contains(name));
        for name in names {
            self.sessions.entry(name.clone()).or_default();
        }
    }

    pub(crate) fn listed(&mut self, name: &str) {
        if let Some(seen) = self.sessions.get_mut(name) {
            seen.listed = true;
        }
    }

    pub(crate) fn listing_done(&mut self, now: Duration) {
        for (name, seen) in &mut self.sessions {
            let due = seen.told.is_none_or(|at| now.saturating_sub(at) >= AGAIN);
            if std::mem::take(&mut seen.listed) {
                seen.here = Some(now);
                let flowed = *seen.flowed.get_or_insert(now);
                if due && now.saturating_sub(flowed) >= SILENT {
                    seen.told = Some(now);
                    self.notices.push(Notice::Silent(name.clone()));
                }
                continue;
            }
            seen.flowed = None;
            let here = *seen.here.get_or_insert(now);
            if due && now.saturating_sub(here) >= LOST {
                seen.told = Some(now);
                self.notices.push(Notice::Lost(name.clone()));
            }
        }
    }

    pub(crate) fn events(&mut self, name: &str, events: u64, now: Duration) {
        let Some(seen) = self.sessions.get_mut(name).filter(|_| events > 0) else { return };
        seen.flowed = Some(now);
        if seen.told.is_none_or(|at| now.saturating_sub(at) >= AGAIN) {
            seen.told = Some(now);
            self.notices.push(Notice::Flows(name.to_owned()));
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_silent_and_flowing() {
        let mut watch = SessionWatch::default();
        watch.choose(&["a".to_owned()]);
        let at = Duration::from_secs;
        for second in 0..=5 {
            watch.listing_done(at(second));
        }
        assert_eq!(watch.take(), [Notice::Lost("a".into())]);
        for second in 6..=60 {
            watch.listed("a");
            watch.listed("somebody else's");
            watch.listing_done(at(second));
        }
        assert_eq!(watch.take(), [36, 46, 56].map(|_| Notice::Silent("a".into())));
        watch.events("a", 0, at(61));
        watch.events("b", 7, at(61));
        watch.events("a", 7, at(67));
        watch.events("a", 7, at(68));
        assert_eq!(watch.take(), [Notice::Flows("a".into())]);
        watch.choose(&[]);
        watch.listing_done(at(100));
        assert_eq!(watch.take(), []);
    }
}
