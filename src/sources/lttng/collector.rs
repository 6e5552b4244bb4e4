//! One relay daemon: the viewer of its sessions, and what makes metrics and records of them. It outlives connections.

use super::super::{SessionError, Sinks};
use super::class::Choice;
use super::control::Notice;
use super::session::{Session, instance};
use super::viewer::{
    Attached, Beacon, Complaint, Ended, Index, Need, Observer, Over, Packet, Pattern, Refused, Seek, Seen, SessionInfo, Settings,
    Skipped, StreamInfo, TraceKey, Viewer,
};
use super::watch::Watch;
use crate::model::Now;
use bytes::BytesMut;
use std::collections::HashMap;
use std::time::Duration;

/// Names of sessions that are shown at once.
const NAMES: usize = 1024;

/// The collector of one relay daemon. The driver's duties are those of [`Viewer`], with [`Self::start`] for each connection and
/// [`Self::close`] after it.
pub struct Collector {
    settings: Settings,
    viewer: Option<Viewer>,
    seen: Option<Seen>,
    reader: Reader,
}

struct Reader {
    relay: String,
    choice: Choice,
    sinks: Box<dyn Sinks>,
    now: Now,
    sessions: HashMap<String, Session>,
    /// Instance names by relay session.
    by_id: HashMap<u64, String>,
    /// Relay sessions that were attached in the middle.
    joined: HashMap<u64, u32>,
    connected: bool,
    watch: Watch,
    /// Why the connection is gone, while it is being closed.
    why: String,
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collector").field("relay", &self.reader.relay).finish_non_exhaustive()
    }
}

impl Collector {
    /// Of the relay daemon at this address. Each session gets a sink.
    #[must_use]
    pub fn new(relay: String, settings: Settings, choice: Choice, sinks: Box<dyn Sinks>) -> Self {
        let reader = Reader {
            relay,
            choice,
            sinks,
            now: Now::default(),
            sessions: HashMap::new(),
            by_id: HashMap::new(),
            joined: HashMap::new(),
            connected: false,
            watch: Watch::default(),
            why: String::new(),
        };
        Self { settings, viewer: None, seen: None, reader }
    }

    /// Other sessions are to be read, from the next listing on; those that are read go on. `own`: names of those that the PMDA makes.
    pub fn choose(&mut self, patterns: Vec<Pattern>, own: &[String]) {
        if let Some(viewer) = &mut self.viewer {
            viewer.choose(patterns.clone());
        }
        self.settings.patterns = patterns;
        self.reader.watch.choose(own);
    }

    /// What has been noticed of sessions that the PMDA makes, since the last call.
    pub fn notices(&mut self) -> Vec<Notice> {
        self.reader.watch.take()
    }

    /// A connection is there: `out` is to be sent.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        let viewer = Viewer::new(self.settings.clone(), self.seen.take().unwrap_or_default());
        self.viewer.insert(viewer).start(now, out);
    }

    /// Bytes have come.
    ///
    /// # Errors
    /// As of [`Viewer::feed`]: the connection must be closed.
    pub fn feed(&mut self, now: Now, input: &mut BytesMut, out: &mut BytesMut) -> Result<(), SessionError> {
        self.reader.now = now;
        self.viewer.as_mut().map_or(Ok(()), |viewer| viewer.feed(now, input, out, &mut self.reader))
    }

    /// Time has passed.
    ///
    /// # Errors
    /// As of [`Viewer::tick`]: the connection must be closed.
    pub fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError> {
        self.reader.now = now;
        self.viewer.as_mut().map_or(Ok(()), |viewer| viewer.tick(now, out, &mut self.reader))
    }

    /// When [`Self::tick`] is to be called.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Duration> {
        self.viewer.as_ref()?.next_wakeup()
    }

    /// Whether the relay daemon owes a reply.
    #[must_use]
    pub fn awaits_reply(&self) -> bool {
        self.viewer.as_ref().is_some_and(Viewer::awaits_reply)
    }

    /// The relay daemon has answered on this connection.
    #[must_use]
    pub const fn connected(&self) -> bool {
        self.reader.connected
    }

    /// Leaves all sessions: `out` is to be sent before the connection is closed.
    pub fn detach(&mut self, out: &mut BytesMut) {
        if let Some(viewer) = &mut self.viewer {
            viewer.detach(out);
        }
    }

    /// The connection is gone; `why` is shown.
    pub fn close(&mut self, now: Now, why: &str) {
        self.reader.now = now;
        self.reader.connected = false;
        why.clone_into(&mut self.reader.why);
        if let Some(mut viewer) = self.viewer.take() {
            self.seen = Some(viewer.close(&mut self.reader));
        }
        self.reader.why.clear();
    }
}

impl Reader {
    /// The session of this name; a new one if there is room.
    fn session(&mut self, info: &SessionInfo) -> Option<&mut Session> {
        let name = instance(info);
        if !self.sessions.contains_key(&name) && self.sessions.len() >= NAMES {
            self.sessions.retain(|_, session| !session.attached.is_empty());
            if self.sessions.len() >= NAMES {
                return None;
            }
        }
        let Self { sinks, relay, now, .. } = self;
        let session = self.sessions.entry(name).or_insert_with(|| Session::new(info));
        session.connect(info, relay, &mut **sinks, *now);
        session.at(*now);
        Some(session)
    }

