//! Recorded dialogues with relay daemons, a relay daemon that replays them to viewers of any minor
//! version, and a driver with a simulated clock.
mod observed;
mod relayd;

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Buf, BytesMut};
pub use observed::{Observed, crc};
use pmdaapm::contract::SessionError;
use pmdaapm::model::{Now, Stamp};
use pmdaapm::sources::lttng::viewer::{
    Lister, Listing, OpenStreams, Pattern, Reading, Refused, Roster, SESSIONS, SessionInfo,
    Settings,
};
pub use relayd::{Dialogue, Relayd};

pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../qa/corpus/lttng/live")
}

pub const NAMES: [&str; 5] =
    ["live-ust-before", "live-ust-grow", "live-ust-mid", "live216-ctf-1.8", "live216-ctf-2"];

pub fn read_gz(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    plain
}

pub fn settings(pattern: &str) -> Settings {
    Settings { patterns: vec![Pattern::parse(pattern).unwrap()], ..Settings::default() }
}

/// The end of a run, and its counts; the events are in [`Observed`].
#[derive(Debug)]
pub struct Outcome {
    pub result: Result<(), SessionError>,
    pub roster: Roster,
    pub requests: usize,
    /// Most requests of a connection that were not answered.
    pub outstanding: usize,
    /// Largest capacity of the input of a connection.
    pub input: usize,
    /// Most connections at once.
    pub connections: usize,
    pub time: Duration,
}

/// A viewer and its connections. `spoil` may change each reply; `None` closes the connection.
/// Replies are delivered in pieces whose length `piece` returns (from the bytes available and the
/// bytes already delivered on that connection). The run ends when `end` returns true, or at the
/// first error on any connection.
pub struct Connection<'a> {
    pub settings: Settings,
    /// The roster of an earlier viewer.
    pub roster: Option<Roster>,
    pub start: Duration,
    pub spoil: &'a mut dyn FnMut(usize, u32, Vec<u8>) -> Option<Vec<u8>>,
    pub piece: &'a mut dyn FnMut(usize, usize) -> usize,
    pub end: &'a mut dyn FnMut(&Observed, Duration) -> bool,
}

pub fn at(monotonic: Duration) -> Now {
    Now { wall: Stamp { sec: 1_795_000_000, nsec: 0 }, monotonic }
}

enum Talk {
    List(Box<Listing>),
    Read(Box<Reading>),
}

/// One connection.
struct Wire {
    id: u64,
    talk: Talk,
    out: BytesMut,
    input: BytesMut,
    coming: VecDeque<u8>,
    /// Ends of the replies that are not delivered yet.
    unread: VecDeque<usize>,
    delivered: usize,
}

impl Wire {
    fn new(id: u64, mut talk: Talk, now: Duration) -> Self {
        let mut out = BytesMut::new();
        match &mut talk {
            Talk::List(listing) => listing.start(at(now), &mut out),
            Talk::Read(reading) => reading.start(at(now), &mut out),
        }
        Self {
            id,
            talk,
            out,
            input: BytesMut::new(),
            coming: VecDeque::new(),
            unread: VecDeque::new(),
            delivered: 0,
        }
    }

    fn wakeup(&self) -> Duration {
        match &self.talk {
            Talk::List(listing) => listing.next_wakeup().unwrap(),
            Talk::Read(reading) => reading.next_wakeup().unwrap(),
        }
    }

    fn tick(&mut self, now: Duration, observed: &mut Observed) -> Result<(), SessionError> {
        match &mut self.talk {
            Talk::List(listing) => listing.tick(at(now), &mut self.out),
            Talk::Read(reading) => reading.tick(at(now), &mut self.out, observed),
        }
    }

    fn feed(
        &mut self,
        now: Duration,
        n: usize,
        observed: &mut Observed,
        roster: &mut Roster,
    ) -> Result<(), SessionError> {
        let n = n.clamp(1, self.coming.len());
        self.input.extend(self.coming.drain(..n));
        self.delivered += n;
        while self.unread.front().is_some_and(|at| *at <= self.delivered) {
            self.unread.pop_front();
        }
        match &mut self.talk {
            Talk::List(listing) => {
                listing.feed(at(now), &mut self.input, &mut self.out, &mut Lists(observed, roster))
            }
            Talk::Read(reading) => reading.feed(at(now), &mut self.input, &mut self.out, observed),
        }
    }
}

struct Lists<'a>(&'a mut Observed, &'a mut Roster);

