//! `apm.agent.state` and `apm.agent.since`: how a peer is, in words that an operator understands.

use std::borrow::Cow;
use std::time::Duration;

use super::Liveness;
use crate::model::{Condition, Departure, Manner, Stamp, cut};

/// Most bytes of a reason; a longer one is cut.
const REASON_MAX: usize = 400;

/// How a peer is, beside its liveness.
#[derive(Debug, Default)]
pub(super) struct Health {
    condition: Condition,
    departure: Departure,
    /// Start of the newest connection, or its end: seconds since 1970.
    since: Option<i64>,
    /// Messages of the peer when the newest connection began.
    messages: u64,
    /// The departure before this connection, and its time.
    before: (Departure, Option<i64>),
}

impl Health {
    /// A connection has begun. `messages`: those of the peer so far.
    pub(super) fn attached(&mut self, wall: i64, messages: u64) {
        self.before = (std::mem::take(&mut self.departure), self.since);
        self.condition = Condition::Sound;
        (self.since, self.messages) = (Some(wall), messages);
    }

    /// The last connection has ended.
    pub(super) fn departed(&mut self, departure: Departure, wall: i64) {
        let departure = Departure { why: bounded(departure.why), ..departure };
        let (before, since) = std::mem::take(&mut self.before);
        // A peer that is tried in vain again and again is in one state since the first time.
        let same = departure.manner == Manner::Unread && before == departure;
        self.since = if same { since } else { Some(wall) };
        (self.condition, self.departure) = (Condition::Sound, departure);
    }

    pub(super) fn set(&mut self, condition: Condition) {
        self.condition = match condition {
            Condition::Sound => Condition::Sound,
            Condition::Impaired(why) => Condition::Impaired(bounded(why)),
            Condition::Starting(what) => Condition::Starting(bounded(what)),
            Condition::Unread(why) => Condition::Unread(bounded(why)),
        };
    }

    pub(super) const fn departure(&self) -> &Departure {
        &self.departure
    }

    /// Since when the peer is connected, or not any more.
    pub(super) fn since(&self) -> Option<String> {
        self.since.map(|sec| format!("{:.0}", Stamp { sec, nsec: 0 }))
    }

    /// The state in words. `messages`: those of the peer so far.
    pub(super) fn state(
        &self,
        liveness: &Liveness,
        messages: u64,
        now: Duration,
        stale: Duration,
    ) -> Cow<'static, str> {
        if let Some(gone) = liveness.gone_for(now) {
            let why = &self.departure.why;
            return match self.departure.manner {
                Manner::Unread => format!("not read: {why}"),
                _ if why.is_empty() => format!("gone {} ago", rounded(gone)),
                _ => format!("gone {} ago: {why}", rounded(gone)),
            }
            .into();
        }
        let silent = !liveness.fresh(now, stale);
        let idle = || rounded(liveness.idle(now));
        match &self.condition {
            Condition::Unread(why) => format!("not read: {why}").into(),
            Condition::Starting(what) => format!("starting: {what}").into(),
            Condition::Impaired(why) if silent => format!("silent for {}: {why}", idle()).into(),
            Condition::Impaired(why) => format!("sending, but {why}").into(),
            Condition::Sound if silent => format!("silent for {}", idle()).into(),
            Condition::Sound if messages <= self.messages => "connected, nothing sent yet".into(),
            Condition::Sound => "sending".into(),
        }
    }
}

