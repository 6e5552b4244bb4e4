//! The live viewer, without I/O and without a clock: one conversation with a relay daemon that
//! lists its sessions, and one more for each session that is read.
//!
//! ```text
//!  Listing  start ─▶ CONNECT, LIST ─▶ LIST once a second ─▶ Roster: a session that fits a pattern ─▶ Start
//!
//!  Reading  start ─▶ CONNECT, CREATE, ATTACH ─▶ streams
//!  trace:   METADATA until nothing is new ◀── flag 1 of any reply ── its streams wait ──▶ on they go
//!  stream:  INDEX ─ok─▶ PACKET + next INDEX in one write ─▶ … ─retry, beacon─▶ asked again when news are due (`backoff`)
//!           INDEX ─hung up─▶ gone;  last of its session ─▶ NEW_STREAMS ─session over─▶ End ─▶ Roster; may be listed again
//! ```
//!
//! Why a connection for each session? The relay daemon keeps *one* folder for each viewer session,
//! which is a connection: that of the session whose streams were opened last. Streams of another
//! one that open later would be read from there: from another session's file of that name, or not
//! at all.
//!
//! A [`Reading`] is made for one connection and tells an [`Observer`]. What must outlive the
//! connection so that nothing is told twice is [`ReplayFilter`]: it is in the [`Start`] that the [`Roster`]
//! gives, and in the [`End`] that goes back to it.
//!
//! Requests are pipelined: all streams that are due are asked in one write. Of one stream no more
//! than a packet and the index behind it are asked at once, in this order: the relay daemon reads
//! packets from the file that the *latest* index was in, so two indexes ahead would read from the
//! wrong file when files are rotated or cleared.
//!
//! # The driver
//! * dials, sets `TCP_NODELAY`, calls `start` and sends `out`;
//! * reads into the spare capacity of `input`, which the conversation has made as large as what it
//!   waits for, so that a packet is never copied; calls `feed` and sends `out`, at once;
//! * calls `tick` at `next_wakeup` and sends `out`;
//! * sets `TCP_QUICKACK` before each read, without fail: the relay daemon has Nagle's algorithm on,
//!   so whatever it sends behind something that is not acknowledged waits for the delayed ack, 40
//!   ms each time. That is the second half of LIST, ATTACH, METADATA and `NEW_STREAMS`, and the
//!   index behind every packet;
//! * after each listing asks the roster what to read, and makes a connection for each;
//! * when reading [is over](Reading::is_over), after an error, or when the connection is gone,
//!   calls [`Reading::close`] and gives the end to [`Roster::ended`]; a listing is dialled again
//!   with back-off.
//!
//! The way of the bytes: [`wire`] → `connection` → `reading::{replies, packets}` → `streams` →
//! [`Observer`]; and back: `backoff` → `next_request` → [`wire`].

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
