//! `libmono-profiler-apm.so`: a Mono profiler module that streams the runtime's counters to an
//! inspector (pmdaapm) in the counters-agent protocol, or into a file.
//!
//! ```text
//!   the program's threads              │ the module's own thread "apm-counters"
//!                                      │
//!   mono ──▶ hooks ──▶ agent ─ start ──┼──▶ courier ──▶ session ──▶ wire ──▶ link ──▶ inspector
//!              │         └──── stop ───┼──▶    ▲           │                   │      or file
//!              └─▶ registry (a list) ──┼───────┘           └◀── requests ◀─────┘
//!                                      │                 reads counters
//!                       mono: Gate ◀───┴───────────────────────┘
//! ```
//!
//! * C calls only `hooks`, where a panic ends; only `mono` calls C.
//! * `options`, `catalogue`, `wire`, `requests` and `session` are pure: no I/O, no clock, no Mono.
//! * `os` (`link`, `stop`, `sys`) is the operating system; `courier` joins the two halves.
//! * The thread is a plain one, unknown to the runtime, with all signals blocked. The program's
//!   threads never wait for it, except at most half a second when the runtime ends.
//!
//! docs/protocols/mono-counters.md has the facts of the protocol, from the public note
//! <https://gist.github.com/luhenry/9900756>, the sources of 2014 and experiments.

#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::unwrap_used))]

mod agent;
mod catalogue;
mod clock;
mod complaint;
mod courier;
mod hooks;
mod identity;
mod mono;
mod options;
mod os;
mod registry;
mod requests;
mod session;
mod wire;

pub use hooks::mono_profiler_init_apm;
