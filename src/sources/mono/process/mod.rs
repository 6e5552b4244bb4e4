//! The processes of this host, and the ways that each is seen by: one process is one instance.
//!
//! ```text
//!  module  (connection, file) ─┐ said: pid, command   ┌──────────┐ seat: identity of the process,
//!  stream  (connection, file) ─┼─────────────────────▶│processes │──▶ and which metrics it feeds now
//!  area    (/dev/shm/mono.N)  ─┘ facts                └────┬─────┘
//!                                                   host: /proc
//! ```
//!
//! A process is its id on this host and its start time. What a peer says of itself is true in its
//! own pid namespace only, so [`host::Host`] finds the process that has the connection or the file
//! open. A peer of another host and the file of a process that has ended have no seat.

mod host;
mod name;
mod processes;
mod seat;
mod share;
mod shown;
mod stage;
mod tally;
#[cfg(test)]
mod tests;

pub(crate) use host::{Facts, Host, Said, Via};
pub(crate) use name::tidy;
pub(crate) use processes::{Joining, Processes};
pub(crate) use seat::Seat;
pub(crate) use share::{Share, Way};
pub(crate) use shown::Shown;
pub(crate) use stage::Stage;
pub(crate) use tally::{Sum, Tally};
