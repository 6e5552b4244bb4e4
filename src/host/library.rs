//! The dynamic symbols of a library that a process has loaded, read from its memory: its file is not opened. It may be
//! none, be another one by now, or be on a file system that does not answer.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Memory of a process, or what it says is its memory.
pub trait Memory {
    /// Copies bytes from this address on. Returns how many: fewer where no more are there.
    fn read(&self, at: u64, into: &mut [u8]) -> usize;

    /// All of so many bytes.
    fn array<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (self.read(at, &mut bytes) == N).then_some(bytes)
    }

    /// A number in the byte order of this machine, which is that of its processes.
    fn u64(&self, at: u64) -> Option<u64> {
        self.array(at).map(u64::from_ne_bytes)
    }

    /// Whether this text is there, with a NUL behind it.
    fn has(&self, at: u64, text: &[u8]) -> bool {
        let mut bytes = [0; TEXT];
        let Some(wanted) = bytes.get_mut(..=text.len()) else { return false };
        self.read(at, wanted) == text.len() + 1 && wanted.split_last() == Some((&0, text))
    }
}

impl Memory for File {
    fn read(&self, at: u64, into: &mut [u8]) -> usize {
        self.read_at(into, at).unwrap_or_default()
    }
}

/// Bytes of a text that is looked for, its NUL included.
const TEXT: usize = 64;
/// Program headers, and entries of the dynamic section. A `libjvm.so` has 9 and 37.
const HEADERS: u16 = 64;
const ENTRIES: u64 = 256;
/// Symbols of one hash. There are one or two.
const CHAIN: u32 = 1_024;
/// Bytes of a program header, of an entry of the dynamic section, and of a symbol.
const HEADER: u64 = 56;
const ENTRY: u64 = 16;
const SYMBOL: u64 = 24;
/// `PT_LOAD`, `PT_DYNAMIC`.
const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;
/// Those of 64 bits in this machine's byte order.
const MAGIC: [u8; 6] =
    [0x7f, b'E', b'L', b'F', 2, if cfg!(target_endian = "little") { 1 } else { 2 }];

/// Where a library has its symbols. Each address is as the process says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library {
    /// What is added to an address in the file.
    bias: u64,
    symbols: u64,
    names: u64,
    /// `DT_GNU_HASH`, `DT_HASH`: newer linkers make only the first.
    gnu_hash: Option<u64>,
    hash: Option<u64>,
}

impl Library {
    /// Of the library whose file is mapped there from its begin.
    #[must_use]
    pub fn at(memory: &impl Memory, at: u64) -> Option<Self> {
        if memory.array(at)? != MAGIC {
            return None;
        }
        let headers = at.checked_add(memory.u64(at.checked_add(32)?)?)?;
        let [size, count] = u16s(memory.array(at.checked_add(54)?)?);
        if u64::from(size) != HEADER || count > HEADERS {
            return None;
        }
        let (mut lowest, mut dynamic) = (u64::MAX, None);
        for number in 0..count.into() {
            let header = element(headers, number, HEADER)?;
            let [kind, _] = u32s(memory.array(header)?);
            let address = memory.u64(header.checked_add(16)?)?;
            match kind.into() {
                LOAD => lowest = lowest.min(address),
                DYNAMIC => dynamic = Some(address),
                _ => {}
            }
        }
        // Its first page is that of its begin.
        let bias = at.checked_sub(lowest & !0xfff)?;
        let mut library = Self { bias, ..Self::default() };
        let dynamic = library.address(dynamic?)?;
        for number in 0..ENTRIES {
            let entry = element(dynamic, number, ENTRY)?;
            let (tag, value) = (memory.u64(entry)?, memory.u64(entry.checked_add(8)?)?);
            // The C library has made addresses of them, or not.
            let there = || if value < bias { library.address(value) } else { Some(value) };
            match tag {
                0 => break,
                4 => library.hash = there(),
                5 => library.names = there()?,
                6 => library.symbols = there()?,
                0x6fff_fef5 => library.gnu_hash = there(),
                _ => {}
            }
        }
        (library.names > 0 && library.symbols > 0).then_some(library)
    }

