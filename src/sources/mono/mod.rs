//! Mono counters-agent protocol: placeholder until the session lands.
use super::Source;
/// The row of SOURCES.
pub const SOURCE: Source =
    Source { name: "mono", cluster: 64, indom: 1, indom_help: ("", ""), metrics: Vec::new, events: &[], dynamic: None };
