//! The fence: every C name and every `unsafe` of the crate is in here, and all of it runs on the
//! main thread. Three steps: `sys` (raw, generated) → safe wrappers of one libpcp_pmda service each
//! → callbacks and loop that use only those.
#![allow(
    unsafe_code,
    reason = "the C boundary of libpcp_pmda; each block names the contract it relies on"
)]

mod access;
mod agent;
mod callbacks;
mod contexts;
mod entries;
mod fetch;
mod indom;
mod keeper;
mod label;
mod local;
mod lock;
mod log;
mod main_loop;
mod namespace;
mod options;
mod process;
mod state;
mod store;
mod text;
mod wake;

use pcp_sys as sys;

pub use agent::{Agent, StartError};
pub use log::{Log, set_level};
pub use main_loop::{Hooks, run};
pub use options::{Mode, Options, parse};
pub use process::{config_dir, give_memory_back, is_started_by_pmcd, resident_memory, state_dir};
pub use state::set_rights;
pub use wake::Wake;
