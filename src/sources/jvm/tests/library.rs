//! A library like HotSpot's in a memory: what is needed of it to find a region.

use std::cell::Cell;

use crate::host::Memory;

/// Where the library of a test is loaded.
pub(crate) const AT: u64 = 0x7f00_0000_0000;
/// Where it has its parts.
pub(crate) const DYNAMIC: u64 = 0x200;
pub(crate) const SYMBOLS: u64 = 0x400;
pub(crate) const NAMES: u64 = 0x600;
pub(crate) const HASH: u64 = 0x800;
pub(crate) const FIELDS: u64 = 0xa00;
pub(crate) const TABLE: u64 = 0x1000;
pub(crate) const TEXTS: u64 = 0x3000;
pub(crate) const STATICS: u64 = 0x3100;
pub(crate) const END: u64 = 0x3200;
pub(crate) const WANTED: [&str; 5] = [
    "gHotSpotVMStructs",
    "gHotSpotVMStructEntryTypeNameOffset",
    "gHotSpotVMStructEntryFieldNameOffset",
    "gHotSpotVMStructEntryAddressOffset",
    "gHotSpotVMStructEntryArrayStride",
];

/// How a library is made.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub(crate) gnu: bool,
    /// The C library has made addresses of what the dynamic section has.
    pub(crate) addresses: bool,
    /// Lowest address in the file.
    pub(crate) lowest: u64,
}

/// Memory that is the same at each reading.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) bytes: Vec<u8>,
    pub(crate) reads: Cell<usize>,
}

impl Memory for Fake {
    fn read(&self, at: u64, into: &mut [u8]) -> usize {
        self.reads.set(self.reads.get() + 1);
        let from = at.checked_sub(AT).and_then(|at| usize::try_from(at).ok());
        let rest = from.and_then(|from| self.bytes.get(from..)).unwrap_or_default();
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        length
    }
}

impl Fake {
    pub(crate) fn put(&mut self, at: u64, bytes: &[u8]) {
        let at = usize::try_from(at).unwrap();
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(crate) fn put_all(&mut self, at: u64, numbers: &[u64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.put(at, &bytes);
    }

    /// A library with a table of 100 rows, the fields in the middle.
    pub(crate) fn new(made: Made) -> Self {
        let bytes = vec![0; usize::try_from(END).unwrap()];
        let mut fake = Self { bytes, reads: Cell::default() };
        let low = made.lowest;
        fake.put(0, b"\x7fELF\x02\x01\x01");
        fake.put_all(32, &[0x40]);
        fake.put(54, &[56, 0, 3, 0]);
        let kinds = [(6, low + 0x40), (1, low + 0x10), (2, low + DYNAMIC)];
        for (at, (kind, address)) in (0x40..).step_by(56).zip(kinds) {
            fake.put_all(at, &[kind, 0, address]);
        }
        let there = |part: u64| if made.addresses { AT + part } else { low + part };
        let tag = if made.gnu { 0x6fff_fef5 } else { 4 };
        let (names, symbols, hash) = (there(NAMES), there(SYMBOLS), there(HASH));
        fake.put_all(DYNAMIC, &[14, 1, tag, hash, 5, names, 6, symbols, 0, 0]);
        fake.symbols(made);
        fake.put_all(FIELDS, &[AT + TABLE, 0, 8, 40, 48]);
        fake.put(TEXTS, b"Klass\0PerfMemory\0_end\0_start\0_capacity\0");
        let text = |at: u64| AT + TEXTS + at;
        for row in 0..100 {
            let (kind, field) = match row {
                50 => (6, 17),
                51 => (6, 22),
                52 => (6, 29),
                _ => (0, 17),
            };
            let address = AT + STATICS + if row == 52 { 8 } else { 0 };
            fake.put_all(TABLE + row * 48, &[text(kind), text(field), 0, 1, 0, address]);
        }
        fake.put_all(STATICS, &[0x7f11_0000_0000, 32_768]);
        fake
    }

    fn symbols(&mut self, made: Made) {
        let gnu = |name: &str| {
            name.bytes().fold(5381_u32, |h, b| h.wrapping_mul(33).wrapping_add(b.into()))
        };
        let mut names: Vec<(u64, &str)> = (0..).zip(WANTED).collect();
        names.sort_by_key(|(_, name)| gnu(name) % 2);
        let (mut text, mut chains, mut buckets) = (1, Vec::new(), [0_u32; 2]);
        for (number, &(field, name)) in (1..).zip(&names) {
            self.put(NAMES + text, name.as_bytes());
            let head = text | 0x11 << 32 | 26 << 48;
            self.put_all(SYMBOLS + number * 24, &[head, made.lowest + FIELDS + field * 8]);
            text += name.len() as u64 + 1;
            let (hash, next) = (gnu(name), names.get(usize::try_from(number).unwrap()));
            let last = next.is_none_or(|next| gnu(next.1) % 2 != hash % 2);
            chains.push(hash & !1 | u32::from(last));
            let bucket = &mut buckets[hash as usize % 2];
            *bucket = if *bucket == 0 { u32::try_from(number).unwrap() } else { *bucket };
        }
        let words = if made.gnu {
            [&[2, 1, 1, 6, 0, 0, buckets[0], buckets[1]], &chains[..]].concat()
        } else {
            vec![1, 6, 5, 0, 0, 1, 2, 3, 4]
        };
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.put(HASH, &bytes);
    }
}
