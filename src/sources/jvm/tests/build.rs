//! Regions made by hand.

use crate::read::{Cursor, Order};
use crate::sources::jvm::wire::{PROLOGUE, Prologue};

/// A value of an entry.
pub(super) enum Is<'a> {
    Long(i64),
    Text(&'a [u8]),
}

/// An entry in little-endian order, as HotSpot lays it out.
pub(super) fn entry(name: &str, value: Is<'_>) -> Vec<u8> {
    let (kind, data, unit, elements, align) = match value {
        Is::Long(long) => (b'J', long.to_le_bytes().to_vec(), 1, 0, 8),
        Is::Text(text) => (b'B', text.to_vec(), 5, text.len() as i32, 1),
    };
    let data_at = (20 + name.len() + 1).next_multiple_of(align);
    let length = (data_at + data.len()).next_multiple_of(8);
    let mut bytes = Vec::new();
    for int in [length as i32, 20, elements] {
        bytes.extend(int.to_le_bytes());
    }
    bytes.extend([kind, 0, unit, 3]);
    bytes.extend((data_at as i32).to_le_bytes());
    bytes.extend(name.bytes());
    bytes.resize(data_at, 0);
    bytes.extend(data);
    bytes.resize(length, 0);
    bytes
}

/// A region of these entries that was changed last at `stamp`.
pub(super) fn region(entries: &[Vec<u8>], stamp: i64) -> Vec<u8> {
    let used = PROLOGUE + entries.iter().map(Vec::len).sum::<usize>();
    let mut bytes = vec![0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1];
    bytes.extend((used as i32).to_le_bytes());
    bytes.extend(0_i32.to_le_bytes());
    bytes.extend(stamp.to_le_bytes());
    bytes.extend(32_i32.to_le_bytes());
    bytes.extend((entries.len() as i32).to_le_bytes());
    bytes.extend(entries.concat());
    bytes.resize(used.next_multiple_of(4096), 0);
    bytes
}

/// The region as a JVM of a big-endian machine has it.
pub(super) fn big_endian(region: &[u8]) -> Vec<u8> {
    let prologue = Prologue::parse(region).unwrap();
    let mut big = region.to_vec();
    let mut turn = |at: usize, size: usize| big[at..at + size].reverse();
    for (at, size) in [(8, 4), (12, 4), (16, 8), (24, 4), (28, 4)] {
        turn(at, size);
    }
    let int = |at: usize| Cursor::new(&region[at..], Order::Little).i32().unwrap() as usize;
    let mut at = prologue.first;
    for _ in 0..prologue.entries {
        for part in [0, 4, 8, 16] {
            turn(at + part, 4);
        }
        if region[at + 12] == b'J' {
            turn(at + int(at + 16), 8);
        }
        at += int(at);
    }
    big[4] = 0;
    big
}
