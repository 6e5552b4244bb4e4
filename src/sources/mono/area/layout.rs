//! The header of an area, and the counters that the runtime keeps in it
//! (docs/protocols/mono-shm.md 2 and 3).

use super::page::Page;
use crate::read::Order;

/// Bytes of an area.
pub(crate) const PAGE: usize = 4096;

/// Position of the counters.
const START: usize = 32;

/// Where the counters are, from their start.
#[derive(Debug, PartialEq, Eq)]
struct Offsets {
    exceptions_thrown: usize,
    exceptions_filters: usize,
    exceptions_finallys: usize,
    gc_collections0: usize,
    gc_collections1: usize,
    jit_methods: usize,
    jit_bytes: usize,
    contentions: usize,
    pool_completed: usize,
    pool_threads: usize,
    appdomains: usize,
    appdomains_total: usize,
    handles_created: usize,
    sync_blocks: usize,
    loader_bytes: usize,
}

/// Mono 5.14 to 6.12: 296 bytes of counters.
const LATE: Offsets = Offsets {
    exceptions_thrown: 16,
    exceptions_filters: 20,
    exceptions_finallys: 24,
    gc_collections0: 40,
    gc_collections1: 44,
    jit_methods: 0,
    jit_bytes: 4,
    contentions: 204,
    pool_completed: 272,
    pool_threads: 264,
    appdomains: 176,
    appdomains_total: 180,
    handles_created: 96,
    sync_blocks: 140,
    loader_bytes: 196,
};

/// Mono 4 and the first of 5: 264 bytes, since sizes of the heap have 32 bits.
const EARLY: Offsets = Offsets {
    contentions: 180,
    pool_completed: 240,
    pool_threads: 256,
    appdomains: 152,
    appdomains_total: 156,
    handles_created: 84,
    sync_blocks: 116,
    loader_bytes: 172,
    ..LATE
};

/// Why a page is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no area of Mono, or one that is not complete yet.
    NoArea,
    /// It is the area of another process than this.
    Other(u32),
    /// Counters of this size: of a version or a build that is not known.
    Layout(u16),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoArea => f.write_str("its shared area has not the form of Mono's"),
            Self::Other(pid) => write!(f, "its shared area is that of process {pid}"),
            Self::Layout(size) => write!(
                f,
                "the layout of its shared area is not known ({size} bytes of counters): a 32-bit \
                 Mono, or one that was built without remoting"
            ),
        }
    }
}

/// What the runtime counts. Those of 32 bits wrap, but for what can be fewer again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) exceptions_thrown: u32,
    pub(crate) exceptions_filters: u32,
    pub(crate) exceptions_finallys: u32,
    pub(crate) gc_collections0: u32,
    pub(crate) gc_collections1: u32,
    pub(crate) jit_methods: u32,
    pub(crate) jit_bytes: u32,
    pub(crate) contentions: u32,
    pub(crate) pool_completed: u64,
    pub(crate) pool_threads: u32,
    pub(crate) appdomains: u32,
    pub(crate) appdomains_total: u32,
    pub(crate) handles_created: u32,
    pub(crate) sync_blocks: u32,
    pub(crate) loader_bytes: u32,
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
    let offsets = match size {
        296 => &LATE,
        264 => &EARLY,
        _ => return Err(Refusal::Layout(size)),
    };
    if owner != pid {
        return Err(Refusal::Other(owner));
    }
    if data < START + usize::from(size) {
        return Err(Refusal::NoArea);
    }
    let at = |offset| page.u32(START + offset).unwrap_or_default();
    let figures = Figures {
        exceptions_thrown: at(offsets.exceptions_thrown),
        exceptions_filters: at(offsets.exceptions_filters),
        exceptions_finallys: at(offsets.exceptions_finallys),
        gc_collections0: at(offsets.gc_collections0),
        gc_collections1: at(offsets.gc_collections1),
        jit_methods: at(offsets.jit_methods),
        jit_bytes: at(offsets.jit_bytes),
        contentions: at(offsets.contentions),
        pool_completed: page.u64(START + offsets.pool_completed).unwrap_or_default(),
        pool_threads: at(offsets.pool_threads),
        appdomains: at(offsets.appdomains),
        appdomains_total: at(offsets.appdomains_total),
        handles_created: at(offsets.handles_created),
        sync_blocks: at(offsets.sync_blocks),
        loader_bytes: at(offsets.loader_bytes),
    };
    Ok((figures, data))
}
