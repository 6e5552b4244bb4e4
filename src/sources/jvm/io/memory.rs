//! Where the region of a JVM without a file is in its memory: HotSpot exports a table of its static fields for its
//! serviceability agent (docs/protocols/jvm-hsperfdata.md 1.7). Each number and pointer of it may be a lie.

use crate::host::{Library, Memory, element};
use crate::sources::jvm::limits;
use crate::sources::jvm::wire::PROLOGUE;

/// A region in the memory of a process. It does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) start: u64,
    pub(crate) size: usize,
}

const TYPE: &[u8] = b"PerfMemory";
const NO_TABLE: &str = "its libjvm.so does not tell where it is";
const NO_FIELDS: &str = "the table of its libjvm.so has no end, or does not tell where it is";
const NO_SIZE: &str = "where it should be is no performance data";

/// How a row is laid out: offsets of the pointers to the names of type and field and to the field, and bytes from row
/// to row.
const LAYOUT: [&[u8]; 4] = [
    b"gHotSpotVMStructEntryTypeNameOffset",
    b"gHotSpotVMStructEntryFieldNameOffset",
    b"gHotSpotVMStructEntryAddressOffset",
    b"gHotSpotVMStructEntryArrayStride",
];

/// Where the table is, and its layout.
fn table(memory: &impl Memory, library: u64) -> Option<(u64, [usize; 4])> {
    let library = Library::at(memory, library)?;
    let number = |name: &[u8]| memory.u64(library.symbol(memory, name)?);
    let mut layout = [0; 4];
    for (offset, name) in layout.iter_mut().zip(LAYOUT) {
        *offset = usize::try_from(number(name)?).ok().filter(|&offset| offset <= limits::ROW)?;
    }
    let [.., stride] = layout;
    Some((number(b"gHotSpotVMStructs")?, layout)).filter(|_| stride > 0)
}

/// The region of a process whose `libjvm.so` is mapped there from its begin. `None`: -XX:-UsePerfData, or its JVM has
/// not begun yet.
///
/// # Errors
/// Its library is not as HotSpot's is: why.
pub(crate) fn find(memory: &impl Memory, library: u64) -> Result<Option<Area>, &'static str> {
    let (table, layout) = table(memory, library).ok_or(NO_TABLE)?;
    let (start, size) = fields(memory, table, layout).ok_or(NO_FIELDS)?;
    let (start, size) = memory.u64(start).zip(memory.u64(size)).ok_or(NO_SIZE)?;
    if start == 0 {
        return Ok(None);
    }
    let size = usize::try_from(size).ok();
    let size = size.filter(|size| (PROLOGUE..=limits::REGION).contains(size));
    size.map(|size| Some(Area { start, size })).ok_or(NO_SIZE)
}

/// Where the fields are that have begin and size of the region.
fn fields(
    memory: &impl Memory,
    table: u64,
    [type_name, field_name, address, stride]: [usize; 4],
) -> Option<(u64, u64)> {
    let (mut start, mut size) = (None, None);
    let mut rows = vec![0; limits::ROWS_AT_ONCE * stride];
    // Rows of one type follow each other.
    let (mut name, mut wanted) = (0, false);
    for number in (0..limits::ROWS).step_by(limits::ROWS_AT_ONCE) {
        let at = element(table, u64::try_from(number).ok()?, u64::try_from(stride).ok()?)?;
        let read = memory.read(at, &mut rows);
        for row in rows.get(..read)?.chunks_exact(stride) {
            let pointer = |at: usize| row.get(at..)?.first_chunk().copied().map(u64::from_ne_bytes);
            let type_name = pointer(type_name)?;
            if type_name == 0 {
                return None;
            }
            if std::mem::replace(&mut name, type_name) != type_name {
                wanted = memory.has(type_name, TYPE);
            }
            if !wanted {
                continue;
            }
            let (field, address) = (pointer(field_name)?, pointer(address)?);
            if memory.has(field, b"_start") {
                start = Some(address);
            } else if memory.has(field, b"_capacity") {
                size = Some(address);
            }
            if let Some(both) = start.zip(size) {
                return Some(both);
            }
        }
        if read < rows.len() {
            return None;
        }
    }
    None
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
