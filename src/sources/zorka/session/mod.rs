//! Agents and their sessions: who sends, under which name it is shown, which of its requests are
//! copies (docs/protocols/zorka.md 3, 7 and 10.2).

mod agent;
mod directory;
mod fingerprint;
mod identity;
mod key;
mod recent;
mod registry;

pub(super) use agent::{Agent, Kind, State, Waiting};
pub(super) use directory::{Directory, SessionRef};
pub(super) use fingerprint::{of_request, of_traces};
pub(super) use key::{SessionIds, clean, digits, visible};
pub(super) use registry::{Refusal, Registration, Registry, live};
