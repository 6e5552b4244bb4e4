//! The events of one root that is not over, in the form of the stream: a call is smaller so than as a tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::meter::SlowCalls;
use crate::sources::profiler::limits::{IDLE_BUFFER, TREE_PEER, TREE_ROOT};
use crate::sources::profiler::streams::record::{Reference, TagValue, TraceKind};
use crate::sources::profiler::streams::scan::{Numbers, Scan};

/// In place of the end of a block: the time of the event before the next one follows.
const TIME: u8 = 3;

/// Bytes by which the charge to all connections grows: it changes seldom.
const STEP: usize = 4 << 10;

/// The bytes of one connection's roots; they are counted by one thread at a time.
#[derive(Debug)]
pub(crate) struct PodBytes {
    shared: Arc<SlowCalls>,
    held: AtomicUsize,
    charged: AtomicUsize,
}

impl PodBytes {
    pub(crate) const fn new(shared: Arc<SlowCalls>) -> Self {
        Self { shared, held: AtomicUsize::new(0), charged: AtomicUsize::new(0) }
    }

    /// Bytes that are charged to all connections together.
    pub(crate) fn charged(&self) -> usize {
        self.charged.load(Ordering::Relaxed)
    }

    #[inline]
    fn take(&self, more: usize) -> bool {
        let holds = self.held.load(Ordering::Relaxed) + more;
        let fits = holds <= TREE_PEER && (holds <= self.charged() || self.charge(holds));
        if fits {
            self.held.store(holds, Ordering::Relaxed);
        }
        fits
    }

    #[cold]
    fn charge(&self, holds: usize) -> bool {
        let (charged, wanted) = (self.charged(), holds.next_multiple_of(STEP));
        let fits = self.shared.take(wanted - charged, holds);
        if fits {
            self.charged.store(wanted, Ordering::Relaxed);
        }
        fits
    }

    #[inline]
    fn give_back(&self, bytes: usize) {
        self.held.store(self.held.load(Ordering::Relaxed) - bytes, Ordering::Relaxed);
    }

    /// Gives back what is charged and not held.
    pub(crate) fn settle(&self) {
        let wanted = self.held.load(Ordering::Relaxed).next_multiple_of(STEP);
        self.shared.give_back(self.charged.swap(wanted, Ordering::Relaxed) - wanted);
    }
}

impl Drop for PodBytes {
    fn drop(&mut self) {
        self.shared.give_back(self.charged());
    }
}

/// The events of a root behind its ENTER.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    /// What the bytes are charged to.
    of: Option<Arc<PodBytes>>,
    /// Time of the last event in `bytes`.
    time_ms: i64,
    /// The events of the present root are kept.
    pub(crate) on: bool,
    /// There was no room: events are missing at the end.
    pub(crate) partial: bool,
}

impl Kept {
    /// A root has begun.
    #[inline]
    pub(crate) const fn begin(&mut self, time_ms: i64) {
        (self.on, self.time_ms) = (true, time_ms);
    }

    /// Appends whole events, of which the last one is at `time_ms`; `base_ms`: the time before the first.
    #[inline]
    pub(crate) fn append(&mut self, of: &Arc<PodBytes>, events: &[u8], base_ms: i64, time_ms: i64) {
        if events.is_empty() || self.partial {
            return;
        }
        let before = self.bytes.len();
        if base_ms != self.time_ms {
            self.bytes.push(TIME);
            self.bytes.extend_from_slice(&base_ms.to_be_bytes());
        }
        self.bytes.extend_from_slice(events);
        self.charge(of, before, time_ms);
    }

