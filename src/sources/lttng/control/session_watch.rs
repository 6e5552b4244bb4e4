//! Sightings of managed sessions: whether relay daemons list them and events come. All viewers
//! report to the [`Controller`](super::Controller) this way only.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A session that no relay daemon lists for this time is lost; a new session is listed after its
/// first program or within a second.
const LOST: Duration = Duration::from_secs(5);
/// A session without events for this time is silent.
const SILENT: Duration = Duration::from_secs(30);
/// Shortest time between two notices about one session.
const REPEAT: Duration = Duration::from_secs(10);

/// A change that the viewers see in a managed session, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A relay daemon answers, and for 5 s none has listed this session.
    Lost(String),
    /// The session is listed, but no event has come for 30 s.
    Silent(String),
    /// Events come.
    Active(String),
}

#[derive(Debug, Default)]
struct Sighting {
    /// Relay daemons that list it in the listing under way.
    listing: BTreeSet<Arc<str>>,
    /// Relay daemons whose latest complete listing has it.
    listed: BTreeSet<Arc<str>>,
    /// Time of the latest listing that has it, or of the first one after it became managed.
    present: Option<Duration>,
    /// Time of the latest events, or of the first listing that has it.
    active: Option<Duration>,
    /// Time of the latest notice.
    noticed: Option<Duration>,
}

impl Sighting {
    fn may_notice(&self, now: Duration) -> bool {
        self.noticed.is_none_or(|at| now.saturating_sub(at) >= REPEAT)
    }
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<String, Sighting>,
    notices: Vec<Notice>,
}

/// Managed sessions as the viewers see them. Shared by the control of sessions and the viewers of
/// all relay daemons.
#[derive(Default)]
pub struct SessionWatch {
    state: Mutex<State>,
    on_notice: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for SessionWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionWatch").field("state", &self.state).finish_non_exhaustive()
    }
}

impl SessionWatch {
    /// `on_notice` runs on the viewer's thread after each new notice and must not block.
    #[must_use]
    pub fn new(on_notice: impl Fn() + Send + Sync + 'static) -> Self {
        Self { on_notice: Some(Box::new(on_notice)), ..Self::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the names of the managed sessions.
    pub fn manage<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) {
        let mut state = self.state();
        state.sessions.retain(|name, _| names.clone().any(|n| n == name));
        for name in names {
            state.sessions.entry(name.to_owned()).or_default();
        }
    }

    /// Notices since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state().notices)
    }

    /// Adds a notice.
    pub fn notice(&self, notice: Notice) {
        self.state().notices.push(notice);
        self.notify();
    }

    fn notify(&self) {
        if let Some(on_notice) = &self.on_notice {
            on_notice();
        }
    }

    /// A session of this name is in the listing of `relay` that is under way.
    pub(crate) fn listed(&self, relay: &Arc<str>, name: &str) {
        if let Some(sighting) = self.state().sessions.get_mut(name) {
            sighting.listing.insert(Arc::clone(relay));
        }
    }

    /// The listing of `relay` is complete.
    pub(crate) fn listing_done(&self, relay: &Arc<str>, now: Duration) {
        let mut state = self.state();
        let State { sessions, notices } = &mut *state;
        let before = notices.len();
        for (name, sighting) in sessions {
            if sighting.listing.remove(relay) {
                sighting.listed.insert(Arc::clone(relay));
            } else {
                sighting.listed.remove(relay);
            }
            let may_notice = sighting.may_notice(now);
            if sighting.listed.is_empty() {
                sighting.active = None;
                let present = *sighting.present.get_or_insert(now);
                if may_notice && now.saturating_sub(present) >= LOST {
                    sighting.noticed = Some(now);
                    notices.push(Notice::Lost(name.clone()));
                }
            } else {
                sighting.present = Some(now);
                let active = *sighting.active.get_or_insert(now);
                if may_notice && now.saturating_sub(active) >= SILENT {
                    sighting.noticed = Some(now);
                    notices.push(Notice::Silent(name.clone()));
                }
            }
        }
        let news = notices.len() > before;
        drop(state);
        if news {
            self.notify();
        }
    }

    /// The connection that lists the sessions of `relay` is gone.
    pub(crate) fn disconnected(&self, relay: &Arc<str>) {
        for sighting in self.state().sessions.values_mut() {
            sighting.listing.remove(relay);
            sighting.listed.remove(relay);
        }
    }

    /// `events` events of a session have arrived.
    pub(crate) fn events(&self, name: &str, events: u64, now: Duration) {
        let mut state = self.state();
        let State { sessions, notices } = &mut *state;
        let Some(sighting) = sessions.get_mut(name).filter(|_| events > 0) else { return };
        sighting.active = Some(now);
        if sighting.may_notice(now) {
            sighting.noticed = Some(now);
            notices.push(Notice::Active(name.to_owned()));
            drop(state);
            self.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn lost_silent_and_active() {
        let (watch, relay) = (SessionWatch::default(), Arc::from("relay"));
        watch.manage(["a"].into_iter());
        for second in 0..=5 {
            watch.listing_done(&relay, AT(second));
        }
        assert_eq!(watch.take(), [Notice::Lost("a".into())]);
        for second in 6..=60 {
            watch.listed(&relay, "a");
            watch.listed(&relay, "somebody else's");
            watch.listing_done(&relay, AT(second));
        }
        assert_eq!(watch.take(), [36, 46, 56].map(|_| Notice::Silent("a".into())));
        watch.events("a", 0, AT(61));
        watch.events("b", 7, AT(61));
        watch.events("a", 7, AT(67));
        watch.events("a", 7, AT(68));
        assert_eq!(watch.take(), [Notice::Active("a".into())]);
        watch.manage([].into_iter());
        watch.listing_done(&relay, AT(100));
        assert_eq!(watch.take(), []);
    }

    #[test]
    fn a_session_of_one_relay_daemon_is_not_lost_because_another_does_not_list_it() {
        let (watch, one, other) = (SessionWatch::default(), Arc::from("one"), Arc::from("other"));
        watch.manage(["a"].into_iter());
        for second in 0..=20 {
            watch.listed(&one, "a");
            watch.listing_done(&other, AT(second));
            watch.listing_done(&one, AT(second));
        }
        assert_eq!(watch.take(), []);
        watch.disconnected(&one);
        for second in 21..=25 {
            watch.listing_done(&other, AT(second));
        }
        assert_eq!(watch.take(), [Notice::Lost("a".into())]);
    }

    #[test]
    fn each_notice_wakes_the_control() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let wakes = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&wakes);
        let watch = SessionWatch::new(move || _ = count.fetch_add(1, Ordering::Relaxed));
        watch.manage(["a"].into_iter());
        watch.events("a", 1, AT(1));
        watch.listing_done(&Arc::from("relay"), AT(1));
        watch.events("a", 1, AT(2));
        assert_eq!(wakes.load(Ordering::Relaxed), 1);
        watch.notice(Notice::Silent("a".into()));
        assert_eq!((wakes.load(Ordering::Relaxed), watch.take().len()), (2, 2));
    }
}
