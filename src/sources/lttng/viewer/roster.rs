//! Which sessions of a relay daemon are to be read: those that are listed, fit, are not read yet, and may be tried again.

use super::limits;
use super::observer::{Over, Refused, SessionInfo};
use super::reading::{End, Start};
use super::seen::{Recent, Seen, hash};
use super::settings::{Pattern, Seek, Settings};
use std::collections::HashMap;
use std::time::Duration;

/// A session that fits and is not read.
#[derive(Debug)]
struct Candidate {
    info: SessionInfo,
    /// The reason that was told.
    why: Option<Refused>,
    /// Not before this time.
    after: Duration,
    listing: u64,
}

/// What is remembered of a session, whether or not it is listed.
#[derive(Debug, Default)]
struct Past {
    /// It must be read from its beginning, whatever the configured seek: because it was read before, or because it came after our
    /// first listing.
    beginning: bool,
    /// We had it attached, and it has not been listed without a viewer since.
    ours: bool,
    /// Time that passed before the last attempt to attach.
    pause: Duration,
    seen: Seen,
}

/// Number, host and name.
type Key = (u64, u64);

fn key(session: &SessionInfo) -> Key {
    (session.id, hash((&session.host, &session.name)))
}

/// The sessions of one relay daemon. It outlives connections, and restarts of the relay daemon.
#[derive(Debug)]
pub struct Roster {
    patterns: Vec<Pattern>,
    seek: Seek,
    /// Those that fit, as the last listing has them.
    candidates: HashMap<u64, Candidate>,
    /// Those that are read.
    reading: HashMap<u64, SessionInfo>,
    past: Recent<Key, Past>,
    listing: u64,
    /// Sessions of the listing under way that fit and are not remembered.
    crowded: u64,
}

impl Roster {
    /// Nothing is listed yet.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            patterns: settings.patterns.clone(),
            seek: settings.seek,
            candidates: HashMap::new(),
            reading: HashMap::new(),
            past: Recent::default(),
            listing: 0,
            crowded: 0,
        }
    }

    /// Other sessions are to be read, from the next listing on. Those that are read go on.
    pub fn choose(&mut self, patterns: Vec<Pattern>) {
        self.patterns = patterns;
    }

    /// A session is listed. Returns whether it fits.
    pub fn listed(&mut self, info: SessionInfo) -> bool {
        let fits = self.patterns.iter().any(|pattern| pattern.fits(&info.host, &info.name));
        if !fits || self.reading.contains_key(&info.id) {
            return fits;
        }
        match self.past.get_mut(&key(&info)) {
            Some(past) => past.ours &= info.clients > 0,
            None => {
                let beginning = self.listing > 0;
                self.past.put(key(&info), Past { beginning, ..Past::default() }, limits::SEEN_SESSIONS);
            }
        }
        let listing = self.listing;
        let full = self.candidates.len() >= limits::CANDIDATES;
        if let Some(known) = self.candidates.get_mut(&info.id) {
            if known.info.host == info.host && known.info.name == info.name {
                if known.info.clients > 0 && info.clients == 0 {
                    // The other viewer has left.
                    known.after = Duration::ZERO;
                }
                (known.info, known.listing) = (info, listing);
                return true;
            }
        } else if full {
            self.crowded += 1;
            return true;
        }
        self.candidates.insert(info.id, Candidate { info, why: None, after: Duration::ZERO, listing });
        true
    }

    /// The listing is complete: what it had not is forgotten. Returns how many sessions fit and found no room to be remembered.
    pub fn listing_done(&mut self) -> u64 {
        let listing = self.listing;
        self.candidates.retain(|_, candidate| candidate.listing == listing);
        self.listing += 1;
        std::mem::take(&mut self.crowded)
    }

    /// Those to read now, oldest first, each with a `permit`; `told` hears of the others whose reason is new. They count as read
    /// until they have [ended](Self::ended).
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
            let past = self.past.get_mut(&key(&candidate.info));
            let ours = past.as_ref().is_some_and(|p| p.ours);
            let why = match &candidate.info {
                info if info.live_timer.is_zero() => Refused::NotLive,
                info if info.clients > 0 && !ours => Refused::Busy,
                _ if now < candidate.after => continue,
                _ => match permit() {
                    Some(permit) => {
                        let Some(Candidate { info: session, .. }) = self.candidates.remove(&id) else { continue };
                        let beginning = past.as_ref().is_none_or(|p| p.beginning);
                        let seek = if beginning { Seek::Beginning } else { self.seek };
                        let seen = past.map(|p| std::mem::take(&mut p.seen)).unwrap_or_default();
                        self.reading.insert(id, session.clone());
                        taken.push((Start { session, seek, ours, seen }, permit));
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

    /// Sessions that are not read because as many are read as may be.
    #[must_use]
    pub fn beyond_limit(&self) -> usize {
        self.candidates.values().filter(|candidate| candidate.why == Some(Refused::Limit)).count()
    }

    /// A session is not read any more. It is tried again, if it is still listed, but not too soon.
    pub fn ended(&mut self, now: Duration, end: End) {
        let End { session, attached, refused, over, seen } = end;
        let Some(info) = self.reading.remove(&session) else { return };
        if self.past.get(&key(&info)).is_none() {
            self.past.put(key(&info), Past { beginning: true, ..Past::default() }, limits::SEEN_SESSIONS);
        }
        let Some(past) = self.past.get_mut(&key(&info)) else { return };
        let lasted = attached.is_some_and(|since| now.saturating_sub(since) >= limits::LASTED);
        let (first, longest) = match (refused, over) {
            (Some(_), _) | (_, Some(Over::Closed | Over::Lost)) => (limits::ATTACH_FIRST, limits::ATTACH_RETRY),
            (None, Some(Over::Disconnected) | None) => (limits::BROKEN_FIRST, limits::BROKEN_RETRY),
        };
        past.pause = if lasted || over == Some(Over::Closed) { first } else { (past.pause * 2).clamp(first, longest) };
        if attached.is_some() {
            (past.beginning, past.ours) = (true, true);
        }
        past.seen = seen;
        let after = now + past.pause;
        if self.candidates.len() < limits::CANDIDATES {
            let listing = self.listing;
            self.candidates.insert(session, Candidate { info, why: refused, after, listing });
        }
        self.bound();
    }

    /// Keeps what is remembered of streams bounded.
    fn bound(&mut self) {
        let streams = |past: &Recent<Key, Past>| past.values().map(|p| p.seen.streams()).sum::<usize>();
        while streams(&self.past) > limits::SEEN_STREAMS && self.past.len() > 1 {
            self.past.forget((self.past.len() / 4).max(1));
        }
    }
}
