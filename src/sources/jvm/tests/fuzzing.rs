//! One process as `fuzz/fuzz_targets/jvm_region.rs` gives its region, and where `jvm_memory.rs` has one in a memory.

#[path = "library.rs"]
mod library;

use std::time::Duration;

use super::io::memory;
use super::limits;
use super::meter::{Meter, Stage, State};
use super::state::{Known, Who};
use crate::contract::Peer;
use crate::heap_size;
use crate::host::Memory;

/// Bytes that a process may take: what its size is known of, eight texts as long as texts may be, each byte of which
/// became the three of U+FFFD, in a buffer that doubles; names and an instance.
pub const MEMORY: usize =
    size_of::<Meter>() + size_of::<Known>() + 8 * 2 * 3 * limits::TEXT + 4 * 8 * limits::PROGRAM;

/// A process whose region is read once a second.
pub struct Process {
    meter: Meter,
    introduced: bool,
}

heap_size!(Process { meter });

impl Process {
    /// Of the process with this id, which runs in a program of this name.
    #[must_use]
    pub fn new(pid: u32, comm: &str, service: Option<&str>) -> Self {
        let (comm, service) = (comm.to_owned(), service.map(str::to_owned));
        let who =
            Who { pid, start: 7, inner_pid: pid, is_new: true, comm, service, ..Who::default() };
        Self { meter: Meter::new(who, None), introduced: false }
    }

    /// Introduces a process that cannot be read.
    pub fn unread(&mut self, peer: &mut Peer) {
        self.meter.unread(State::new(Stage::Refused, "not read"));
        self.meter.start(peer);
    }

    /// Reads a region as the task of the source does, at this time since the process was found.
    ///
    /// # Errors
    /// It is not read: why, in words; or it has not been introduced.
    pub fn tick(&mut self, region: &[u8], age: Duration, peer: &mut Peer) -> Result<(), String> {
        let mut copy = region.get(..self.meter.reader().want()).unwrap_or(region);
        if self.meter.reader().needs_more(copy) {
            copy = region.get(..self.meter.reader().want()).unwrap_or(region);
        }
        if !self.introduced || self.meter.is_renamed() {
            self.meter.learn(copy, age);
            if !self.meter.is_known(age) {
                return Err(String::new());
            }
            if self.introduced {
                self.meter.end("renamed", peer);
                self.meter.again();
            }
            self.meter.start(peer);
            self.introduced = true;
        }
        self.meter.read(copy, age, peer);
        self.meter.tick(peer);
        let State { stage, why } = self.meter.state();
        if *stage == Stage::Read { Ok(()) } else { Err(why.clone()) }
    }
}

/// Where a region is in a memory whose library is there, and its bytes.
///
/// # Errors
/// The library is not as HotSpot's is: why.
pub fn find(memory: &impl Memory, library: u64) -> Result<Option<(u64, usize)>, &'static str> {
    memory::find(memory, library).map(|area| area.map(|area| (area.start, area.size)))
}

/// Where that library begins.
pub const AT: u64 = library::AT;

/// The bytes of a library like HotSpot's.
#[must_use]
pub fn library(gnu: bool, addresses: bool, lowest: u64) -> Vec<u8> {
    library::Fake::new(library::Made { gnu, addresses, lowest }).bytes
}
