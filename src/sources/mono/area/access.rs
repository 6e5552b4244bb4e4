//! Whether the area of a process can be read, and the words if it cannot.

use std::sync::Arc;

use super::layout::Refusal;

/// How an area can be read now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is open.
    Open,
    /// This user may not read it: why, and what to do.
    Denied(Arc<str>),
    /// There is none, or it cannot be understood: why.
    Off(Arc<str>),
}

impl Access {
    /// Mode 0640: only its user and its group may read it.
    pub(crate) fn denied(owner: &str) -> Self {
        Self::Denied(Arc::from(format!(
            "only user {owner} and the group of the process may read its shared area: run the PMDA \
             as root, or as a member of that group, or give it CAP_DAC_READ_SEARCH and \
             CAP_SYS_PTRACE"
        )))
    }

    /// A runtime without an area.
    pub(crate) fn absent() -> Self {
        Self::Off(Arc::from(
            "it has no shared area: MONO_DISABLE_SHARED_AREA is set, or its Mono was built without",
        ))
    }

    /// An area that is not read.
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self::Off(Arc::from(refusal.to_string()))
    }

    /// The words.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Open => "",
            Self::Denied(why) | Self::Off(why) => why,
        }
    }
}
