//! Reads one session: the protocol of its connection, and its metrics and records.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BytesMut;

use super::super::control::SessionWatch;
use super::super::record::RecordFilter;
use super::super::viewer::{
    Attached, Beacon, End, Index, Need, Observer, OpenStreams, Packet, Reading, Refused, Seek,
    SessionEnd, SessionInfo, Settings, Skipped, Start, StreamEnd, StreamInfo, TraceKey, Violation,
};
use super::session::Session;
use super::{OwnViewer, OwnViewers, Protocol, refusal};
use crate::contract::{Held, PeerMaker, SessionError};
use crate::model::{HeapSize, Manner, Now};
use crate::sources::foreign::ForeignReaders;

/// State shared by all sessions of a relay daemon.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) relay: Arc<str>,
    pub(super) filter: Arc<RecordFilter>,
    pub(super) maker: PeerMaker,
    pub(super) watch: Arc<SessionWatch>,
    pub(super) foreign: ForeignReaders,
    pub(super) own: OwnViewers,
}

impl Common {
    /// Why a session is not read, in words.
    pub(super) fn refusal(&self, info: &SessionInfo, why: Refused) -> String {
        refusal(why, &self.relay, self.own.elsewhere(&self.relay, info).as_deref())
    }
}

/// Locks a mutex whose data is valid after each step, so poisoning does not matter.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one session over one connection. The driver's duties are those of
/// [`super::super::viewer`]; at the end it passes the result of [`Self::close`] to
/// [`super::Collector::ended`].
pub struct Reader {
    reading: Reading,
    observer: SessionObserver,
}

/// Receives the events of reading.
struct SessionObserver {
    common: Common,
    /// The relay daemon has one session each for the kernel, 64-bit and 32-bit programs. Those
    /// with the same name share this instance.
    session: Arc<Mutex<Session>>,
    /// Present from the attach on.
    own: Option<OwnViewer>,
    now: Now,
    /// Streams announced by the attach that have not been opened yet.
    joined: u32,
    /// Why the connection is being closed.
    why: String,
    /// Memory of the session at the last count.
    held: Held,
    /// Calls until the next count.
    stale: u32,
}

/// Calls between two counts of a session's memory. New metadata and streams cause a count at once;
/// other events change the memory slowly.
const HELD_FOR: u32 = 256;

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("session", self.reading.session()).finish_non_exhaustive()
    }
}

impl Reader {
    pub(super) fn new(
        settings: Settings,
        start: Start,
        open_streams: OpenStreams,
        common: Common,
        session: Arc<Mutex<Session>>,
    ) -> Self {
        let observer = SessionObserver {
            common,
            session,
            own: None,
            now: Now::default(),
            joined: 0,
            why: String::new(),
            held: Held::default(),
            stale: 0,
        };
        Self { reading: Reading::new(settings, start, open_streams), observer }
    }

    /// The session, as it was listed.
    #[must_use]
    pub const fn session(&self) -> &SessionInfo {
        self.reading.session()
    }

    /// Starts on a new connection: `out` is to be sent.
    pub fn start(&mut self, now: Now, out: &mut BytesMut) {
        self.reading.start(now, out);
    }

    /// Reading is complete: the connection is to be closed.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.reading.is_over()
    }

    /// Bytes of memory without the driver's buffers. Quick enough to be called after each `feed`.
    pub fn held(&mut self) -> Held {
        let observer = &mut self.observer;
        if observer.stale == 0 {
            observer.held = locked(&observer.session).held(self.reading.session().id);
            observer.stale = HELD_FOR;
        }
        observer.stale -= 1;
        Held { own: observer.held.own + self.reading.heap_size(), shared: observer.held.shared }
    }

    /// Ends reading because memory is short, with `why` in `session.state`. The connection is to be
    /// closed.
    pub fn give_up(&mut self, now: Now, why: &str) {
        self.observer.now = now;
        why.clone_into(&mut self.observer.why);
        self.reading.give_up(&mut self.observer);
    }

    /// Detaches from the session, on relay daemons of 2.8 and later.
    pub fn detach(&mut self, out: &mut BytesMut) {
        self.reading.detach(out);
    }

    /// The connection is gone or could not be made, with `why` in `session.state`.
    pub fn close(self, now: Now, why: &str) -> End {
        let Self { reading, mut observer } = self;
        observer.now = now;
        why.clone_into(&mut observer.why);
        let info = reading.session().clone();
        let end = reading.close(&mut observer);
        if end.attached.is_none() && end.refused.is_none() {
            let text = observer.disconnected();
            locked(&observer.session).refused(&info, &text, now);
        }
        end
    }
}

