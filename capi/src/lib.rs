//! `libpmdaevent.so`: the functions `pmdaEvent*` of libpcp_pmda with the same names and ABI, over
//! the arrays and queues of pcp-event. A PMDA in C uses it unchanged, through `LD_PRELOAD` or by
//! linking it before `-lpcp_pmda`.
//!
//! For every valid sequence of calls the bytes are those of libpcp_pmda; where that library
//! corrupts memory or loses events, this one returns an error or behaves as documented in
//! pmdaEventNewArray(3) and pmdaEventNewQueue(3) (docs/design.md lists the differences). All functions
//! may be called from any thread. A pointer from `pmdaEventGetAddr` is valid until the array is
//! next changed.
#![allow(unsafe_code, reason = "a C boundary of its own")]

mod append;
mod arrays;
mod clients;
mod ctypes;
mod debug;
mod fence;
mod filters;
mod queues;
mod records;
mod running;
mod slot;
mod state;
mod table;
mod turns;

pub use append::*;
pub use arrays::*;
pub use clients::*;
pub use ctypes::{ApplyFilter, AtomValue, Decode, HighResDecode, ReleaseFilter};
pub use queues::*;
pub use records::*;
