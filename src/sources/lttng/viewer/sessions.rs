//! What is known of sessions: those that are attached, and those that fit and are not.

use super::limits;
use super::observer::{Refused, SessionInfo};
use super::settings::Seek;
use std::collections::HashMap;
use std::time::Duration;

/// A session that is attached, or about to be.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) info: SessionInfo,
    pub(super) seek: Seek,
    /// It is to be read from its beginning if it is attached again.
    pub(super) beginning: bool,
    /// Time that passed before this attempt to attach.
    pub(super) pause: Duration,
    /// ATTACH was answered.
    pub(super) attached: bool,
    /// Open streams of packets.
    pub(super) open: usize,
    /// A `NEW_STREAMS` is not answered.
    pub(super) asked: bool,
    /// When the last one was sent.
    pub(super) last: Duration,
    /// When to send the next.
    pub(super) due: Duration,
}

impl Session {
    pub(super) fn new(Candidate { info, beginning, pause, .. }: Candidate, seek: Seek, now: Duration) -> Self {
        Self { info, seek, beginning, pause, attached: false, open: 0, asked: false, last: now, due: now }
    }

    /// There may be new streams, or none any more.
    pub(super) fn hurry(&mut self) {
        self.due = self.due.min(self.last + limits::FLAGGED);
    }

    /// `NEW_STREAMS` was answered, or ATTACH: nothing else to do than to look again now and then.
    pub(super) fn relax(&mut self, now: Duration, live_timer: Duration) {
        self.asked = false;
        // Without a stream the end of the session is near, or its first application.
        let pause = if self.open == 0 { live_timer.clamp(limits::FLAGGED, limits::SAFETY_NET) } else { limits::SAFETY_NET };
        self.due = now + pause;
    }
}

/// A session that fits and is not attached.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) info: SessionInfo,
    pub(super) beginning: bool,
    why: Option<Refused>,
    /// Not before this time.
    after: Duration,
    pause: Duration,
    listing: u64,
}

/// Sessions that fit, as the last listing has them.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    sessions: HashMap<u64, Candidate>,
    listing: u64,
}

impl Candidates {
    /// A session is listed. `false`: there is no room for it.
    pub(super) fn listed(&mut self, info: SessionInfo, beginning: bool) -> bool {
        let listing = self.listing;
        let full = self.sessions.len() >= limits::CANDIDATES;
        if let Some(known) = self.sessions.get_mut(&info.id) {
            if known.info.host == info.host && known.info.name == info.name {
                if known.info.clients > 0 && info.clients == 0 {
                    // The other viewer has left.
                    known.after = Duration::ZERO;
                }
                (known.info, known.listing) = (info, listing);
                return true;
            }
        } else if full {
            return false;
        }
        let why = None;
        let (after, pause) = (Duration::ZERO, Duration::ZERO);
        self.sessions.insert(info.id, Candidate { info, beginning, why, after, pause, listing });
        true
    }

    /// The listing is complete: what it had not is forgotten.
    pub(super) fn listing_done(&mut self) {
        let listing = self.listing;
        self.sessions.retain(|_, candidate| candidate.listing == listing);
        self.listing += 1;
    }

    /// Those to attach now, oldest first, no more than `room`; `told` hears of the others whose reason is new.
    pub(super) fn take(&mut self, now: Duration, room: usize, mut told: impl FnMut(&SessionInfo, Refused)) -> Vec<Candidate> {
        let mut ids: Vec<u64> = self.sessions.keys().copied().collect();
        ids.sort_unstable();
        let mut taken = Vec::new();
        for id in ids {
            let Some(candidate) = self.sessions.get_mut(&id) else { continue };
            let why = match &candidate.info {
                info if info.live_timer.is_zero() => Refused::NotLive,
                info if info.clients > 0 => Refused::Busy,
                _ if now < candidate.after => continue,
                _ if taken.len() >= room => Refused::Limit,
                _ => {
                    taken.extend(self.sessions.remove(&id));
                    continue;
                }
            };
            if candidate.why != Some(why) {
                candidate.why = Some(why);
                told(&candidate.info, why);
            }
        }
        taken
    }

    /// It was refused, or is over, and is not to be asked for again too soon.
    pub(super) fn back_off(&mut self, session: Session, why: Option<Refused>, now: Duration) {
        let Session { info, beginning, pause, attached, .. } = session;
        if self.sessions.len() < limits::CANDIDATES {
            let shortest = Duration::from_secs(1);
            let pause = if attached { shortest } else { (pause * 2).clamp(shortest, limits::ATTACH_RETRY) };
            let beginning = beginning || attached;
            let listing = self.listing;
            self.sessions.insert(info.id, Candidate { info, beginning, why, after: now + pause, pause, listing });
        }
    }
}
