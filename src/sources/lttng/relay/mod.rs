//! One relay daemon over all its connections, without I/O: choice of the sessions to read, and their shared state.

mod reader;
mod session;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::BytesMut;
use reader::{Common, locked};
use session::{Session, instance};

use super::control::SessionWatch;
use super::record::RecordFilter;
use super::viewer::{
    End, Lister, Listing, OpenStreams, Pattern, Refused, Relayd, ReplayFilter, Roster, SessionInfo,
    Settings,
};
use crate::contract::{PeerMaker, SessionError};
use crate::model::{Manner, Now};
use crate::sources::foreign::ForeignReaders;
pub use reader::Reader;

/// Most sessions that are instances at the same time.
const NAMES: usize = 1024;

/// The collector of one relay daemon: lists its sessions, and makes a [`Reader`] for each session
/// to be read. The driver's duties are those of [`super::viewer`], with [`Self::start`] for
/// each connection that lists sessions and [`Self::close`] after it.
pub struct Collector {
    settings: Settings,
    listing: Option<Listing>,
    sessions: Sessions,
}

/// The sessions of the relay daemon. Receives the listings.
struct Sessions {
    common: Common,
    now: Now,
    roster: Roster,
    sessions: HashMap<String, Arc<Mutex<Session>>>,
    open_streams: OpenStreams,
    connected: bool,
    /// A listing was completed since the last [`Collector::due`].
    listed: bool,
}

/// What is spoken over one connection to a relay daemon.
pub trait Protocol {
    /// Parses received bytes.
    ///
    /// # Errors
    /// The connection must be closed.
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Result<(), SessionError>;

    /// Sends requests that are due.
    ///
    /// # Errors
    /// The connection must be closed.
    fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError>;

    /// Time of the next [`Self::tick`].
    fn next_wakeup(&self) -> Option<Duration>;

    /// Whether the relay daemon owes a reply.
    fn awaits_reply(&self) -> bool;
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collector")
            .field("relay", &self.sessions.common.relay)
            .finish_non_exhaustive()
    }
}

impl Collector {
    /// A collector for the relay daemon at this address. Each session gets a peer of `maker`;
    /// `watch` receives the sightings of managed sessions.
    #[must_use]
    pub fn new(
        relay: &str,
        settings: Settings,
        filter: RecordFilter,
        maker: PeerMaker,
        watch: Arc<SessionWatch>,
    ) -> Self {
        let sessions = Sessions {
            common: Common {
                relay: relay.into(),
                filter: Arc::new(filter),
                maker,
                watch,
                foreign: ForeignReaders::default(),
                own: OwnViewers::default(),
            },
            now: Now::default(),
            roster: Roster::new(&settings),
            sessions: HashMap::new(),
            open_streams: OpenStreams::default(),
            connected: false,
            listed: false,
        };
        Self { settings, listing: None, sessions }
    }

    /// Hands events to those who offer to read their provider's.
    #[must_use]
    pub fn with_foreign(mut self, foreign: ForeignReaders) -> Self {
        self.sessions.common.foreign = foreign;
        self
    }

    /// Shares with collectors of other relay daemons which sessions are read.
    #[must_use]
    pub fn with_own(mut self, own: OwnViewers) -> Self {
        self.sessions.common.own = own;
        self
    }

    /// Replaces the patterns of sessions to read, from the next listing on. Sessions that are being
    /// read continue.
    pub fn choose(&mut self, patterns: Vec<Pattern>) {
        self.sessions.roster.choose(patterns);
    }

    /// Starts on a new connection: `out` is to be sent.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        self.listing.insert(Listing::new(&self.settings)).start(now, out);
    }

    /// The relay daemon has answered on this connection.
    #[must_use]
    pub const fn connected(&self) -> bool {
        self.sessions.connected
    }

    /// Sessions to read now, each with a `permit`; empty unless a listing was completed. Each
    /// reader needs a separate connection. Its end is reported with [`Self::ended`].
    pub fn due<P>(&mut self, now: Now, permit: impl FnMut() -> Option<P>) -> Vec<(Reader, P)> {
        self.sessions.now = now;
        if !std::mem::take(&mut self.sessions.listed) {
            return Vec::new();
        }
        let mut refused = Vec::new();
        let starts = self
            .sessions
            .roster
            .take(now.monotonic, permit, |info, why| refused.push((info.clone(), why)));
        for (info, why) in refused {
            if let Some(session) = self.sessions.session(&info) {
                let text = self.sessions.common.refusal(&info, why);
                locked(&session).refused(&info, &text, now);
            }
        }
        let mut readers = Vec::new();
        for (start, permit) in starts {
            let id = start.session.id;
            let Some(session) = self.sessions.session(&start.session) else {
                self.sessions.roster.ended(now.monotonic, nothing(id));
                continue;
            };
            let common = self.sessions.common.clone();
            readers.push((
                Reader::new(
                    self.settings.clone(),
                    start,
                    self.sessions.open_streams.clone(),
                    common,
                    session,
                ),
                permit,
            ));
        }
        readers
    }

    /// Number of sessions that are not read because no permit was left.
    #[must_use]
    pub fn beyond_limit(&self) -> usize {
        self.sessions.roster.beyond_limit()
    }

    /// The reader of a session has ended.
    pub fn ended(&mut self, now: Now, end: End) {
        self.sessions.roster.ended(now.monotonic, end);
    }

    /// The reader of a session was lost by a fault, with its state.
    pub fn lost(&mut self, now: Now, info: &SessionInfo) {
        if let Some(session) = self.sessions.session(info) {
            locked(&session).over(
                info,
                Manner::Lost,
                "reading it has failed, by a fault of the PMDA",
                now,
            );
        }
        self.sessions.roster.ended(now.monotonic, nothing(info.id));
    }

    /// The connection that lists is gone. Readers continue.
    pub fn close(&mut self) {
        self.sessions.connected = false;
        self.sessions.common.watch.disconnected(&self.sessions.common.relay);
        self.sessions.listed = false;
        self.listing = None;
    }
}

