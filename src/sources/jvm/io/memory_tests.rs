use std::cell::Cell;

use super::*;

/// Where the library of a test is loaded.
const AT: u64 = 0x7f00_0000_0000;
/// Where it has its parts.
const DYNAMIC: u64 = 0x200;
const SYMBOLS: u64 = 0x400;
const NAMES: u64 = 0x600;
const HASH: u64 = 0x800;
const FIELDS: u64 = 0xa00;
const TABLE: u64 = 0x1000;
const TEXTS: u64 = 0x3000;
const STATICS: u64 = 0x3100;
const END: u64 = 0x3200;
const WANTED: [&str; 5] = [
    "gHotSpotVMStructs",
    "gHotSpotVMStructEntryTypeNameOffset",
    "gHotSpotVMStructEntryFieldNameOffset",
    "gHotSpotVMStructEntryAddressOffset",
    "gHotSpotVMStructEntryArrayStride",
];

/// How a library is made.
#[derive(Clone, Copy)]
struct Made {
    gnu: bool,
    /// The C library has made addresses of what the dynamic section has.
    addresses: bool,
    /// Lowest address in the file.
    lowest: u64,
}

const USUAL: Made = Made { gnu: true, addresses: true, lowest: 0 };

/// Memory that is the same at each reading.
#[derive(Clone)]
struct Fake {
    bytes: Vec<u8>,
    reads: Cell<usize>,
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
    fn put(&mut self, at: u64, bytes: &[u8]) {
        let at = usize::try_from(at).unwrap();
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn put_all(&mut self, at: u64, numbers: &[u64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.put(at, &bytes);
    }

    /// A library with a table of 100 rows, the fields in the middle.
    fn new(made: Made) -> Self {
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

    fn find(&self) -> Result<Area, Nowhere> {
        self.reads.set(0);
        let found = find(self, AT);
        let most = 2 * limits::ROWS + 100_000;
        assert!(self.reads.get() < most, "{} reads", self.reads.get());
        found
    }

    /// With these numbers there.
    fn with(at: u64, numbers: &[u64]) -> Result<Area, Nowhere> {
        let mut fake = Self::new(USUAL);
        fake.put_all(at, numbers);
        fake.find()
    }
}

const FOUND: Area = Area { start: 0x7f11_0000_0000, size: 32_768 };

#[test]
fn a_region_is_where_the_table_says() {
    for gnu in [true, false] {
        for addresses in [true, false] {
            for lowest in [0, 0x1000] {
                let fake = Fake::new(Made { gnu, addresses, lowest });
                assert_eq!(fake.find(), Ok(FOUND), "{gnu} {addresses} {lowest}");
            }
        }
    }
}

#[test]
fn what_is_no_table() {
    assert_eq!(Fake::with(0, &[0]), Err(NO_TABLE));
    // No dynamic section, no names, no hashes.
    assert_eq!(Fake::with(0x40 + 2 * 56, &[3]), Err(NO_TABLE));
    assert_eq!(Fake::with(DYNAMIC + 4 * 8, &[7]), Err(NO_TABLE));
    assert_eq!(Fake::with(DYNAMIC + 2 * 8, &[7]), Err(NO_TABLE));
    // No buckets, and chains that lead to nowhere.
    assert_eq!(Fake::with(HASH, &[0]), Err(NO_TABLE));
    assert_eq!(Fake::with(HASH + 24, &[u64::MAX]), Err(NO_TABLE));
    // Rows of no bytes, or of very many.
    assert_eq!(Fake::with(FIELDS + 32, &[0]), Err(NO_TABLE));
    assert_eq!(Fake::with(FIELDS + 32, &[u64::MAX]), Err(NO_TABLE));
    assert_eq!(Fake::with(FIELDS + 24, &[1 << 20]), Err(NO_TABLE));
    // Fields beyond their row.
    assert_eq!(Fake::with(FIELDS + 24, &[44]), Err(NO_FIELDS));
    for at in [0, AT + 1, u64::MAX, u64::MAX - 40, AT + END - 4] {
        assert_eq!(Fake::new(USUAL).bytes.len() as u64, END);
        assert!(find(&Fake::new(USUAL), at).is_err());
        assert_eq!(Fake::with(FIELDS, &[at]), Err(NO_FIELDS), "{at:x}");
    }
    // The table ends before its fields.
    assert_eq!(Fake::with(TABLE + 10 * 48, &[0]), Err(NO_FIELDS));
    assert_eq!(Fake::with(TEXTS + 6, &[0]), Err(NO_FIELDS));
}

#[test]
fn what_is_no_region() {
    assert_eq!(Fake::with(STATICS, &[0]), Err(Nowhere::Off));
    let most = limits::REGION as u64;
    assert_eq!(Fake::with(STATICS + 8, &[most]).map(|area| area.size), Ok(limits::REGION));
    for size in [0, 31, most + 1, u64::MAX] {
        assert_eq!(Fake::with(STATICS + 8, &[size]), Err(NO_SIZE), "{size}");
    }
    assert_eq!(Fake::with(TABLE + 51 * 48 + 40, &[8]), Err(NO_SIZE));
}

/// The same row again and again, whose names are other ones each time.
struct Endless;

impl Memory for Endless {
    fn read(&self, at: u64, into: &mut [u8]) -> usize {
        let fake = Fake::new(USUAL);
        if (AT..AT + TABLE).contains(&at) {
            return fake.read(at, into);
        }
        for (number, byte) in (at..).zip(into.iter_mut()) {
            *byte = if number % 8 == 7 { 0 } else { number.to_le_bytes()[0].max(1) };
        }
        into.len()
    }
}

#[test]
fn a_table_without_end_ends() {
    let mut fake = Fake::new(USUAL);
    fake.put_all(FIELDS, &[AT + TABLE, 0, 8, 40, 0x30]);
    let rows = usize::try_from(TABLE).unwrap() + 48 * (limits::ROWS + 1_000);
    fake.bytes.resize(rows, 1);
    let all = rows - usize::try_from(TABLE).unwrap();
    fake.put(TABLE, &vec![1; all]);
    assert_eq!(fake.find(), Err(NO_FIELDS));
    assert_eq!(find(&Endless, AT), Err(NO_FIELDS));
}

#[test]
fn chains_of_symbols_end() {
    for gnu in [true, false] {
        let mut fake = Fake::new(Made { gnu, ..USUAL });
        let words = if gnu { vec![1, 1, 0, 0, 1] } else { vec![1, 1, 1] };
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
        let tail = usize::try_from(HASH).unwrap();
        fake.bytes.truncate(tail);
        fake.bytes.extend(bytes);
        // The chain of each symbol is the next one, or itself.
        fake.bytes.resize(1 << 20, if gnu { 0 } else { 1 });
        assert_eq!(fake.find(), Err(NO_TABLE), "{gnu}");
        assert!(fake.reads.get() < 10_000);
    }
}

#[test]
fn cut_or_changed_anywhere_it_is_harmless() {
    for gnu in [true, false] {
        let whole = Fake::new(Made { gnu, ..USUAL });
        for end in (0..whole.bytes.len()).step_by(7) {
            let bytes = whole.bytes[..end].to_vec();
            let found = Fake { bytes, ..whole.clone() }.find();
            assert!(found.is_err() || end > usize::try_from(STATICS).unwrap());
        }
        let parts = (0..0xb00).chain(0x1000 + 49 * 48..0x1000 + 54 * 48).chain(0x3000..0x3120);
        for at in parts {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut fake = whole.clone();
                fake.bytes[at] = value;
                if let Ok(area) = fake.find() {
                    assert!((PROLOGUE..=limits::REGION).contains(&area.size));
                }
            }
        }
    }
}

/// The memory of this process, which is no JVM.
#[test]
#[cfg(feature = "agent")]
fn a_library_that_the_c_library_has_loaded() {
    let maps = std::fs::read("/proc/self/maps").unwrap();
    let text = String::from_utf8_lossy(&maps);
    let line = text.lines().find(|line| line.contains("/libc.so.6") && line.contains(" 00000000 "));
    let Some(line) = line else { return };
    let at = u64::from_str_radix(line.split_once('-').unwrap().0, 16).unwrap();
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    let library = Library::at(&memory, at).unwrap();
    assert_eq!(library.symbol(&memory, b"no such symbol"), None);
    let found = library.symbol(&memory, b"environ").unwrap();
    assert!(memory.u64(found).unwrap() > 0, "{library:?}");
    assert_eq!(find(&memory, at), Err(NO_TABLE));
}
