//! From the events of one process to event records in its streams.
//!
//! ```text
//!  meter::Occurrence ─▶ occurrence ─┐
//!  EventSource events ─▶ application ┼▶ Waiting (a batch for each kind) ─▶ sorted by time ─▶ stream
//!  reports ─────────────────────────┘
//! ```

mod rate;
mod reader;
mod settings;
mod text;
mod waiting;

pub use reader::Records;
pub use settings::Settings;

/// What the reader of a process can find out beside its stream.
pub trait Lookup {
    /// The name of a thread, by the id that the process has for it.
    fn thread_name(&mut self, _: u64) -> Option<String> {
        None
    }

    /// Appends the stack of this id, outermost method first; nothing if it is not known.
    fn stack(&mut self, _: u32, _: &mut String) {}
}

/// Finds nothing.
impl Lookup for () {}
