//! One folder for each protocol. A source is pure: bytes and time in, [`Update`]s and reply bytes out; it never sees a
//! socket, a clock, tokio or PCP. A new protocol is one folder here and one row in [`SOURCES`].

pub mod mono;
pub mod profiler;

use crate::model::{Control, EventKind, MetricDef, MetricSpec, Now, Update};
use bytes::BytesMut;

/// Takes what sessions tell. The store implements it; tests collect into a `Vec`.
pub trait Sink {
    /// One thing that happened. Never blocks on a peer or on PCP.
    fn update(&mut self, update: Update<'_>);
}

/// Why a conversation ends, by whose fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The peer sent what its protocol does not allow.
    #[error("malformed at byte {offset}: {what}")]
    Malformed {
        /// Bytes of the stream before the fault.
        offset: u64,
        /// What was wrong.
        what: String,
    },
    /// The peer asked for more than a named limit.
    #[error("limit {limit} exceeded: {got} > {max}")]
    Limit {
        /// Name of the limit.
        limit: &'static str,
        /// What was asked for.
        got: u64,
        /// What is allowed.
        max: u64,
    },
    /// A sound message of a version or protocol that is not spoken here.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The peer did not say enough in time.
    #[error("no {0} in time")]
    Timeout(&'static str),
    /// Nothing is wrong: the conversation is over (a newer connection took over, say).
    #[error("closed: {0}")]
    Closed(&'static str),
}

/// One peer's conversation, without I/O and without a clock.
///
/// The driver owes it: `feed` whenever bytes have come, `tick` about once a second, `close` exactly once at the end, and
/// nothing after an error except `close`. Bytes in `out` are to be sent in order.
pub trait Session: Send {
    /// Consumes whole tokens from the front of `input`, leaves a partial one. Never blocks, never panics on any input.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn feed(&mut self, now: Now, input: &mut BytesMut, out: &mut BytesMut, sink: &mut dyn Sink) -> Result<(), SessionError>;

    /// Time has passed.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn tick(&mut self, now: Now, out: &mut BytesMut, sink: &mut dyn Sink) -> Result<(), SessionError>;

    /// A user's request.
    ///
    /// # Errors
    /// [`SessionError::Closed`] when the request is to end.
    fn control(&mut self, now: Now, request: &Control, out: &mut BytesMut, sink: &mut dyn Sink) -> Result<(), SessionError>;

    /// The connection is gone or about to be closed by us; `out` is sent if it still can be.
    fn close(&mut self, now: Now, out: &mut BytesMut, sink: &mut dyn Sink);

    /// The peer has said who or at least what it is. Until then it counts against `limits.pending`.
    fn established(&self) -> bool;
}

/// Metrics that peers bring: nodes, and how a description comes back after a restart.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    /// Node below the source's prefix under which the metrics are: `counter`.
    pub node: &'static str,
    /// One line for the node's help.
    pub what: &'static str,
    /// Makes the description again from `MetricSpec::persist`; `None` if the line is not one of this source's.
    pub restore: fn(&str) -> Option<MetricSpec>,
    /// Metrics that exist before the first peer has come. Their order makes their ids: only ever append.
    pub initial: fn() -> Vec<MetricSpec>,
}

/// One protocol.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Name: `mono`. Its metrics are `apm.<name>.*`, its agents `<name>::…`.
    pub name: &'static str,
    /// First of the [`CLUSTERS`] PMID clusters that belong to it.
    pub cluster: u16,
    /// Serial number of its instance domain.
    pub indom: u32,
    /// One line and the help text of its instance domain.
    pub indom_help: (&'static str, &'static str),
    /// The static metrics (`Area::Source` cells and texts, controls); the leaves of `events` are not among them.
    pub metrics: fn() -> Vec<MetricDef>,
    /// The kinds of events.
    pub events: &'static [EventKind],
    /// Metrics that its peers bring.
    pub dynamic: Option<Dynamic>,
}

/// PMID clusters reserved for each source: static +0, event leaves +1.., static parameters +[`PARAM_CLUSTER`],
/// dynamic metrics +[`DYNAMIC_CLUSTER`].., their parameters +[`DYNAMIC_PARAM_CLUSTER`]...
pub const CLUSTERS: u16 = 64;
/// Cluster of `param.*` metrics that every source has, relative to the source's first.
pub const PARAM_CLUSTER: u16 = 15;
/// First cluster of dynamic metrics, relative to the source's first; 16 clusters of 1024 items.
pub const DYNAMIC_CLUSTER: u16 = 16;
/// First cluster of the parameters that belong to dynamic metrics; same order of items.
pub const DYNAMIC_PARAM_CLUSTER: u16 = 32;
/// Most dynamic metrics of a source: 16 clusters of 1024 items.
pub const DYNAMIC_MAX: usize = 16 * 1024;

/// All protocols. Ids in here are in archives: never change them.
pub const SOURCES: &[Source] = &[mono::SOURCE];
