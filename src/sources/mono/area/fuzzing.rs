//! Areas and maps as `fuzz/fuzz_targets` give them: mono_area.rs, proc_texts.rs.

use super::Access;
use super::meter::Meter;
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

impl Reader {
    /// Of the process with this id.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        let facts = Facts { pid, start: 7, inner_pid: pid, ..Facts::default() };
        Self(Meter::new(Processes::new(Nobody).seat(Way::Area, facts), Access::Open))
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

    /// Bytes allocated.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// The area that a process has mapped: number, device and inode.
#[must_use]
pub fn mapping(maps: &[u8], pid: u32) -> Option<(u32, (u32, u32), u64)> {
    super::mapping(maps, pid).map(|mapping| (mapping.number, mapping.device, mapping.inode))
}
