//! All I/O with LTTng: its relay daemons by sockets, its session daemon by the `lttng` program.

mod carry;
mod control;
mod probe;
mod process;
mod relay;
mod relay_status;
mod start;
mod state_file;

pub use control::{LttngControl, LttngOptions, OnAnswer};
pub(crate) use start::start;