    const fn address(&self, in_file: u64) -> Option<u64> {
        self.bias.checked_add(in_file)
    }

    /// The address of a symbol.
    #[must_use]
    pub fn symbol(&self, memory: &impl Memory, name: &[u8]) -> Option<u64> {
        match (self.gnu_hash, self.hash) {
            (Some(table), _) => self.by_gnu_hash(memory, table, name),
            (None, Some(table)) => self.by_hash(memory, table, name),
            (None, None) => None,
        }
    }

    fn by_gnu_hash(&self, memory: &impl Memory, table: u64, name: &[u8]) -> Option<u64> {
        let [buckets, first] = u32s(memory.array(table)?);
        let [filters, _] = u32s(memory.array(table.checked_add(8)?)?);
        let start = element(table.checked_add(16)?, filters.into(), 8)?;
        let chains = element(start, buckets.into(), 4)?;
        let hash = gnu_hash(name);
        let mut number = u32_at(memory, element(start, hash.checked_rem(buckets)?.into(), 4)?)?;
        for _ in 0..CHAIN {
            let other = u32_at(memory, element(chains, number.checked_sub(first)?.into(), 4)?)?;
            // The lowest bit ends the chain.
            if (other ^ hash) >> 1 == 0
                && let Some(found) = self.named(memory, number, name)
            {
                return Some(found);
            }
            if other & 1 == 1 {
                return None;
            }
            number = number.checked_add(1)?;
        }
        None
    }

    fn by_hash(&self, memory: &impl Memory, table: u64, name: &[u8]) -> Option<u64> {
        let [buckets, _] = u32s(memory.array(table)?);
        let start = table.checked_add(8)?;
        let chains = element(start, buckets.into(), 4)?;
        let hash = hash(name);
        let mut number = u32_at(memory, element(start, hash.checked_rem(buckets)?.into(), 4)?)?;
        for _ in 0..CHAIN {
            if number == 0 {
                return None;
            }
            if let Some(found) = self.named(memory, number, name) {
                return Some(found);
            }
            number = u32_at(memory, element(chains, number.into(), 4)?)?;
        }
        None
    }

    /// The address of the symbol with this number, if it has this name and is not another library's.
    fn named(&self, memory: &impl Memory, number: u32, name: &[u8]) -> Option<u64> {
        let symbol = element(self.symbols, number.into(), SYMBOL)?;
        let [text, _] = u32s(memory.array(symbol)?);
        let [section, _] = u16s(memory.array(symbol.checked_add(6)?)?);
        let is = section != 0 && memory.has(self.names.checked_add(text.into())?, name);
        is.then(|| self.address(memory.u64(symbol.checked_add(8)?)?)).flatten()
    }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0_u32, |hash, &byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        (hash ^ hash >> 24 & 0xf0) & 0x0fff_ffff
    })
}

/// The address of an element of a list.
#[must_use]
pub fn element(list: u64, number: u64, size: u64) -> Option<u64> {
    list.checked_add(number.checked_mul(size)?)
}

fn u32_at(memory: &impl Memory, at: u64) -> Option<u32> {
    memory.array(at).map(u32::from_ne_bytes)
}

const fn u32s([a, b, c, d, e, f, g, h]: [u8; 8]) -> [u32; 2] {
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

const fn u16s([a, b, c, d]: [u8; 4]) -> [u16; 2] {
    [u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes() {
        assert_eq!((gnu_hash(b"printf"), hash(b"printf")), (0x156b_2bb8, 0x0779_05a6));
        assert_eq!((gnu_hash(b""), hash(b"")), (5381, 0));
        assert_eq!(hash(b"gHotSpotVMStructEntryTypeNameOffset") >> 28, 0);
    }
}
