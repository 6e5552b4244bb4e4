//! The contract between a source and the PMDA: what a source's author must know. A [`Session`] is one
//! peer of a protocol that is a byte stream, an [`HttpService`](http::HttpService) answers requests; both are
//! pure: bytes and time in, reply bytes out, without a socket, a clock, tokio or PCP. What they say of a
//! peer goes through a [`Peer`]. `net` drives them, the store is what a peer leads to, and tests look at
//! what was said with [`Recorded`].
//!
//! How a source is started is told in [`sources`](crate::sources): that needs the rooms above this one.

mod counters;
pub mod http;
mod peer;
mod recipient;
mod recorded;
mod session;
mod update;

pub use counters::Counters;
pub use peer::{Peer, PeerMaker};
pub use recipient::{Held, Recipient, Refusal};
pub use recorded::{Log, Recorded, RecordedEvent};
pub use session::{Session, SessionError};
pub use update::{
    Control, EventParam, EventValue, Identity, ParamId, SampleValue, Service, Update,
};