fn bounded(text: Cow<'static, str>) -> Cow<'static, str> {
    if text.len() <= REASON_MAX { text } else { format!("{}…", cut(&text, REASON_MAX)).into() }
}

/// A duration in one unit, of which there are at least two but for seconds: `70 s`, `3 min`, `2 h`,
/// `4 d`.
fn rounded(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::peer::Turn;

    const fn s(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    const STALE: Duration = s(10);

    #[test]
    fn durations_have_one_unit() {
        for (seconds, text) in [
            (0, "0 s"),
            (70, "70 s"),
            (119, "119 s"),
            (120, "2 min"),
            (200, "3 min"),
            (7199, "119 min"),
            (7200, "2 h"),
            (172_799, "47 h"),
            (172_800, "2 d"),
            (400 * 86_400, "400 d"),
        ] {
            assert_eq!(rounded(s(seconds)), text);
        }
    }

    #[test]
    fn a_day_of_a_peer_in_words() {
        let (mut turn, mut health) = (Turn::default(), Health::default());
        let life = Liveness::absent(s(0), s(0));
        life.attach(&mut turn, s(100));
        health.attached(1_000_000_100, 0);
        let state = |health: &Health, messages, now| health.state(&life, messages, s(now), STALE);
        assert_eq!(state(&health, 0, 101), "connected, nothing sent yet");
        life.set_interval(s(1));
        life.message(s(102));
        assert_eq!(state(&health, 1, 103), "sending");
        assert_eq!(state(&health, 1, 115), "sending", "three intervals and limits.stale");
        assert_eq!(state(&health, 1, 116), "silent for 14 s");
        assert_eq!(state(&health, 1, 172), "silent for 70 s");
        assert_eq!(state(&health, 1, 86_502), "silent for 24 h");
        health.set(Condition::Impaired("calls without dictionary".into()));
        assert_eq!(state(&health, 1, 103), "sending, but calls without dictionary");
        assert_eq!(state(&health, 1, 302), "silent for 3 min: calls without dictionary");
        health.set(Condition::Starting("asked for a session".into()));
        assert_eq!(state(&health, 1, 302), "starting: asked for a session");
        health.set(Condition::Unread("no permission".into()));
        assert_eq!(state(&health, 1, 302), "not read: no permission");
        health.set(Condition::Sound);
        assert_eq!(health.since().as_deref(), Some("2001-09-09T01:48:20Z"));
        life.detach(&mut turn, s(400));
        health.departed(Departure::lost("connection reset"), 1_000_000_400);
        assert_eq!(state(&health, 1, 580), "gone 3 min ago: connection reset");
        assert_eq!(health.since().as_deref(), Some("2001-09-09T01:53:20Z"));
        assert_eq!(state(&health, 1, 86_800), "gone 24 h ago: connection reset");
        life.attach(&mut turn, s(90_000));
        health.attached(1_000_090_000, 1);
        assert_eq!(state(&health, 1, 90_001), "connected, nothing sent yet");
        life.detach(&mut turn, s(90_010));
        health.departed(Departure::default(), 1_000_090_010);
        assert_eq!(state(&health, 1, 90_010), "gone 0 s ago");
    }

    #[test]
    fn a_session_that_is_refused_again_and_again_is_so_since_the_first_time() {
        let (mut turn, mut health) = (Turn::default(), Health::default());
        let life = Liveness::absent(s(0), s(0));
        for (at, why, since) in [
            (10, "another viewer reads it", "1970-01-01T00:00:10Z"),
            (20, "another viewer reads it", "1970-01-01T00:00:10Z"),
            (30, "it is not live", "1970-01-01T00:00:30Z"),
        ] {
            life.attach(&mut turn, s(at));
            health.attached(at.cast_signed(), 0);
            life.detach(&mut turn, s(at));
            health.departed(Departure::unread(why), at.cast_signed());
            assert_eq!(health.state(&life, 0, s(at), STALE), format!("not read: {why}"));
            assert_eq!(health.since().as_deref(), Some(since));
        }
    }

    #[test]
    fn a_long_reason_is_cut_at_a_character() {
        let mut health = Health::default();
        health.set(Condition::Unread("é".repeat(REASON_MAX).into()));
        let life = Liveness::absent(s(0), s(0));
        life.attach(&mut Turn::default(), s(0));
        let state = health.state(&life, 0, s(1), STALE);
        assert!(state.len() < REASON_MAX + 20 && state.ends_with("é…"), "{state}");
    }
}
