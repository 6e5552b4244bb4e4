//! What a page says: its header and the counters that the runtime keeps in it (docs/protocols/mono-shm.md
//! 2 and 3), and those that programs define, `System.Diagnostics.PerformanceCounter` (4).

use crate::read::Order;

/// Bytes of an area.
pub(crate) const PAGE: usize = 4096;

/// Position of the counters.
const START: usize = 32;

/// Why a page is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// It is no area of Mono, or one that is not complete yet.
    #[error("its shared area has not the form of Mono's")]
    NoArea,
    /// It is a file of another user.
    #[error("its shared area is of another user")]
    Stranger,
    /// It is the area of another process than this.
    #[error("its shared area is that of process {0}")]
    Other(u32),
    /// Counters of this size: of a version or a build that is not known.
    #[error(
        "the layout of its shared area is not known ({0} bytes of counters): a 32-bit Mono, or one \
         that was built without remoting"
    )]
    Layout(u16),
}

/// The counters with their types, and where they are from their start in each of two layouts.
macro_rules! figures {
    ($($name:ident: $ty:ident, $late:literal, $early:literal;)*) => {
        /// What the runtime counts. Those of 32 bits wrap, but for what can be fewer again.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Figures {
            $(pub(crate) $name: $ty,)*
        }

        impl Figures {
            fn read(page: Page<'_>, late: bool) -> Self {
                let at = |late_at: usize, early_at: usize| START + if late { late_at } else { early_at };
                Self { $($name: page.$ty(at($late, $early)).unwrap_or_default(),)* }
            }
        }
    };
}

// Mono 5.14 to 6.12 has 296 bytes of counters; Mono 4 and the first of 5 have 264, since sizes of the
// heap have 32 bits.
figures! {
    exceptions_thrown: u32, 16, 16;
    exceptions_filters: u32, 20, 20;
    exceptions_finallys: u32, 24, 24;
    gc_collections0: u32, 40, 40;
    gc_collections1: u32, 44, 44;
    jit_methods: u32, 0, 0;
    jit_bytes: u32, 4, 4;
    contentions: u32, 204, 180;
    pool_completed: u64, 272, 240;
    pool_threads: u32, 264, 256;
    appdomains: u32, 176, 152;
    appdomains_total: u32, 180, 156;
    handles_created: u32, 96, 84;
    sync_blocks: u32, 140, 116;
    loader_bytes: u32, 196, 172;
}

/// Reads the page of the process that calls itself `pid`; also returns where the categories begin.
///
/// # Errors
/// The page cannot be read.
pub(super) fn figures(bytes: &[u8], order: Order, pid: u32) -> Result<(Figures, usize), Refusal> {
    let page = Page { bytes, order };
    let head = || {
        let whole = page.u32(0)? as usize == PAGE
            && page.u32(16)? as usize == PAGE
            && usize::from(page.u16(20)?) == START
            && bytes.len() == PAGE;
        let data = usize::from(page.u16(24)?);
        Some((page.u32(4)?, page.u16(22)?, data)).filter(|_| whole)
    };
    let (owner, size, data) = head().ok_or(Refusal::NoArea)?;
    let late = match size {
        296 => true,
        264 => false,
        _ => return Err(Refusal::Layout(size)),
    };
    if owner != pid {
        return Err(Refusal::Other(owner));
    }
    if data < START + usize::from(size) {
        return Err(Refusal::NoArea);
    }
    Ok((Figures::read(page, late), data))
}

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

/// A page in the byte order of the host that wrote it. What is beyond its end is absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) order: Order,
}

impl<'a> Page<'a> {
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        let mut bytes: [u8; N] = bytes;
        if self.order == Order::Big {
            bytes.reverse();
        }
        Some(bytes)
    }

    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// A text that ends in a NUL, and the position behind that.
    pub(super) fn text(self, at: usize) -> Option<(&'a [u8], usize)> {
        let rest = self.bytes.get(at..)?;
        let end = memchr::memchr(0, rest)?;
        Some((rest.get(..end)?, at + end + 1))
    }
}
