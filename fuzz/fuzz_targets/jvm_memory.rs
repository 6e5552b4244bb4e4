//! Memories of processes that have mapped something called libjvm.so: each number and pointer of it may be a lie, and
//! a memory may have bytes at every address. What is found is within its bounds, and to find it, or nothing, takes so
//! many readings and bytes at most.
#![no_main]

use std::cell::Cell;

use libfuzzer_sys::fuzz_target;
use pmdaapm::host::Memory;
use pmdaapm::sources::jvm::test_kit::{AT, find, library};

/// Some more than a table of 20,000 rows has: two names a row, in which the first chain of hashes is followed.
const READS: usize = 200_000;
const BYTES: usize = 16 << 20;

struct Process {
    library: Vec<u8>,
    /// It has the same bytes again and again, at every address.
    endless: bool,
    reads: Cell<usize>,
    bytes: Cell<usize>,
}

impl Memory for Process {
    fn read(&self, at: u64, into: &mut [u8]) -> usize {
        self.reads.set(self.reads.get() + 1);
        self.bytes.set(self.bytes.get() + into.len());
        let at = at.wrapping_sub(AT);
        if self.endless {
            let length = self.library.len();
            let from = (at % length as u64) as usize;
            into.iter_mut().zip(from..).for_each(|(to, at)| *to = self.library[at % length]);
            return into.len();
        }
        let from = usize::try_from(at).ok().and_then(|from| self.library.get(from..));
        let rest = from.unwrap_or_default();
        into.iter_mut().zip(rest).map(|(to, byte)| *to = *byte).count()
    }
}

impl Process {
    fn find(&self) -> Result<Option<(u64, usize)>, &'static str> {
        (self.reads.set(0), self.bytes.set(0));
        let found = find(self, AT);
        assert!(self.reads.get() <= READS, "{} reads", self.reads.get());
        assert!(self.bytes.get() <= BYTES, "{} bytes", self.bytes.get());
        if let Ok(Some((start, size))) = found {
            assert!(start != 0 && (32..=16 << 20).contains(&size), "{start:x} {size}");
        }
        found
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&how, mut data)) = data.split_first() else { return };
    let bit = |number: u8| how >> number & 1 == 1;
    let library = library(bit(0), bit(1), if bit(2) { 0x1000 } else { 0 });
    let (reads, bytes) = (Cell::new(0), Cell::new(0));
    let mut process = Process { library, endless: bit(3), reads, bytes };
    assert_eq!(process.find(), Ok(Some((0x7f11_0000_0000, 32_768))));
    if bit(4) {
        // The input is all that there is.
        process.library = [data, &[0]].concat();
        data = &[];
    }
    // Changes: each a position, a length and bytes.
    while let [low, high, length, rest @ ..] = data {
        let (bytes, rest) = rest.split_at(usize::from(length & 15).min(rest.len()));
        let at = usize::from(u16::from_le_bytes([*low, *high])) % process.library.len();
        let to = process.library[at..].iter_mut();
        to.zip(bytes).for_each(|(to, byte)| *to = *byte);
        data = rest;
    }
    let found = process.find();
    assert_eq!(process.find(), found);
});
