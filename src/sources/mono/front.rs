//! The session of a connection or file: its first bytes tell its protocol.
//!
//! ```text
//!   01 5A 50 4D, or 1F 8B (gzip)  ─▶ stream::Stream  the log profiler's stream
//!   anything else                 ─▶ Inspector       the counters agent, any dialect
//! ```
//!
//! No stream of an agent begins with these bytes (docs/protocols/mono-counters.md section 3.2).

use bytes::BytesMut;

use super::agent::{Inspector, Settings};
use super::counters::identity::Origin;
use super::counters::pattern::Pattern;
use super::mlpd::{GZIP, MAGIC};
use super::process::Joining;
use super::stream::Stream;
use crate::contract::{Control, Held, Peer, Session, SessionError};
use crate::heap_size;
use crate::model::{HeapSize, Now};

/// The session of one connection or file.
pub(super) struct Front {
    /// Until the protocol is known the inspector: its time-outs are those of a silent peer.
    session: Box<dyn Session>,
    undecided: Option<Box<Undecided>>,
}

/// What a log profiler's stream would begin with.
#[derive(Debug)]
struct Undecided {
    origin: Origin,
    joining: Option<Joining>,
    settings: Settings,
    ticks: fn() -> u64,
}

heap_size!(Undecided { origin, settings });

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front").field("undecided", &self.undecided).finish_non_exhaustive()
    }
}

impl Front {
    /// For one connection or file. With `joining` for a peer whose process may be one of this host.
    pub(super) fn new(
        origin: Origin,
        joining: Option<Joining>,
        settings: Settings,
        ticks: fn() -> u64,
    ) -> Self {
        let inspector = Inspector::joining(origin.clone(), joining.clone(), settings.clone());
        let undecided = Undecided { origin, joining, settings, ticks };
        Self { session: Box::new(inspector), undecided: Some(Box::new(undecided)) }
    }

    /// Whether the first bytes are enough to tell the protocol.
    fn decide(&mut self, input: &[u8]) -> bool {
        if self.undecided.is_none() {
            return true;
        }
        let log = input.starts_with(&MAGIC) || input.starts_with(&GZIP);
        if !log && (MAGIC.starts_with(input) || GZIP.starts_with(input)) {
            return false;
        }
        if let Some(undecided) = self.undecided.take().filter(|_| log) {
            let Undecided { origin, joining, settings, ticks } = *undecided;
            self.session = Box::new(Stream::joining(origin, joining, settings, ticks));
        }
        true
    }
}

impl Session for Front {
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        if !self.decide(input) {
            return Ok(());
        }
        self.session.feed(now, input, out, peer)
    }

    fn unfinished(&self) -> bool {
        self.session.unfinished()
    }

    fn held(&self) -> Held {
        let Held { own, shared } = self.session.held();
        Held { own: own + size_of::<Self>() + self.undecided.heap_size(), shared }
    }

    fn tick(&mut self, now: Now, out: &mut BytesMut, peer: &mut Peer) -> Result<(), SessionError> {
        self.session.tick(now, out, peer)
    }

    fn control(
        &mut self,
        now: Now,
        request: &Control,
        out: &mut BytesMut,
        peer: &mut Peer,
    ) -> Result<(), SessionError> {
        if let (Control::Select(patterns), Some(undecided)) = (request, &mut self.undecided) {
            undecided.settings.select =
                patterns.iter().filter_map(|p| Pattern::parse(p).ok()).collect();
        }
        self.session.control(now, request, out, peer)
    }

    fn close(&mut self, now: Now, out: &mut BytesMut, peer: &mut Peer) {
        self.session.close(now, out, peer);
    }

    fn says_goodbye(&self) -> bool {
        self.session.says_goodbye()
    }

    fn established(&self) -> bool {
        self.session.established()
    }
}
