//! The shared area of each Mono process, `/dev/shm/mono.PID` (docs/protocols/mono-shm.md), without
//! I/O.
//!
//! ```text
//!  one page ─▶ page: figures ─┬─▶ meter ─▶ Peer
//!               categories ───┘
//! ```

mod meter;
mod page;
#[cfg(test)]
mod tests;

pub(crate) use meter::Meter;
pub(crate) use page::{PAGE, Refusal};

use std::sync::Arc;

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

/// Areas and maps as `fuzz/fuzz_targets` give them: mono_area.rs, proc_texts.rs.
#[cfg(fuzzing)]
pub mod fuzzing {
    use std::sync::Arc;

    use super::{Access, Meter};
    use crate::contract::Peer;
    use crate::read::Order;
    use crate::sources::mono::process::{Facts, Host, Processes, Said, Via, Way};

    /// No process is known by its connections.
    struct Nobody;

    impl Host for Nobody {
        fn find(&self, _: &Via, _: &Said<'_>) -> Option<Facts> {
            None
        }
    }

    /// The reader of the areas of one process.
    pub struct Reader(Meter);

    crate::heap_size!(Reader { 0 });

    impl Reader {
        /// Of the process with this id.
        #[must_use]
        pub fn new(pid: u32) -> Self {
            let facts = Facts { pid, start: 7, inner_pid: pid, ..Facts::default() };
            Self(Meter::new(Processes::new(Arc::new(Nobody)).seat(Way::Area, facts), Access::Open))
        }

        /// The process is known.
        pub fn start(&mut self, peer: &mut Peer) {
            self.0.start(peer);
        }

        /// Reads a page of a host of this byte order.
        ///
        /// # Errors
        /// It is not read: why, in words.
        pub fn read(&mut self, big: bool, page: &[u8], peer: &mut Peer) -> Result<(), String> {
            let order = if big { Order::Big } else { Order::Little };
            self.0.read_in(order, page, peer).map_err(|refusal| refusal.to_string())
        }
    }

    /// The area that a process has mapped: number, device and inode.
    #[must_use]
    pub fn mapping(maps: &[u8], pid: u32) -> Option<(u32, (u32, u32), u64)> {
        let mapping = crate::sources::mono::io::mapping(maps, pid)?;
        Some((pid, mapping.device, mapping.inode))
    }
}
