//! What records ask of the reader of a process.

/// What can be found out about a process beside its stream.
pub trait Lookup {
    /// The name of a thread, by the id that the process has for it. Records ask again after some
    /// seconds only.
    fn thread_name(&mut self, _: u64) -> Option<String> {
        None
    }

    /// Appends the stack of this id, outermost method first; nothing if it is not known.
    fn stack(&mut self, _: u32, _: &mut String) {}
}

/// Finds nothing.
impl Lookup for () {}

/// Where an event comes from, beside its thread.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Id of its stack; 0: none.
    pub stack: u32,
    /// Activity id; zeros: none.
    pub activity: &'a [u8; 16],
    /// Related activity id; zeros: none.
    pub related: &'a [u8; 16],
}

impl Default for Origin<'_> {
    fn default() -> Self {
        Self { stack: 0, activity: &[0; 16], related: &[0; 16] }
    }
}
