//! Selects the sessions of a relay daemon to read: listed, matching a pattern, not being read, and
//! past their back-off.

use std::collections::HashMap;
use std::time::Duration;

use super::limits;
use super::model::SessionInfo;
use super::observer::{Refused, SessionEnd};
use super::reading::{End, Start};
use super::replay_filter::{LruMap, ReplayFilter, hash};
use super::settings::{Pattern, Seek, Settings};

/// A matching session that is not read.
#[derive(Debug)]
struct Candidate {
    info: SessionInfo,
    /// Reason that was reported.
    why: Option<Refused>,
    listing: u64,
}

/// History of a session, listed or not.
#[derive(Debug, Default)]
struct SessionHistory {
    /// Read from the beginning, regardless of the configured seek: the session was read before, or
    /// is younger than the first listing.
    beginning: bool,
    /// Attached by us before, and not listed without a viewer since.
    ours: bool,
    /// Pause before the last attempt to attach.
    pause: Duration,
    /// Earliest time of the next attempt.
    after: Duration,
    replay_filter: ReplayFilter,
}

/// Number, host and name.
type Key = (u64, u64);

fn key(session: &SessionInfo) -> Key {
    (session.id, hash((&session.host, &session.name)))
}

/// The sessions of one relay daemon, over connections and restarts of the relay daemon.
#[derive(Debug)]
pub struct Roster {
    patterns: Vec<Pattern>,
    seek: Seek,
    /// Matching sessions of the last listing that are not read.
    candidates: HashMap<u64, Candidate>,
    /// Sessions that are read.
    reading: HashMap<u64, SessionInfo>,
    history: LruMap<Key, SessionHistory>,
    listing: u64,
    /// Matching sessions of the listing under way beyond the limit.
    crowded: u64,
}

