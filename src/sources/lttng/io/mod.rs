//! All I/O with LTTng: its relay daemons by sockets, its session daemon by the `lttng` program.

mod connection;
mod control;
mod probe;
mod program;
mod relay;
mod relay_status;
mod start;
mod state_file;

pub use control::{ControlOptions, OnAnswer, SessionControl};
pub(super) use start::start;
