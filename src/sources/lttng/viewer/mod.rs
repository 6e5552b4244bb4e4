//! The live viewer: one connection to one relay daemon, without I/O and without a clock.
//!
//! ```text
//!  start ─▶ CONNECT, CREATE, LIST ─▶ LIST once a second ─▶ session that fits a pattern ─▶ ATTACH ─▶ streams
//!
//!  trace:   METADATA until nothing is new ◀── flag 1 of any reply ── its streams wait ──▶ on they go
//!  stream:  INDEX ─ok─▶ PACKET + next INDEX in one write ─▶ … ─retry, beacon─▶ asked again when news are due (`pace`)
//!           INDEX ─hung up─▶ gone;  last of its session ─▶ NEW_STREAMS ─session over─▶ gone; may be listed again
//! ```
//!
//! A [`Viewer`] is made for one connection and tells an [`Observer`]. What must outlive the connection so that nothing is told
//! twice is [`Seen`]: it is given to [`Viewer::new`] and comes back from [`Viewer::close`].
//!
//! Requests are pipelined: all streams that are due are asked in one write. Of one stream no more than a packet and the index
//! behind it are asked at once, in this order: the relay daemon reads packets from the file that the *latest* index was in, so
//! two indexes ahead would read from the wrong file when files are rotated or cleared.
//!
//! # The driver
//! * dials, sets `TCP_NODELAY`, calls [`Viewer::start`] and sends `out`;
//! * reads into the spare capacity of `input`, which the viewer has made as large as what it waits for, so that a packet is
//!   never copied; calls [`Viewer::feed`] and sends `out`, at once;
//! * calls [`Viewer::tick`] at [`Viewer::next_wakeup`] and sends `out`;
//! * sets `TCP_QUICKACK` before each read, without fail: the relay daemon has Nagle's algorithm on, so whatever it sends
//!   behind something that is not acknowledged waits for the delayed ack, 40 ms each time. That is the second half of LIST,
//!   ATTACH, METADATA and `NEW_STREAMS`, and the index behind every packet;
//! * after an error, or when the connection is gone, calls [`Viewer::close`], and dials again with back-off.
//!
//! The way of the bytes: [`wire`] → `replies` → [`streams`], [`sessions`] → [`Observer`]; and back: [`pace`] → `asking` →
//! [`wire`].

mod asking;
mod connection;
mod limits;
mod observer;
mod pace;
mod replies;
mod seen;
mod sessions;
mod settings;
mod streams;

mod wire;

pub use connection::Viewer;
pub use limits::{METADATA, METADATA_REPLY, OUTSTANDING, PACKET, SESSIONS, STREAMS};
pub use observer::{Attached, Beacon, Complaint, Ended, Need, Observer, Over, Packet, Refused, Relayd, SessionInfo, Skipped};
pub use observer::{StreamInfo, TraceFormat, TraceKey};
pub use seen::Seen;
pub use settings::{Pattern, Seek, Settings};
pub use wire::{Index, MINOR};
