//! One folder for each protocol. A source is pure: bytes and time in, [`Update`]s and reply bytes
//! out; it never sees a socket, a clock, tokio or PCP. A new protocol is one folder here and one
//! row in [`SOURCES`].

mod define;
pub mod lttng;
pub mod mono;
pub mod profiler;

use bytes::BytesMut;

use crate::events::Batch;
use crate::model::{
    Control, EventKind, MetricDef, MetricSpec, Now, ParamId, Pmid, Units, Update, ValueType,
};

/// Takes what sessions tell. The store implements it; tests collect into a `Vec`.
pub trait Sink {
    /// One thing that happened. Never blocks on a peer or on PCP.
    fn update(&mut self, update: Update<'_>);

    /// The metric of a parameter of event records and its type, for records that the source packs
    /// itself; `None` if there is no room for such a metric, or no peer yet.
    fn param(&self, _: ParamId) -> Option<(Pmid, ValueType)> {
        None
    }

    /// Records that the source has packed, for the event stream `kind`; they are gone from the
    /// batch.
    fn append(&mut self, _: u8, records: &mut Batch) {
        records.clear();
    }
}

/// The sink of a peer whose driver is the source itself: where one connection tells of several
/// peers.
pub trait OwnSink: Sink + Send {
    /// The moment for what follows.
    fn at(&mut self, now: Now);

    /// Bytes of its own that were read.
    fn read(&mut self, bytes: usize);

    /// Bytes that the sink itself holds, and as `shared` those that its peer has in the store.
    fn held(&self) -> Held {
        Held::default()
    }

    /// It is gone, in an orderly way.
    fn end(&mut self);
}

/// Makes a sink for each peer that connections tell of.
pub trait Sinks: Send + Sync {
    /// For one more.
    fn open(&self) -> Box<dyn OwnSink>;
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

/// Bytes that a session holds, by the capacities of what it is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Only for this session.
    pub own: usize,
    /// Also for others, which is accounted for elsewhere: for the limit of one peer.
    pub shared: usize,
}

/// One peer's conversation, without I/O and without a clock.
///
/// The driver owes it: `feed` whenever bytes have come, `tick` about once a second, `close` exactly
/// once at the end, and nothing after an error except `close`. Bytes in `out` are to be sent in
/// order.
pub trait Session: Send {
    /// Consumes whole tokens from the front of `input`, leaves a partial one. Never blocks, never
    /// panics on any input.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn feed(
        &mut self,
        now: Now,
        input: &mut BytesMut,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// There is more to do of what has been fed: a call of `feed` does a bounded piece of work, and
    /// a few bytes can mean a lot of it. The driver calls `feed` again, with the same input,
    /// once others have had their turn.
    fn unfinished(&self) -> bool {
        false
    }

    /// What it holds now. Asked for after each call, so it must be quick.
    fn held(&self) -> Held {
        Held::default()
    }

    /// Time has passed.
    ///
    /// # Errors
    /// [`SessionError`]: the connection must be closed.
    fn tick(
        &mut self,
        now: Now,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// A user's request.
    ///
    /// # Errors
    /// [`SessionError::Closed`] when the request is to end.
    fn control(
        &mut self,
        now: Now,
        request: &Control,
        out: &mut BytesMut,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// The connection is gone or about to be closed by us; `out` is sent if it still can be.
    fn close(&mut self, now: Now, out: &mut BytesMut, sink: &mut dyn Sink);

    /// The peer has said who or at least what it is. Until then it counts against `limits.pending`.
    fn established(&self) -> bool;
}

/// Metrics that peers bring: nodes, and how a description comes back after a restart.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    /// Node below the source's prefix under which the metrics are: `counter`. `None`: they are
    /// only parameters of event records, below `param`.
    pub node: Option<&'static str>,
    /// One line for the node's help.
    pub what: &'static str,
    /// Makes the description again from `MetricSpec::persist`; `None` if the line is not one of
    /// this source's.
    pub restore: fn(&str) -> Option<MetricSpec>,
    /// Metrics that exist before the first peer has come. Their order makes their ids: only ever
    /// append.
    pub initial: fn() -> Vec<MetricSpec>,
}

/// A table of a source: its rows are the instances of a domain of their own.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// What a row is: for labels and the log.
    pub name: &'static str,
    /// Serial number of its instance domain.
    pub indom: u32,
    /// One line and the help text of its instance domain.
    pub indom_help: (&'static str, &'static str),
    /// Rows belong to one peer each, and go with it; else all peers share them.
    pub of_peer: bool,
    /// Most rows. A shared table gives the places to the rows with most in cell `score`; the rest
    /// is in [`OTHER`].
    pub max: usize,
    /// Which cell says how much a row matters.
    pub score: u16,
    /// Rows that always exist.
    pub initial: fn() -> Vec<String>,
}

/// The row of a shared table that has what has no row of its own.
pub const OTHER: &str = "other";

/// A parameter of event records that a source always has.
#[derive(Clone, Copy, Debug)]
pub struct ParamDef {
    /// Item number in the cluster of parameters; 0 is `lost`.
    pub item: u16,
    /// Name below `param.`.
    pub name: &'static str,
    /// Value type.
    pub ty: ValueType,
    /// Units.
    pub units: Units,
    /// One line of help; the full text is made from it.
    pub oneline: &'static str,
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
    /// The static metrics (`Area::Source` cells and texts, controls); the leaves of `events` are
    /// not among them.
    pub metrics: fn() -> Vec<MetricDef>,
    /// The kinds of events.
    pub events: &'static [EventKind],
    /// Metrics that its peers bring.
    pub dynamic: Option<Dynamic>,
    /// Tables with rows of their own.
    pub tables: &'static [TableDef],
    /// Parameters of its events, beside those of dynamic metrics.
    pub params: &'static [ParamDef],
    /// The static metric that counts new processes of a known name.
    pub restarts: Option<u16>,
    /// Values are sums of our own: they stay true when the peer is silent or gone. Else they are
    /// what the peer said last.
    pub keeps_values: bool,
}

/// PMID clusters reserved for each source: static +0, event leaves +1.., static parameters
/// +[`PARAM_CLUSTER`], dynamic metrics +[`DYNAMIC_CLUSTER`].., their parameters
/// +[`DYNAMIC_PARAM_CLUSTER`]...
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
pub const SOURCES: &[Source] = &[mono::SOURCE, profiler::SOURCE, lttng::SOURCE];
/// Position of Mono in [`SOURCES`].
pub const MONO: usize = 0;
/// Position of the Java profiler.
pub const PROFILER: usize = 1;
/// Position of LTTng.
pub const LTTNG: usize = 2;

/// One line and the help text of an instance domain of any source.
#[must_use]
pub fn indom_help(serial: u32) -> Option<(&'static str, &'static str)> {
    let own = SOURCES.iter().map(|s| (s.indom, s.indom_help));
    let tables = SOURCES.iter().flat_map(|s| s.tables).map(|t| (t.indom, t.indom_help));
    own.chain(tables).find(|(indom, _)| *indom == serial).map(|(_, help)| help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_their_sources() {
        let names = [MONO, PROFILER, LTTNG].map(|source| SOURCES[source].name);
        assert_eq!((names, SOURCES.len()), (["mono", "profiler", "lttng"], names.len()));
    }
}
