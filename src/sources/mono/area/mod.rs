//! The shared area of each Mono process, `/dev/shm/mono.PID` (docs/protocols/mono-shm.md), without
//! I/O: where it is, and whether it can be read.
//!
//! ```text
//!  maps of a process ─▶ mapping: where the area is ─▶ access: whether it can be read
//!  one page ─▶ page: figures ─┬─▶ meter ─▶ Updates
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

/// Libraries and programs that are a Mono runtime.
const RUNTIMES: [&[u8]; 5] = [
    b"/mono-sgen",
    b"/mono-boehm",
    b"/libmonosgen-2.0.so",
    b"/libmonoboehm-2.0.so",
    b"/libmono-2.0.so",
];

/// The mapping of an area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The addresses as /proc/PID/map_files calls them.
    pub range: String,
    /// The number in the area's name.
    pub number: u32,
    /// Major and minor number of the device that the area is on.
    pub device: (u32, u32),
    /// Inode of the area.
    pub inode: u64,
}

/// The area that the process calling itself `pid` has mapped: a child has that of its parent until
/// it executes another program.
pub(crate) fn mapping(maps: &[u8], pid: u32) -> Option<Mapping> {
    // Nearly all lines are of other files.
    let mut found = memchr::memmem::find_iter(maps, b"/shm/mono.");
    found.find_map(|at| {
        let start = maps.get(..at)?.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let line = maps.get(start..)?.split(|&b| b == b'\n').next()?;
        parse(std::str::from_utf8(line).ok()?).filter(|mapping| mapping.number == pid)
    })
}

/// `7f1c5f4d3000-7f1c5f4d4000 rw-s 00000000 00:1a 12345   /dev/shm/mono.17694 (deleted)`
fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let (major, minor) = fields.next()?.split_once(':')?;
    let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let inode = fields.next()?.parse().ok()?;
    let (_, number) = fields.next()?.rsplit_once("/shm/mono.")?;
    let shared = rights.ends_with('s') && offset.bytes().all(|b| b == b'0');
    let digits = number.bytes().all(|b| b.is_ascii_digit());
    range.split_once('-')?;
    let number = number.parse().ok()?;
    let mapping = Mapping { range: range.to_owned(), number, device, inode };
    (shared && digits).then_some(mapping)
}

/// Whether a Mono runtime is mapped to be executed. A debugger maps its file too, to read symbols.
pub(crate) fn runtime(maps: &[u8]) -> bool {
    let executed = |at: usize| {
        let before = maps.get(..at).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let mut fields = before.get(start..).unwrap_or_default().split(|&b| b == b' ');
        fields.nth(1).is_some_and(|rights| rights.get(2) == Some(&b'x'))
    };
    RUNTIMES.iter().any(|name| memchr::memmem::find_iter(maps, name).any(executed))
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
        super::mapping(maps, pid).map(|mapping| (mapping.number, mapping.device, mapping.inode))
    }
}
