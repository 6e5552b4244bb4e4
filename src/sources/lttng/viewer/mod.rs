//! The live viewer protocol, without I/O and without a clock: one connection to a relay daemon that
//! lists its sessions, and one more for each session that is read.
//!
//! ```text
//!  Listing  start ─▶ CONNECT, LIST ─▶ LIST once a second ─▶ Roster: a session that matches a pattern ─▶ Start
//!
//!  Reading  start ─▶ CONNECT, CREATE, ATTACH ─▶ streams
//!  trace:   METADATA until nothing is new ◀── flag 1 of any reply ── its streams wait until then
//!  stream:  INDEX ─ok─▶ PACKET + next INDEX in one write ─▶ … ─retry, beacon─▶ asked again when data is due (`backoff`)
//!           INDEX ─hung up─▶ gone;  last of its session ─▶ NEW_STREAMS ─session over─▶ End ─▶ Roster; may be listed again
//! ```
//!
//! Each session needs a connection of its own. For a connection the relay daemon keeps *one*
//! folder: that of the session whose streams were opened last. Streams of another session that open
//! later would be read from there: from the wrong file, or not at all.
//!
//! A [`Reading`] serves one connection and reports to an [`Observer`]. The [`ReplayFilter`]
//! outlives connections, so that no packet is reported twice. It is part of the [`Start`] from the
//! [`Roster`] and of the [`End`] that goes back to it.
//!
//! Requests are pipelined: one write has the requests of all streams that are due. For one stream
//! that is at most a packet and the index behind it, in this order. The relay daemon reads packets
//! from the file of the *latest* index, so with two indexes ahead it would read from the wrong file
//! when files are rotated or cleared.
//!
//! # Duties of the driver
//! * connects, sets `TCP_NODELAY`, calls `start` and sends `out`;
//! * reads into the spare capacity of `input`, which is as large as the expected reply, so that a
//!   packet is never copied; calls `feed` and sends `out` at once;
//! * calls `tick` at `next_wakeup` and sends `out`;
//! * sets `TCP_QUICKACK` before each read. The relay daemon has Nagle's algorithm on, so the second
//!   of two writes waits for the delayed ack, 40 ms each time. Second writes are the rest of LIST,
//!   ATTACH, METADATA and `NEW_STREAMS`, and the index behind every packet;
//! * after each listing takes the sessions to read from the roster, and makes a connection for
//!   each;
//! * when reading [is over](Reading::is_over), after an error, or when the connection is gone,
//!   calls [`Reading::close`] and passes the end to [`Roster::ended`]; connects again for listings
//!   with back-off.
//!
//! Bytes pass [`wire`] → `connection` → `reading::{replies, packets}` → `streams` →
//! [`Observer`]; requests pass `backoff` → `next_request` → [`wire`].

mod connection;
mod limits;
mod listing;
mod model;
mod observer;
mod reading;
mod replay_filter;
mod roster;
mod settings;
mod wire;

pub use limits::{
    METADATA, METADATA_REPLY, METADATA_SESSION, OUTSTANDING, PACKET, PARTIAL, SESSIONS, STREAMS,
};
pub use listing::{Lister, Listing};
pub use model::{Index, MINOR, Relayd, SessionInfo, StreamInfo, TraceFormat, TraceKey};
pub use observer::{
    Attached, Beacon, Need, Observer, Packet, Refused, SessionEnd, Skipped, StreamEnd, Violation,
};
pub use reading::{End, OpenStreams, Reading, Start};
pub use replay_filter::ReplayFilter;
pub use roster::Roster;
pub use settings::{Pattern, Seek, Settings};
