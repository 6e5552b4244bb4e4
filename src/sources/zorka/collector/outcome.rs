//! Endpoints, outcomes of requests, and their numbers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::contract::http::Answer;
use crate::contract::{Peer, PeerMaker};
use crate::model::{Now, RowItem, TableId};
use crate::sources::zorka::limits::PAUSE;
use crate::sources::zorka::metrics as m;

/// What a path is for (docs/protocols/zorka.md 10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Register,
    Session,
    Definitions,
    Traces,
    Health,
    Other,
}

impl Endpoint {
    /// By the path's end: agents may be configured with a prefix.
    pub(super) fn of(path: &str) -> Self {
        const PATHS: [(&str, Endpoint); 7] = [
            ("/agent/submit/trc", Endpoint::Traces),
            ("/agent/submit/agd", Endpoint::Definitions),
            ("/agent/session", Endpoint::Session),
            ("/agent/register", Endpoint::Register),
            ("/submit/trace", Endpoint::Traces),
            ("/submit/agent", Endpoint::Definitions),
            ("/healthz", Endpoint::Health),
        ];
        PATHS.iter().find(|(end, _)| path.ends_with(end)).map_or(Self::Other, |(_, is)| *is)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Session => "session",
            Self::Definitions => "agd",
            Self::Traces => "trc",
            Self::Health => "healthz",
            Self::Other => "other",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Accepted,
    /// Accepted and not counted: it had come before.
    Duplicate,
    /// Accepted; its body has a fault.
    Faulty,
    /// Accepted; its body was dropped because of a limit.
    Dropped,
    /// The session is not known.
    Unknown,
    /// The agent is asked for all definitions.
    Undefined,
    /// The key does not allow it, or it is of a browser or for another host.
    Refused,
    /// No JSON, or a part is missing.
    Malformed,
    /// Another method than POST.
    Method,
    NotFound,
}

const OUTCOMES: u32 = Outcome::NotFound as u32 + 1;

impl Outcome {
    const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Faulty => "faulty",
            Self::Dropped => "dropped",
            Self::Unknown => "unknown",
            Self::Undefined => "undefined",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::Method => "method",
            Self::NotFound => "not_found",
        }
    }
}

/// An answer and its reason.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) answer: Answer,
    pub(super) outcome: Outcome,
}

impl Reply {
    /// An answer without a body.
    pub(super) fn of(status: u16, outcome: Outcome) -> Self {
        Self { answer: Answer::of(status), outcome }
    }

    /// A text for who looks at it; slowly, as some agents repeat it without a pause.
    pub(super) fn forbidden(why: &str) -> Self {
        let mut reply = Self::of(403, Outcome::Refused);
        reply.answer.content_type = "text/plain; charset=utf-8";
        reply.answer.body = format!("refused: {why}\n").into_bytes();
        reply.answer.delay = PAUSE;
        reply
    }

    /// What a submitted body gets, whatever is in it: an error would only make the agent repeat it
    /// (docs/protocols/zorka.md 7).
    pub(super) fn accepted(outcome: Outcome) -> Self {
        let mut reply = Self::of(202, outcome);
        reply.answer.known = true;
        reply
    }

    /// JSON.
    pub(super) fn json(status: u16, value: &serde_json::Value) -> Self {
        let body = value.to_string().into_bytes();
        let answer = Answer {
            status,
            content_type: "application/json",
            body,
            known: true,
            ..Answer::default()
        };
        Self { answer, outcome: Outcome::Accepted }
    }
}

/// Counts requests and faults of all agents.
pub(super) struct Counts(Mutex<Rows>);

struct Rows {
    peer: Peer,
    /// Slots that have been bound, by table.
    bound: [u64; 2],
}

impl Counts {
    pub(super) fn new(maker: &PeerMaker) -> Self {
        Self(Mutex::new(Rows { peer: maker.make(), bound: [0; 2] }))
    }

    /// Counts a request.
    pub(super) fn request(&self, now: Now, endpoint: Endpoint, outcome: Outcome) {
        let slot = endpoint as u32 * OUTCOMES + outcome as u32;
        let key = || format!("{}::{}", endpoint.name(), outcome.name());
        self.lock().count(now, (0, m::REQUESTS, m::REQUEST_COUNT), slot, key);
    }

    /// Counts a body by the kind of its fault.
    pub(super) fn fault(&self, now: Now, (slot, name): (u32, &str)) {
        self.lock().count(now, (1, m::FAULTS, m::REQUEST_ERRORS), slot, || name.to_owned());
    }

    /// Counts and logs a fault of who is no agent.
    pub(super) fn error(&self, now: Now, what: &str) {
        let mut rows = self.lock();
        rows.peer.at(now);
        rows.peer.error(what);
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn count(
        &mut self,
        now: Now,
        (at, table, item): (usize, TableId, RowItem),
        slot: u32,
        key: impl FnOnce() -> String,
    ) {
        self.peer.at(now);
        let Some(bound) = self.bound.get_mut(at) else { return };
        let bit = 1_u64.checked_shl(slot).unwrap_or(0);
        if *bound & bit == 0 {
            *bound |= bit;
            self.peer.row(table, slot, Some(&key()));
        }
        self.peer.row_add(slot, item, 1);
    }
}

const _: () = assert!((Endpoint::Other as u32 + 1) * OUTCOMES <= u64::BITS, "a bit for each slot");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched_at_their_ends() {
        for (path, endpoint) in [
            ("/agent/register", Endpoint::Register),
            ("/a/b/agent/session", Endpoint::Session),
            ("/agent/submit/agd", Endpoint::Definitions),
            ("/x/agent/submit/trc", Endpoint::Traces),
            ("/submit/agent", Endpoint::Definitions),
            ("/submit/trace", Endpoint::Traces),
            ("/healthz", Endpoint::Health),
            ("/", Endpoint::Other),
            ("/agent/submit/trc/", Endpoint::Other),
            ("/myagent/session", Endpoint::Other),
        ] {
            assert_eq!(Endpoint::of(path), endpoint, "{path}");
        }
    }
}
