//! What the ids of a call say about it.

use crate::sources::profiler::dictionary::{Dictionary, KnownWord};

/// Found in one pass over the ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// All ids have words.
    pub(crate) named: bool,
    /// The call failed.
    pub(crate) error: bool,
    /// The call only waited.
    pub(crate) idle: bool,
}

impl Marks {
    /// Of a call with this method and these parameters.
    #[inline(always)]
    pub(crate) fn of(method: u32, params: impl Iterator<Item = u32>, words: &Dictionary) -> Self {
        let (red, idle) = (words.id_of(KnownWord::Red), words.id_of(KnownWord::Idle));
        let mut marks = Self { named: words.get(method).is_some(), error: false, idle: false };
        for id in params {
            marks.named &= words.get(id).is_some();
            marks.error |= red == Some(id);
            marks.idle |= idle == Some(id);
        }
        marks
    }
}