    /// The session that is read under this number.
    fn of(&mut self, id: u64) -> Option<&mut Session> {
        let session = self.sessions.get_mut(self.by_id.get(&id)?)?;
        session.at(self.now);
        Some(session)
    }
}

impl Observer for Reader {
    fn connected(&mut self, relayd: super::viewer::Relayd) {
        self.connected = true;
        log::info!("relay daemon at {}: version 2.{}, spoken 2.{}", self.relay, relayd.minor, relayd.effective);
    }

    fn session_listed(&mut self, session: &SessionInfo, _: bool) {
        self.watch.listed(&session.name);
    }

    fn listing_done(&mut self, _: u32) {
        self.watch.listing_done(self.now.mono);
    }

    fn attached(&mut self, attached: Attached<'_>) {
        let info = attached.session;
        self.by_id.insert(info.id, instance(info));
        if attached.seek == Seek::Last {
            self.joined.insert(info.id, attached.streams);
        }
        if let Some(session) = self.session(info) {
            session.attached(info);
        }
    }

    fn refused(&mut self, info: &SessionInfo, why: Refused) {
        if self.sessions.get(&instance(info)).is_some_and(|s| !s.attached.is_empty()) {
            return;
        }
        let text = match why {
            Refused::Busy => "another viewer reads it, and LTTng allows one: stop it (babeltrace2 on this session?)".to_owned(),
            Refused::Unknown => {
                format!("the relay daemon at {} does not know it any more, or it is in a format that is not spoken", self.relay)
            }
            Refused::NotLive => "it is not live: create it with lttng create --live".to_owned(),
            Refused::BadSeek => "the relay daemon cannot begin where it was asked to".to_owned(),
            Refused::Limit => "too many sessions are read at once".to_owned(),
        };
        if let Some(session) = self.session(info) {
            session.refused(&text);
        }
    }

    fn session_over(&mut self, info: &SessionInfo, why: Over) {
        self.joined.remove(&info.id);
        let text = match why {
            Over::Closed => "the session was destroyed; it is read again when it is created again".to_owned(),
            Over::Lost => "the relay daemon has lost the session".to_owned(),
            Over::Disconnected => format!("no connection to the relay daemon at {}: {}", self.relay, self.why),
        };
        if let Some(session) = self.of(info.id) {
            session.over(info, &text);
            if why == Over::Closed && session.attached.is_empty() {
                session.forget();
            }
        }
        self.by_id.remove(&info.id);
    }

    fn stream_opened(&mut self, stream: &StreamInfo) {
        let id = stream.trace.session;
        // Those of the attach were there before; later ones are read from their beginning.
        let joined = self.joined.get_mut(&id).is_some_and(|left| {
            let joined = *left > 0;
            *left = left.saturating_sub(1);
            joined
        });
        if let Some(session) = self.of(id) {
            session.opened(stream, joined);
        }
    }

    fn stream_ended(&mut self, stream: &StreamInfo, why: Ended) {
        if let Some(session) = self.of(stream.trace.session) {
            session.ended(stream);
            if why == Ended::Error {
                session.error(&format!("stream {}: the relay daemon cannot read it", stream.channel));
            }
        }
    }

    fn metadata(&mut self, trace: TraceKey, bytes: &[u8]) -> Need {
        self.of(trace.session).map_or(Need::Nothing, |session| session.metadata(trace, bytes))
    }

    fn metadata_restart(&mut self, trace: TraceKey) {
        if let Some(session) = self.of(trace.session) {
            session.restart(trace);
        }
    }

    fn trace_gone(&mut self, trace: TraceKey) {
        self.metadata_restart(trace);
    }

    fn packet(&mut self, packet: Packet<'_>) {
        let Self { sessions, by_id, choice, now, watch, .. } = self;
        if let Some(session) = by_id.get(&packet.stream.trace.session).and_then(|name| sessions.get_mut(name)) {
            session.at(*now);
            let events = session.packet(&packet, choice, *now);
            watch.events(session.own_name(), events, now.mono);
        }
    }

    fn skipped(&mut self, stream: &StreamInfo, index: &Index, why: Skipped) {
        let text = match why {
            Skipped::Replayed => return,
            Skipped::TooLarge => format!("{} bytes are too many", index.content_size / 8),
            Skipped::BadIndex => "its index cannot be true".to_owned(),
            Skipped::Unreadable => "the relay daemon cannot read it; its file was cleared or rotated away".to_owned(),
        };
        if let Some(session) = self.of(stream.trace.session) {
            session.skipped(stream, &text);
        }
    }

    fn beacon(&mut self, beacon: Beacon<'_>) {
        if let Some(session) = self.of(beacon.stream.trace.session) {
            session.beacon();
        }
    }

    fn complaint(&mut self, complaint: Complaint) {
        log::warn!("relay daemon at {}: {complaint:?}", self.relay);
    }
}
