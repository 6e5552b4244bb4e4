//! Counters that programs define, `System.Diagnostics.PerformanceCounter`
//! (docs/protocols/mono-shm.md 4).

use super::page::Page;

/// A counter that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UserCounter<'a> {
    pub(super) category: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) kind: u8,
    /// Another counter of the category has this name, of which this is the base.
    pub(super) second: bool,
    pub(super) value: i64,
}

/// Calls `each` for the counters that have values. What is not as it should be ends the list:
/// programs write while this reads.
pub(super) fn each<'a>(page: Page<'a>, start: usize, each: &mut dyn FnMut(UserCounter<'a>)) {
    let mut at = start;
    while let Some((kind, length)) = stanza(page, at) {
        if kind == b'I' {
            instance(page, at, length, each);
        }
        at += length;
    }
}

/// Where the stanzas end.
pub(super) fn end(page: Page<'_>, start: usize) -> usize {
    let mut at = start;
    while let Some((_, length)) = stanza(page, at) {
        at += length;
    }
    at
}

/// Kind and length of the stanza at a position; `None` at the end.
fn stanza(page: Page<'_>, at: usize) -> Option<(u8, usize)> {
    let (kind, length) = (page.u8(at)?, usize::from(page.u16(at + 2)?));
    (kind != 0 && length >= 8 && at + length <= page.bytes.len()).then_some((kind, length))
}

/// The value of an instance. Mono calls it after the counter that made it, whose place alone it
/// uses.
fn instance<'a>(
    page: Page<'a>,
    at: usize,
    length: usize,
    each: &mut dyn FnMut(UserCounter<'a>),
) -> Option<()> {
    let category = usize::try_from(page.u32(at + 4)?).ok()?;
    let (name, _) = page.text(at + 8).filter(|(_, end)| *end <= at + length)?;
    let values = at + (12 + name.len()).next_multiple_of(8);
    if stanza(page, category)?.0 != b'C' {
        return None;
    }
    let counters = page.u16(category + 4)?;
    let (title, help) = page.text(category + 12)?;
    let (_, mut next) = page.text(help)?;
    let mut second = false;
    for _ in 0..counters {
        let (kind, number) = (page.u8(next)?, page.u8(next + 1)?);
        let (counter, help) = page.text(next + 2)?;
        (_, next) = page.text(help)?;
        let value = values + 8 * usize::from(number);
        if counter == name && value + 8 <= at + length {
            let value = page.u64(value)?.cast_signed();
            each(UserCounter { category: title, name, kind, second, value });
            second = true;
        }
    }
    Some(())
}
