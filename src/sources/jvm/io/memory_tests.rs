use super::*;
use crate::host::Memory;
use crate::sources::jvm::tests::library::*;

const USUAL: Made = Made { gnu: true, addresses: true, lowest: 0 };

impl Fake {
    fn find(&self) -> Result<Option<Area>, &'static str> {
        self.reads.set(0);
        let found = find(self, AT);
        let most = 2 * limits::ROWS + 100_000;
        assert!(self.reads.get() < most, "{} reads", self.reads.get());
        found
    }

    /// With these numbers there.
    fn with(at: u64, numbers: &[u64]) -> Result<Option<Area>, &'static str> {
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
                assert_eq!(fake.find(), Ok(Some(FOUND)), "{gnu} {addresses} {lowest}");
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
    assert_eq!(Fake::with(STATICS, &[0]), Ok(None));
    let most = limits::REGION as u64;
    let large = Fake::with(STATICS + 8, &[most]).unwrap();
    assert_eq!(large.map(|area| area.size), Some(limits::REGION));
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
                if let Ok(Some(area)) = fake.find() {
                    assert!((PROLOGUE..=limits::REGION).contains(&area.size));
                }
            }
        }
    }
}

/// The memory of this process, which is no JVM.
#[test]
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
