//! The contract between a source and the PMDA: what a source's author must know. A [`Session`] is one
//! peer of a protocol that is a byte stream, an [`HttpService`](http::HttpService) answers requests; both are
//! pure: bytes and time in, [`Update`]s and reply bytes out, without a socket, a clock, tokio or PCP. `net`
//! drives them, and the store takes what they say of their peers, through a [`Sink`] each.
//!
//! How a source is started is told in [`sources`](crate::sources): that needs the rooms above this one.

mod counters;
pub mod http;
mod session;
mod sink;
mod update;

pub use counters::Counters;
pub use session::{Session, SessionError};
pub use sink::{Held, OwnSink, Sink, Sinks, start_counters};
pub use update::{
    Control, EventParam, EventValue, Identity, ParamId, SampleValue, Service, Update,
};
