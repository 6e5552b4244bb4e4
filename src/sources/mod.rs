//! One folder for each protocol. A source is pure: bytes and time in, [`Update`](crate::model::Update)s and reply bytes
//! out; it never sees a socket, a clock, tokio or PCP. A new protocol is one folder here and one
//! row in [`SOURCES`].

mod contract;
mod define;
#[cfg(feature = "lttng")]
pub mod lttng;
#[cfg(feature = "mono")]
pub mod mono;
#[cfg(feature = "profiler")]
pub mod profiler;
pub mod registry;
mod session;
mod sink;
mod table;

pub use contract::Source;
#[cfg(feature = "agent")]
pub use contract::{Context, Running};
pub use session::{Session, SessionError};
pub use sink::{Held, OwnSink, Sink, Sinks};
pub use table::{
    CLUSTERS, DYNAMIC_CLUSTER, DYNAMIC_MAX, DYNAMIC_PARAM_CLUSTER, Dynamic, OTHER, PARAM_CLUSTER,
    ParamDef, SourceTable, TableDef,
};

/// All protocols. Ids in here are in archives: never change them.
pub const SOURCES: &[SourceTable] = registry::TABLES;
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