impl Roster {
    /// A roster without sessions.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            patterns: settings.patterns.clone(),
            seek: settings.seek,
            candidates: HashMap::new(),
            reading: HashMap::new(),
            history: LruMap::default(),
            listing: 0,
            crowded: 0,
        }
    }

    /// Replaces the patterns, from the next listing on. Sessions that are being read continue.
    pub fn choose(&mut self, patterns: Vec<Pattern>) {
        self.patterns = patterns;
    }

    /// A session is listed. Returns whether it matches.
    pub fn listed(&mut self, info: SessionInfo) -> bool {
        let fits = self.patterns.iter().any(|pattern| pattern.fits(&info.host, &info.name));
        if !fits || self.reading.contains_key(&info.id) {
            return fits;
        }
        match self.history.get_mut(&key(&info)) {
            Some(history) => history.ours &= info.clients > 0,
            None => {
                let beginning = self.listing > 0;
                self.history.put(
                    key(&info),
                    SessionHistory { beginning, ..SessionHistory::default() },
                    limits::SEEN_SESSIONS,
                );
            }
        }
        let listing = self.listing;
        let full = self.candidates.len() >= limits::CANDIDATES;
        if let Some(known) = self.candidates.get_mut(&info.id) {
            if known.info.host == info.host && known.info.name == info.name {
                if known.info.clients > 0
                    && info.clients == 0
                    && let Some(history) = self.history.get_mut(&key(&info))
                {
                    // The other viewer has left.
                    history.after = Duration::ZERO;
                }
                (known.info, known.listing) = (info, listing);
                return true;
            }
        } else if full {
            self.crowded += 1;
            return true;
        }
        self.candidates.insert(info.id, Candidate { info, why: None, listing });
        true
    }

    /// The listing is complete: drops sessions missing from it. Returns the number of matching
    /// sessions beyond the limit.
    pub fn listing_done(&mut self) -> u64 {
        let listing = self.listing;
        self.candidates.retain(|_, candidate| candidate.listing == listing);
        self.listing += 1;
        std::mem::take(&mut self.crowded)
    }

    /// Sessions to read now, oldest first, each with a `permit`. `told` is called for each other
    /// session with a new reason. A session counts as read until [`Self::ended`].
    pub fn take<P>(
        &mut self,
        now: Duration,
        mut permit: impl FnMut() -> Option<P>,
        mut told: impl FnMut(&SessionInfo, Refused),
    ) -> Vec<(Start, P)> {
        let mut ids: Vec<u64> = self.candidates.keys().copied().collect();
        ids.sort_unstable();
        let mut taken = Vec::new();
        for id in ids {
            let Some(candidate) = self.candidates.get_mut(&id) else { continue };
            let history = self.history.get_mut(&key(&candidate.info));
            let ours = history.as_ref().is_some_and(|p| p.ours);
            let why = match &candidate.info {
                info if info.live_timer.is_zero() => Refused::NotLive,
                info if info.clients > 0 && !ours => Refused::Busy,
                _ if history.as_ref().is_some_and(|p| now < p.after) => continue,
                _ => match permit() {
                    Some(permit) => {
                        let Some(Candidate { info: session, .. }) = self.candidates.remove(&id)
                        else {
                            continue;
                        };
                        let beginning = history.as_ref().is_none_or(|p| p.beginning);
                        let seek = if beginning { Seek::Beginning } else { self.seek };
                        let replay_filter = history
                            .map(|p| std::mem::take(&mut p.replay_filter))
                            .unwrap_or_default();
                        self.reading.insert(id, session.clone());
                        taken.push((Start { session, seek, ours, replay_filter }, permit));
                        continue;
                    }
                    None => Refused::Limit,
                },
            };
            if candidate.why != Some(why) {
                candidate.why = Some(why);
                told(&candidate.info, why);
            }
        }
        taken
    }

    /// Number of sessions that are not read because `lttng.max_sessions` is reached.
    #[must_use]
    pub fn beyond_limit(&self) -> usize {
        self.candidates.values().filter(|candidate| candidate.why == Some(Refused::Limit)).count()
    }

    /// Reading a session has ended. It is retried with back-off while it is listed.
    pub fn ended(&mut self, now: Duration, end: End) {
        let End { session, attached, refused, over, replay_filter } = end;
        let Some(info) = self.reading.remove(&session) else { return };
        if self.history.get(&key(&info)).is_none() {
            self.history.put(
                key(&info),
                SessionHistory { beginning: true, ..SessionHistory::default() },
                limits::SEEN_SESSIONS,
            );
        }
        let Some(history) = self.history.get_mut(&key(&info)) else { return };
        // A session that ran out of memory will do so again, however long it was read.
        let lasted = over != Some(SessionEnd::Full)
            && attached.is_some_and(|since| now.saturating_sub(since) >= limits::LASTED);
        let (first, longest) = match (refused, over) {
            (Some(_), _) | (_, Some(SessionEnd::Closed | SessionEnd::Lost | SessionEnd::Full)) => {
                (limits::ATTACH_FIRST, limits::ATTACH_RETRY)
            }
            (None, Some(SessionEnd::Disconnected) | None) => {
                (limits::BROKEN_FIRST, limits::BROKEN_RETRY)
            }
        };
        history.pause = if lasted || over == Some(SessionEnd::Closed) {
            first
        } else {
            (history.pause * 2).clamp(first, longest)
        };
        if attached.is_some() {
            (history.beginning, history.ours) = (true, true);
        }
        history.replay_filter = replay_filter;
        history.after = now + history.pause;
        self.bound();
    }

    /// Drops the oldest histories while all together have more than `SEEN_STREAMS` streams.
    fn bound(&mut self) {
        let streams = |history: &LruMap<Key, SessionHistory>| {
            history.values().map(|p| p.replay_filter.streams()).sum::<usize>()
        };
        while streams(&self.history) > limits::SEEN_STREAMS && self.history.len() > 1 {
            self.history.forget((self.history.len() / 4).max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::TraceFormat;
    use super::*;

    fn session(id: u64, clients: u32) -> SessionInfo {
        let live_timer = Duration::from_secs(1);
        SessionInfo {
            id,
            host: "h".into(),
            name: format!("s{id}"),
            live_timer,
            clients,
            streams: 0,
            format: TraceFormat::Ctf1,
        }
    }

    fn roster(seek: Seek) -> Roster {
        Roster::new(&Settings {
            patterns: vec![Pattern::parse("*").unwrap()],
            seek,
            ..Settings::default()
        })
    }

    /// One listing: returns the sessions taken, and the reasons reported for others.
    fn list(
        roster: &mut Roster,
        now: u64,
        sessions: &[(u64, u32)],
        room: usize,
    ) -> (Vec<Start>, Vec<(u64, Refused)>) {
        for (id, clients) in sessions {
            roster.listed(session(*id, *clients));
        }
        roster.listing_done();
        let (mut told, mut left) = (Vec::new(), room);
        let permit = || {
            left = left.checked_sub(1)?;
            Some(())
        };
        let taken =
            roster.take(Duration::from_secs(now), permit, |info, why| told.push((info.id, why)));
        (taken.into_iter().map(|(start, ())| start).collect(), told)
    }

    fn ids(starts: &[Start]) -> Vec<u64> {
        starts.iter().map(|start| start.session.id).collect()
    }

    fn end(session: u64, attached: Option<u64>, over: Option<SessionEnd>) -> End {
        End {
            session,
            attached: attached.map(Duration::from_secs),
            refused: None,
            over,
            replay_filter: ReplayFilter::new(),
        }
    }

    #[test]
    fn as_many_are_read_as_there_is_room_and_the_others_when_there_is() {
        let mut roster = roster(Seek::Beginning);
        let all = [(1, 0), (2, 0), (3, 0)];
        let (taken, told) = list(&mut roster, 1, &all, 2);
        assert_eq!(
            (ids(&taken), told, roster.beyond_limit()),
            (vec![1, 2], vec![(3, Refused::Limit)], 1)
        );
        let (taken, told) = list(&mut roster, 2, &all, 0);
        assert_eq!((ids(&taken), told), (vec![], vec![]), "told once");
        roster.ended(Duration::from_secs(2), end(1, Some(1), Some(SessionEnd::Closed)));
        let (taken, _) = list(&mut roster, 3, &all[1..], 1);
        assert_eq!((ids(&taken), roster.beyond_limit()), (vec![3], 0));
    }

    #[test]
    fn sessions_that_come_later_or_were_attached_are_read_from_the_beginning() {
        let mut roster = roster(Seek::Last);
        let (taken, _) = list(&mut roster, 1, &[(1, 0), (2, 1)], 9);
        assert_eq!((ids(&taken), taken[0].seek), (vec![1], Seek::Last));
        roster.ended(Duration::from_secs(2), end(1, Some(1), Some(SessionEnd::Disconnected)));
        let (taken, _) = list(&mut roster, 9, &[(1, 0), (2, 0), (3, 0)], 9);
        let seeks: Vec<Seek> = taken.iter().map(|start| start.seek).collect();
        assert_eq!(seeks, [Seek::Beginning, Seek::Last, Seek::Beginning]);
    }

    #[test]
    fn what_had_no_memory_comes_again_ever_later_however_long_it_was_read() {
        let mut roster = roster(Seek::Beginning);
        let (mut now, mut pauses) = (0, Vec::new());
        for _ in 0..7 {
            list(&mut roster, now, &[(1, 0)], 9);
            let over = now + 60;
            roster.ended(Duration::from_secs(over), end(1, Some(now), Some(SessionEnd::Full)));
            now = (over..).find(|at| !list(&mut roster, *at, &[(1, 0)], 9).0.is_empty()).unwrap();
            pauses.push(now - over);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn what_was_ours_is_not_another_viewers_until_it_was_free() {
        let mut roster = roster(Seek::Beginning);
        let (taken, told) = list(&mut roster, 1, &[(1, 0), (2, 1)], 9);
        assert_eq!((taken[0].ours, told), (false, vec![(2, Refused::Busy)]));
        roster.ended(Duration::from_secs(2), end(1, Some(1), Some(SessionEnd::Lost)));
        let (taken, told) = list(&mut roster, 2, &[(1, 1)], 9);
        assert_eq!((ids(&taken), told), (vec![], vec![]), "not at once");
        let (taken, told) = list(&mut roster, 4, &[(1, 1)], 9);
        assert!(taken[0].ours && told.is_empty());
        roster.ended(
            Duration::from_secs(4),
            End { refused: Some(Refused::Ours), ..end(1, None, None) },
        );
        let (_, told) = list(&mut roster, 5, &[(1, 0)], 0);
        let (_, then) = list(&mut roster, 90, &[(1, 1)], 9);
        assert_eq!(
            (told, then),
            (vec![], vec![(1, Refused::Busy)]),
            "it was free, and is another's now"
        );
    }

    #[test]
    fn what_fails_is_tried_ever_more_seldom() {
        let mut roster = roster(Seek::Beginning);
        let (mut tries, mut last) = (Vec::new(), 0);
        for now in 1..200 {
            let (taken, _) = list(&mut roster, now, &[(1, 0)], 9);
            if !taken.is_empty() {
                tries.push(now - last);
                last = now;
                roster.ended(Duration::from_secs(now), end(1, Some(now), Some(SessionEnd::Lost)));
            }
        }
        assert_eq!(tries[..7], [1, 1, 2, 4, 8, 16, 30]);
    }
}
