//! The contract between a source and the PMDA: what a source's author must know. A [`Session`] is one
//! peer of a protocol that is a byte stream, an [`HttpService`](http::HttpService) answers requests; both are
//! pure: bytes and time in, reply bytes out, without a socket, a clock, tokio or PCP. What they say of a
//! peer goes through a [`Peer`]. `net` drives them, the store is what a peer leads to, and tests look at
//! what was said with [`Recorded`].
//!
//! `examples/toy` is a source that has one of each, and begins with the steps to a new one:
//!
//! | what | where |
//! |---|---|
//! | names, ids, metrics, tables, kinds of events | [`SourceTable`](crate::catalogue::SourceTable), with [`peer_metrics!`](crate::peer_metrics) and the macros beside it |
//! | rows | [`TableDef`](crate::catalogue::TableDef) and [`row_metrics!`](crate::row_metrics), then [`Peer::row`] |
//! | sums by service | [`Services`](crate::catalogue::Services) in the table, and [`Identity::service`] |
//! | a limit on records | [`Rate`] |
//! | a limit on lines of the log | [`LogThrottle`](crate::store::LogThrottle) |
//! | processes of this host | [`Finder`](crate::host::Finder), whose reports go to a peer of a [`PeerMaker`] |
//! | keys of `apm.toml` | [`section!`](crate::section), with the values of [`units`](crate::config::units) |
//!
//! How a source is started is told in [`sources`](crate::sources): that needs the rooms above this one.
//! `tests/imports.rs` has which room may name which: only the `io` of a source has sockets, tasks and clocks.

pub mod http;
mod longest;
mod peer;
mod rate;
mod recipient;
mod record;
mod recorded;
mod rows;
mod session;
mod sums;
mod update;

pub use peer::{Peer, PeerMaker};
pub use rate::Rate;
pub use recipient::{Held, Recipient, Refusal};
pub use record::{Params, Record};
pub use recorded::{Log, Recorded, RecordedEvent};
pub use rows::{Histogram, NewRow};
pub use session::{Session, SessionError};
pub use update::{Control, Identity, ParamId, SampleValue, Service, Update};
