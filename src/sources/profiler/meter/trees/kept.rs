//! The events of one root that is not over, in the form of the stream: a call is smaller so than as a tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::meter::SlowCalls;
use crate::sources::profiler::limits::{IDLE_BUFFER, TREE_PEER, TREE_ROOT};
use crate::sources::profiler::streams::record::{Reference, TagValue, TraceKind};
use crate::sources::profiler::streams::scan::{Numbers, Scan};

/// In place of the end of a block: the time of the event before the next one follows.
const TIME: u8 = 3;

/// The bytes of one connection's roots.
#[derive(Debug)]
pub(crate) struct PodBytes {
    shared: Arc<SlowCalls>,
    held: AtomicUsize,
}

impl PodBytes {
    pub(crate) const fn new(shared: Arc<SlowCalls>) -> Self {
        Self { shared, held: AtomicUsize::new(0) }
    }

    /// Charged bytes.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn take(&self, more: usize) -> bool {
        let holds = self.held() + more;
        let fits = holds <= TREE_PEER && self.shared.take(more, holds);
        if fits {
            self.held.fetch_add(more, Ordering::Relaxed);
        }
        fits
    }

    fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.shared.give_back(bytes);
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
    pub(crate) fn append(&mut self, of: &Arc<PodBytes>, events: &[u8], base_ms: i64, time_ms: i64) {
        if events.is_empty() || self.partial {
            return;
        }
        let jumps = base_ms != self.time_ms;
        let more = events.len() + if jumps { 1 + size_of::<i64>() } else { 0 };
        if self.bytes.len() + more > TREE_ROOT || !of.take(more) {
            self.partial = true;
            return;
        }
        if self.of.is_none() {
            self.of = Some(Arc::clone(of));
        }
        if jumps {
            self.bytes.push(TIME);
            self.bytes.extend_from_slice(&base_ms.to_be_bytes());
        }
        self.bytes.extend_from_slice(events);
        self.time_ms = time_ms;
    }

    /// Appends one event; the text of a tag is left out.
    pub(crate) fn push(&mut self, of: &Arc<PodBytes>, time_ms: i64, kind: &TraceKind<'_>) {
        let distance = i32::try_from(time_ms.wrapping_sub(self.time_ms));
        let base_ms = if distance.is_ok() { self.time_ms } else { time_ms };
        let distance = distance.unwrap_or_default().cast_unsigned();
        let mut event = Event::default();
        let (kind, numbers): (u8, &[u32]) = match kind {
            TraceKind::Enter { method } => (0, &[*method]),
            TraceKind::Exit => (1, &[]),
            TraceKind::Tag { param, value } => match value {
                TagValue::Inline(_) | TagValue::Indexed(_) => (2, &[*param, 0, 0]),
                TagValue::Xml(at) => (2, &[*param, 1, at.file, at.offset]),
                TagValue::Sql(at) => (2, &[*param, 3, at.file, at.offset]),
            },
        };
        let low = (distance & 0x1f).to_le_bytes();
        let more = if distance >> 5 == 0 { 0 } else { 0x80 };
        event.byte(kind | low.first().copied().unwrap_or_default() << 2 | more);
        if more != 0 {
            event.number(distance >> 5);
        }
        numbers.iter().for_each(|number| event.number(*number));
        self.append(of, event.bytes(), base_ms, time_ms);
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

/// Bytes of an event without a text: five numbers of 5 bytes at most.
#[derive(Default)]
struct Event {
    bytes: [u8; 32],
    length: usize,
}

impl Event {
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn number(&mut self, mut number: u32) {
        while number >= 0x80 {
            let [low, ..] = number.to_le_bytes();
            self.byte(low | 0x80);
            number >>= 7;
        }
        let [low, ..] = number.to_le_bytes();
        self.byte(low);
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