    /// Appends one event. Of parameters only those with a value in the stream `sql` are kept.
    pub(crate) fn push(&mut self, of: &Arc<PodBytes>, time_ms: i64, kind: &TraceKind<'_>) {
        let (kind, numbers): (u8, &[u32]) = match kind {
            TraceKind::Enter { method } => (0, &[*method]),
            TraceKind::Exit => (1, &[]),
            TraceKind::Tag { param, value: TagValue::Sql(at) } => {
                (2, &[*param, 3, at.file, at.offset])
            }
            TraceKind::Tag { .. } => return,
        };
        if self.partial {
            return;
        }
        let before = self.bytes.len();
        let distance = i32::try_from(time_ms.wrapping_sub(self.time_ms)).unwrap_or_else(|_| {
            self.bytes.push(TIME);
            self.bytes.extend_from_slice(&time_ms.to_be_bytes());
            0
        });
        let distance = distance.cast_unsigned();
        let [low, ..] = (distance & 0x1f).to_le_bytes();
        let more = if distance >> 5 == 0 { 0 } else { 0x80 };
        self.bytes.push(kind | low << 2 | more);
        if more != 0 {
            self.number(distance >> 5);
        }
        numbers.iter().for_each(|number| self.number(*number));
        self.charge(of, before, time_ms);
    }

    fn number(&mut self, mut number: u32) {
        while number >= 0x80 {
            let [low, ..] = number.to_le_bytes();
            self.bytes.push(low | 0x80);
            number >>= 7;
        }
        let [low, ..] = number.to_le_bytes();
        self.bytes.push(low);
    }

    /// Charges what is behind `before`, or drops it.
    #[inline]
    fn charge(&mut self, of: &Arc<PodBytes>, before: usize, time_ms: i64) {
        if self.bytes.len() > TREE_ROOT || !of.take(self.bytes.len() - before) {
            self.bytes.truncate(before);
            self.partial = true;
            return;
        }
        self.time_ms = time_ms;
        if self.of.is_none() {
            self.of = Some(Arc::clone(of));
        }
    }

    /// The root is over, or not kept.
    pub(crate) fn clear(&mut self) {
        self.give_back();
        self.bytes.clear();
        if self.bytes.capacity() > IDLE_BUFFER {
            self.bytes = Vec::new();
        }
        (self.on, self.partial) = (false, false);
    }

    fn give_back(&mut self) {
        if let Some(of) = self.of.take() {
            of.give_back(self.bytes.len());
        }
    }

    /// Takes the events of a root that is over.
    pub(crate) fn take(&mut self) -> Self {
        let mut taken = std::mem::take(self);
        taken.bytes.shrink_to_fit();
        taken
    }

    /// The methods that were entered.
    pub(crate) fn methods(&self) -> impl Iterator<Item = u32> {
        let (mut scan, mut time_ms) = (Scan::new(&self.bytes, 0), 0);
        std::iter::from_fn(move || next(&mut scan, &mut time_ms)).filter_map(|event| match event {
            Some(Step::Enter(method)) => Some(method),
            _ => None,
        })
    }

    /// Reads the events. `begin_ms`: the time of the root's ENTER. Returns the time of the last one.
    pub(crate) fn read(&self, begin_ms: i64, mut step: impl FnMut(i64, Step)) -> i64 {
        let (mut scan, mut time_ms) = (Scan::new(&self.bytes, 0), begin_ms);
        while let Some(event) = next(&mut scan, &mut time_ms) {
            event.into_iter().for_each(|event| step(time_ms, event));
        }
        time_ms
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// An event that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A method.
    Enter(u32),
    Exit,
    /// A parameter, and where its value is in the stream `sql`.
    Tag(u32, Option<Reference>),
}

/// The next event, or none in place of a time; `None` at the end.
fn next(scan: &mut Scan<'_>, time_ms: &mut i64) -> Option<Option<Step>> {
    let first = scan.u8()?;
    if first == TIME {
        *time_ms = scan.u64()?.cast_signed();
        return Some(None);
    }
    let mut distance = u32::from(first >> 2 & 0x1f);
    if first & 0x80 != 0 {
        distance |= scan.varint()? << 5;
    }
    *time_ms = time_ms.wrapping_add(distance.cast_signed().into());
    Some(Some(match first & 3 {
        0 => Step::Enter(scan.varint()?),
        1 => Step::Exit,
        _ => {
            let (param, kind) = (scan.varint()?, scan.u8()?);
            let number = scan.varint()?;
            if kind & 1 == 0 {
                scan.up_to(2 * number as usize);
                return Some(Some(Step::Tag(param, None)));
            }
            let at = Reference { file: number, offset: scan.varint()? };
            Step::Tag(param, (kind == 3).then_some(at))
        }
    }))
}
