//! Control of LTTng recording sessions, without I/O and without a clock.
//!
//! ```text
//!  [[lttng.session]] ─▶ Spec ─┐                      ┌─▶ Invocation ─▶ lttng --no-sessiond --mi xml … ─▶ Reply ─┐
//!  pmstore ─▶ Command ────────┼─▶ Controller ─▶ plan ┘                                                          │
//!  viewer  ─▶ Notice ─────────┘       ▲  └─▶ Report (phase, Diagnosis), answers, state to save                  │
//!                                     └──────────────────────────── mi::read, judge ◀──────────────────────────┘
//! ```
//!
//! The `lttng` program is used instead of its library: it is the same from 2.12 to 2.16, its crash
//! does not end the PMDA, and a command takes 3 to 10 ms and is rare (docs/protocols/lttng.md
//! (ii)).
//!
//! The wanted sessions are compared with `lttng list` at the start, every `limits::PERIOD` and
//! after requests and notices. Only commands for the difference run, so every command may be
//! repeated. A session is ours if its path ends in a unique mark that was written to the state file
//! before the session was created. Sessions of other owners are never changed, even under the same
//! name.

mod command;
mod controller;
mod diagnosis;
mod managed;
pub mod mi;
mod plan;
#[cfg(test)]
#[path = "tests/recorded.rs"]
mod recorded;
mod reply;
mod spec;

pub use command::{Command, Verb, blocking, buffers, domain, micros};
pub use controller::{Action, Controller, RequestAnswer};
pub use diagnosis::{Code, Diagnosis, Notice, Probe, SessionWatch, Socket};
pub use managed::{Report, Saved, SessionPhase, State};
pub use plan::{Applied, Invocation, Plan, PlanInput, Step, is_ours, plan};
pub use reply::{CommandError, Exit, Reply};
pub use spec::{
    Blocking, Buffers, Domain, LIVE_TIMER, NUM_SUBBUF, SUBBUF_SIZE, SessionSpec, SpecError,
};