impl Protocol for Collector {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Result<(), SessionError> {
        self.sessions.now = now;
        self.listing
            .as_mut()
            .map_or(Ok(()), |listing| listing.feed(now, input, out, &mut self.sessions))
    }

    fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError> {
        self.listing.as_mut().map_or(Ok(()), |listing| listing.tick(now, out))
    }

    fn next_wakeup(&self) -> Option<Duration> {
        self.listing.as_ref()?.next_wakeup()
    }

    fn awaits_reply(&self) -> bool {
        self.listing.as_ref().is_some_and(Listing::awaits_reply)
    }
}

/// The end of a session that was never attached.
fn nothing(session: u64) -> End {
    End { session, attached: None, refused: None, over: None, replay_filter: ReplayFilter::new() }
}

impl Sessions {
    /// The session of this name; `None` if there are too many.
    fn session(&mut self, info: &SessionInfo) -> Option<Arc<Mutex<Session>>> {
        let name = instance(info);
        if !self.sessions.contains_key(&name) && self.sessions.len() >= NAMES {
            // Sessions without a reader are dropped.
            self.sessions.retain(|_, session| Arc::strong_count(session) > 1);
            if self.sessions.len() >= NAMES {
                return None;
            }
        }
        let Common { relay, maker, .. } = &self.common;
        let session = self
            .sessions
            .entry(name)
            .or_insert_with(|| Arc::new(Mutex::new(Session::new(info, relay, maker))));
        Some(Arc::clone(session))
    }
}

impl Lister for Sessions {
    fn connected(&mut self, relayd: Relayd) {
        self.connected = true;
        log::info!(
            "relay daemon at {}: version 2.{}, spoken 2.{}",
            self.common.relay,
            relayd.minor,
            relayd.effective
        );
    }

    fn session_listed(&mut self, session: SessionInfo) {
        self.common.watch.listed(&self.common.relay, &session.name);
        self.roster.listed(session);
    }

    fn listing_done(&mut self, _: u32) {
        self.common.watch.listing_done(&self.common.relay, self.now.monotonic);
        self.listed = true;
        let crowded = self.roster.listing_done();
        if crowded > 0 {
            log::warn!(
                "relay daemon at {}: {crowded} sessions more than can be remembered fit lttng.view",
                self.common.relay
            );
        }
    }
}

/// A session as its relay daemon tells it: host, name, number.
type Key = (String, String, u64);
/// It, with the address of its relay daemon.
type Read = (Arc<str>, Key);

/// A session that is read.
#[derive(Debug)]
pub(super) struct OwnViewer {
    all: OwnViewers,
    session: Read,
}

impl Drop for OwnViewer {
    fn drop(&mut self) {
        locked(&self.all.0).remove(&self.session);
    }
}

/// Shared by the collectors of all relay daemons. As many entries as sessions are read.
#[derive(Clone, Debug, Default)]
pub struct OwnViewers(Arc<Mutex<HashSet<Read>>>);

fn key(info: &SessionInfo) -> Key {
    (info.host.clone(), info.name.clone(), info.id)
}

impl OwnViewers {
    /// A session is read at the relay daemon of this address, until the result is dropped.
    pub(super) fn attached(&self, relay: &Arc<str>, info: &SessionInfo) -> OwnViewer {
        let session = (Arc::clone(relay), key(info));
        locked(&self.0).insert(session.clone());
        OwnViewer { all: self.clone(), session }
    }

    /// The address of another relay daemon that has told of a session like this one, which is read there.
    pub(super) fn elsewhere(&self, relay: &str, info: &SessionInfo) -> Option<Arc<str>> {
        let key = key(info);
        let read = locked(&self.0);
        read.iter()
            .find(|(at, session)| **at != *relay && *session == key)
            .map(|(at, _)| Arc::clone(at))
    }
}

/// The reason of a refused attach, with advice for the user.
/// `elsewhere`: another relay daemon where this PMDA reads a session of the same host, name and number.
pub(super) fn refusal(why: Refused, relay: &str, elsewhere: Option<&str>) -> String {
    if let (Refused::Busy, Some(other)) = (why, elsewhere) {
        return format!(
            "another viewer reads it, and LTTng allows one: this PMDA, if {other} is another address of {relay} (then leave one of them out of lttng.relays); else stop it (babeltrace2 on this session?)"
        );
    }
    match why {
        Refused::Busy => "another viewer reads it, and LTTng allows one: stop it (babeltrace2 on this session?)".to_owned(),
        Refused::Ours => {
            "the relay daemon has not noticed yet that our last connection is gone, or another viewer was quicker; tried again"
                .to_owned()
        }
        Refused::Unknown => {
            format!("the relay daemon at {relay} does not know it any more, or it is in a format that is not spoken")
        }
        Refused::NotLive => "it is not live: create it with lttng create --live".to_owned(),
        Refused::BadSeek => "the relay daemon cannot begin where it was asked to".to_owned(),
        Refused::Limit => "as many sessions are read as lttng.max_sessions of the configuration allows".to_owned(),
    }
}

#[cfg(test)]
#[path = "tests/own_viewers.rs"]
mod tests;