impl Protocol for Reader {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Result<(), SessionError> {
        self.observer.now = now;
        let result = self.reading.feed(now, input, out, &mut self.observer);
        locked(&self.observer.session).flush();
        result
    }

    fn tick(&mut self, now: Now, out: &mut BytesMut) -> Result<(), SessionError> {
        self.observer.now = now;
        let result = self.reading.tick(now, out, &mut self.observer);
        locked(&self.observer.session).flush();
        result
    }

    fn next_wakeup(&self) -> Option<Duration> {
        self.reading.next_wakeup()
    }

    fn awaits_reply(&self) -> bool {
        self.reading.awaits_reply()
    }
}

impl SessionObserver {
    fn disconnected(&self) -> String {
        format!("no connection to the relay daemon at {}: {}", self.common.relay, self.why)
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        let mut session = locked(&self.session);
        session.at(self.now);
        session
    }
}

impl Observer for SessionObserver {
    fn attached(&mut self, attached: Attached<'_>) {
        self.joined = if attached.seek == Seek::Last { attached.streams } else { 0 };
        self.own = Some(self.common.own.attached(&self.common.relay, attached.session));
        locked(&self.session).attached(attached.session, self.now);
    }

    fn refused(&mut self, info: &SessionInfo, why: Refused) {
        locked(&self.session).refused(info, &self.common.refusal(info, why), self.now);
    }

    fn session_over(&mut self, info: &SessionInfo, why: SessionEnd) {
        let text = match why {
            SessionEnd::Closed => {
                "the session was destroyed; it is read again when it is created again".to_owned()
            }
            SessionEnd::Lost => "the relay daemon has lost the session".to_owned(),
            SessionEnd::Disconnected => self.disconnected(),
            SessionEnd::Full => {
                format!("not read, to keep within memory: {}; it is tried again", self.why)
            }
        };
        let mut session = locked(&self.session);
        session.quiet(why == SessionEnd::Full);
        let manner = match why {
            SessionEnd::Closed => Manner::Regular,
            SessionEnd::Lost | SessionEnd::Disconnected => Manner::Lost,
            SessionEnd::Full => Manner::Unread,
        };
        session.over(info, manner, &text, self.now);
        if why == SessionEnd::Closed {
            session.forget();
        }
    }

    fn stream_opened(&mut self, stream: &StreamInfo) {
        // Streams of the attach existed before; later streams are read from their beginning.
        let joined = self.joined > 0;
        self.joined = self.joined.saturating_sub(1);
        self.stale = 0;
        self.session().opened(stream, joined);
    }

    fn stream_ended(&mut self, stream: &StreamInfo, why: StreamEnd) {
        let mut session = self.session();
        session.ended(stream);
        if why == StreamEnd::Error {
            session.error(&format!("stream {}: the relay daemon cannot read it", stream.channel));
        }
    }

    fn metadata(&mut self, trace: TraceKey, bytes: &[u8]) -> Need {
        self.stale = 0;
        self.session().metadata(trace, bytes)
    }

    fn metadata_restart(&mut self, trace: TraceKey) {
        self.stale = 0;
        self.session().restart(trace);
    }

    fn trace_gone(&mut self, trace: TraceKey) {
        self.metadata_restart(trace);
    }

    fn packet(&mut self, packet: Packet<'_>) -> Need {
        let mut session = locked(&self.session);
        session.at(self.now);
        let Common { filter, foreign, .. } = &self.common;
        let Some(events) = session.packet(&packet, filter, foreign, self.now) else {
            return Need::More;
        };
        if events > 0 {
            self.common.watch.events(session.own_name(), events, self.now.monotonic);
        }
        Need::Nothing
    }

    fn skipped(&mut self, stream: &StreamInfo, index: &Index, why: Skipped) {
        let text = match why {
            Skipped::Replayed => return,
            Skipped::TooLarge => format!("{} bytes are too many", index.content_size / 8),
            Skipped::BadIndex => "its index cannot be true".to_owned(),
            Skipped::Unreadable => {
                "the relay daemon cannot read it; its file was cleared or rotated away".to_owned()
            }
        };
        self.session().skipped(stream, &text);
    }

    fn beacon(&mut self, _: Beacon<'_>) {
        self.session().beacon();
    }

    fn violation(&mut self, violation: Violation) {
        self.session().error(&format!("the relay daemon at {}: {violation:?}", self.common.relay));
    }
}
