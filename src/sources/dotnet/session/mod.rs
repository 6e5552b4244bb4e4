//! When to ask a process what: the state machine of one process, without I/O and without a clock
//! (docs/protocols/dotnet.md 0, 2).
//!
//! ```text
//!  found ─▶ ProcessInfo 3, 2, 1 ─▶ CollectTracing 5..1 ─▶ stream ─▶ StopTracing ─▶ end of stream
//!    ▲             │ no answer, error    │                  │ silence: ProcessInfo, new session
//!    └─ back-off ──┴─────────────────────┴──────────────────┘
//! ```

mod backoff;
mod choice;
mod collect;
mod line;
mod pattern;
mod process;
mod state;
mod words;

pub use choice::Choice;
pub use line::{Command, End, Failure, Line};
pub use process::Process;
pub use state::{Reach, State};

#[cfg(test)]
mod tests;