impl Lister for Lists<'_> {
    fn connected(&mut self, relayd: pmdaapm::sources::lttng::viewer::Relayd) {
        self.0.minors.push((relayd.minor, relayd.effective));
    }
    fn session_listed(&mut self, session: SessionInfo) {
        self.1.listed(session);
    }
    fn listing_done(&mut self, _: u32) {
        self.0.listings += 1;
        let crowded = self.1.listing_done();
        if crowded > 0 {
            *self.0.violations.entry("TooManySessions".into()).or_default() +=
                usize::try_from(crowded).unwrap();
        }
    }
}

impl Connection<'_> {
    pub fn run(self, relayd: &mut Relayd, observed: &mut Observed) -> Outcome {
        let Self { settings, roster, start, spoil, piece, end } = self;
        let roster = roster.unwrap_or_else(|| Roster::new(&settings));
        let result = Ok(());
        let mut outcome = Outcome {
            result,
            roster,
            requests: 0,
            outstanding: 0,
            input: 0,
            connections: 0,
            time: Duration::ZERO,
        };
        let (mut now, open_streams, mut next) = (start, OpenStreams::default(), 2);
        let mut wires = vec![Wire::new(1, Talk::List(Box::new(Listing::new(&settings))), now)];
        let mut idle = 0;
        outcome.result = 'all: loop {
            outcome.connections = outcome.connections.max(wires.len());
            for wire in &mut wires {
                let out = &mut wire.out;
                while out.len() >= 16 {
                    let (size, command) = (out.get_u64() as usize, out.get_u32());
                    assert_eq!(out.get_u32(), 0, "version");
                    assert!(
                        (1..=9).contains(&command) && size == out.len().min(size),
                        "command {command}"
                    );
                    outcome.requests += 1;
                    let reply = relayd.reply(wire.id, command, &out.split_to(size), now);
                    let Some(reply) = spoil(outcome.requests, command, reply) else {
                        break 'all Err(SessionError::Closed("by the test"));
                    };
                    wire.unread.push_back(wire.delivered + wire.coming.len() + reply.len());
                    wire.coming.extend(reply);
                }
                assert!(out.is_empty());
                outcome.outstanding = outcome.outstanding.max(wire.unread.len());
            }
            let listings = observed.listings;
            if let Some(wire) = wires.iter_mut().find(|wire| !wire.coming.is_empty()) {
                let n = piece(wire.coming.len(), wire.delivered);
                if let Err(error) = wire.feed(now, n, observed, &mut outcome.roster) {
                    break Err(error);
                }
                outcome.input = outcome.input.max(wire.input.capacity());
            } else {
                if end(observed, now - start) {
                    break Ok(());
                }
                let wire = wires.iter_mut().min_by_key(|wire| wire.wakeup()).unwrap();
                idle = if wire.wakeup() > now { 0 } else { idle + 1 };
                assert!(idle < 3 * outcome.connections, "a spin at {now:?}");
                now = now.max(wire.wakeup());
                if let Err(error) = wire.tick(now, observed) {
                    break Err(error);
                }
            }
            if observed.listings > listings {
                let open = wires.len() - 1;
                let mut room = SESSIONS.saturating_sub(open);
                let permit = || {
                    room = room.checked_sub(1)?;
                    Some(())
                };
                let refused =
                    |session: &SessionInfo, why: Refused| observed.refused.push((session.id, why));
                for (begin, ()) in outcome.roster.take(now, permit, refused) {
                    let reading = Reading::new(settings.clone(), begin, open_streams.clone());
                    wires.push(Wire::new(next, Talk::Read(Box::new(reading)), now));
                    next += 1;
                }
            }
            let over = |wire: &Wire| matches!(&wire.talk, Talk::Read(reading) if reading.is_over());
            for wire in wires.extract_if(.., |wire| over(wire)) {
                close(wire, now, relayd, observed, &mut outcome.roster);
            }
        };
        outcome.time = now - start;
        for wire in wires {
            close(wire, now, relayd, observed, &mut outcome.roster);
        }
        assert!(open_streams.is_empty());
        outcome
    }
}

fn close(
    wire: Wire,
    now: Duration,
    relayd: &mut Relayd,
    observed: &mut Observed,
    roster: &mut Roster,
) {
    relayd.disconnect(wire.id);
    if let Talk::Read(reading) = wire.talk {
        roster.ended(now, reading.close(observed));
    }
}

/// A viewer without faults until all sessions are over.
pub fn whole(relayd: &mut Relayd, settings: Settings) -> (Observed, Outcome) {
    let mut observed = Observed::default();
    let sessions = relayd.sessions.len();
    let outcome = Connection {
        settings,
        roster: None,
        start: Duration::from_secs(100),
        spoil: &mut |_, _, reply| Some(reply),
        piece: &mut |there, _| there,
        end: &mut |observed, time| observed.closed == sessions || time > Duration::from_secs(60),
    }
    .run(relayd, &mut observed);
    (observed, outcome)
}
