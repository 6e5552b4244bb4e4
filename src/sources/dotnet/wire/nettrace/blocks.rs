//! Contents of blocks, and the losses that the numbers show which each thread gives its events
//! (docs/protocols/dotnet.md 3, "Loss", and 4).

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::bytes::Bytes;
use super::metadata::Types;
use super::rows::{Rows, Six};
use super::{ErrorKind, Event, Header, Ips, Visitor, metadata};
use crate::sources::dotnet::limits;

/// Kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Trace,
    Events,
    Metadata,
    Stacks,
    Point,
    Threads,
    RemoveThreads,
    Labels,
}

/// What blocks leave behind for the next ones.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    header: Option<Header>,
    types: Types,
    sequences: Sequences,
    six: Six,
    events: u64,
}

crate::heap_size!(Blocks { types, sequences, six });

/// What is wrong, and where: of a block, how many bytes before its end; of a stream, how many behind
/// what was read.
pub(super) type Fault = (ErrorKind, usize);

impl Blocks {
    pub(super) const fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    pub(super) const fn losses(&self) -> Losses {
        self.sequences.losses()
    }

    /// Events so far.
    pub(super) const fn events(&self) -> u64 {
        self.events
    }

    /// Event types so far.
    pub(super) const fn types(&self) -> usize {
        self.types.len()
    }

    /// The trace header of versions 4 and 5.
    pub(super) fn trace(
        &mut self,
        body: &[u8],
        version: u32,
        visitor: &mut impl Visitor,
    ) -> Result<(), Fault> {
        self.begin(Header::four(&mut Bytes::new(body), version), visitor)
    }

    fn begin(&mut self, header: Option<Header>, visitor: &mut impl Visitor) -> Result<(), Fault> {
        match header {
            Some(header) if self.header.is_none() => {
                visitor.header(&header);
                self.header = Some(header);
                Ok(())
            }
            _ => Err((ErrorKind::Header, 0)),
        }
    }

    /// A block of any version.
    pub(super) fn decode(
        &mut self,
        kind: Kind,
        body: &[u8],
        visitor: &mut impl Visitor,
    ) -> Result<(), Fault> {
        let mut b = Bytes::new(body);
        if kind == Kind::Trace {
            return self.begin(Header::six(&mut b), visitor);
        }
        let Some(header) = &self.header else { return Err((ErrorKind::Header, b.len())) };
        let (six, pointer_size) = (header.version >= 6, header.pointer_size);
        let done = match kind {
            Kind::Events => return self.rows(body, six, visitor),
            Kind::Metadata if six => return self.metadata6(&mut b, visitor),
            Kind::Metadata => return self.metadata(body, visitor),
            Kind::Stacks => stacks(&mut b, pointer_size, visitor),
            Kind::Point if six => self.point6(&mut b, visitor),
            Kind::Point => self.point(&mut b, visitor),
            Kind::Threads => self.six.add_threads(&mut b),
            Kind::RemoveThreads => self.remove_threads(&mut b, visitor),
            Kind::Labels => self.six.add_labels(&mut b),
            Kind::Trace => None,
        };
        done.ok_or((ErrorKind::Truncated, b.len()))
    }

    fn rows(&mut self, body: &[u8], six: bool, visitor: &mut impl Visitor) -> Result<(), Fault> {
        let mut rows = Rows::new(body, six).ok_or((ErrorKind::Truncated, 0))?;
        let Self { types, sequences, six: refers, events, .. } = self;
        let refers = six.then_some(&*refers);
        let mut run = Run::default();
        let mut done = Ok(());
        while !rows.is_empty() {
            let mut event = match next(&mut rows, &mut run, types, refers, sequences, visitor) {
                Ok(event) => event,
                Err(kind) => {
                    done = Err((kind, rows.left()));
                    break;
                }
            };
            let before = *events;
            loop {
                visitor.event(&event);
                *events += 1;
                if !rows.follow(&mut event, types) {
                    break;
                }
            }
            rows.followed(&event);
            run.last = event.sequence;
            run.events += *events - before;
        }
        sequences.end(&run);
        done
    }

    /// Event types of versions 4 and 5.
    fn metadata(&mut self, body: &[u8], visitor: &mut impl Visitor) -> Result<(), Fault> {
        let mut rows = Rows::new(body, false).ok_or((ErrorKind::Truncated, 0))?;
        while !rows.is_empty() {
            let left = rows.left();
            let (_, payload) = rows.next().ok_or((ErrorKind::Truncated, left))?;
            let (id, event_type) = metadata::four(payload).map_err(|kind| (kind, left))?;
            visitor.event_type(self.types.define(id, event_type).map_err(|kind| (kind, left))?);
        }
        Ok(())
    }

    /// Event types of version 6.
    fn metadata6(&mut self, b: &mut Bytes<'_>, visitor: &mut impl Visitor) -> Result<(), Fault> {
        let short = |left| (ErrorKind::Truncated, left);
        let header = b.u16().ok_or(short(b.len()))?;
        b.take(header.into()).ok_or(short(b.len()))?;
        while !b.is_empty() {
            let left = b.len();
            let row = b.u16().and_then(|size| b.take(size.into())).ok_or(short(left))?;
            let (id, event_type) = metadata::six(row).map_err(|kind| (kind, left))?;
            visitor.event_type(self.types.define(id, event_type).map_err(|kind| (kind, left))?);
        }
        Ok(())
    }

    fn point(&mut self, b: &mut Bytes<'_>, visitor: &mut impl Visitor) -> Option<()> {
        let (_time, count) = (b.u64()?, b.u32()?);
        let mut lost = 0;
        let whole = (0..count).try_for_each(|_| {
            lost += self.sequences.point(b.u64()?, b.u32()?);
            Some(())
        });
        // What is counted is told, also before the end of what was cut.
        tell(lost, visitor);
        whole?;
        visitor.point();
        Some(())
    }

    fn point6(&mut self, b: &mut Bytes<'_>, visitor: &mut impl Visitor) -> Option<()> {
        let (_time, flags, count) = (b.u64()?, b.u32()?, b.u32()?);
        let mut lost = 0;
        let whole = (0..count).try_for_each(|_| {
            lost += self.sequences.point(b.var64()?, b.var32()?);
            Some(())
        });
        tell(lost, visitor);
        whole?;
        visitor.point();
        self.six.point(flags & 1 != 0);
        if flags & 1 != 0 {
            self.sequences.clear();
        }
        if flags & 2 != 0 {
            self.types.clear();
        }
        Some(())
    }

    fn remove_threads(&mut self, b: &mut Bytes<'_>, visitor: &mut impl Visitor) -> Option<()> {
        while !b.is_empty() {
            let (index, number) = (b.var64()?, b.var32()?);
            tell(self.sequences.point(index, number), visitor);
            self.sequences.remove(index);
            self.six.remove(index);
        }
        Some(())
    }
}

/// The next event of a block, whatever its header says; `run` is the one that it belongs to.
/// `refers`: what rows of version 6 refer to.
fn next<'a>(
    rows: &mut Rows<'a>,
    run: &mut Run,
    types: &'a Types,
    refers: Option<&'a Six>,
    sequences: &mut Sequences,
    visitor: &mut impl Visitor,
) -> Result<Event<'a>, ErrorKind> {
    let (row, payload) = rows.next().ok_or(ErrorKind::Truncated)?;
    let event_type = types.get(row.type_id).ok_or(ErrorKind::Type)?;
    if run.thread != row.capture_thread || run.events == 0 {
        sequences.end(run);
        *run = sequences.begin(row.capture_thread);
    }
    if row.sequence != run.last.wrapping_add(1) {
        tell(sequences.odd(run, row.sequence), visitor);
    }
    let mut event = row.event(event_type, payload);
    if let Some(refers) = refers {
        event.thread = refers.thread(row.thread);
        event.capture_thread = refers.thread(row.capture_thread);
        let (activity, related) = refers.labels(row.labels);
        (event.activity, event.related) = (activity, related);
    }
    Ok(event)
}

fn tell(lost: u64, visitor: &mut impl Visitor) {
    if lost > 0 {
        visitor.lost(lost);
    }
}

fn stacks(b: &mut Bytes<'_>, pointer_size: u8, visitor: &mut impl Visitor) -> Option<()> {
    let (first, count) = (b.u32()?, b.u32()?);
    for i in 0..count {
        let size = b.u32()?;
        visitor.stack(first.wrapping_add(i), Ips::new(b.take(size as usize)?, pointer_size));
    }
    Some(())
}

/// Events that the process could not write, and what else the numbers show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Numbers that are missing between events.
    pub gaps: u64,
    /// Numbers that are missing at sequence points.
    pub points: u64,
    /// Threads whose numbers began anew: the OS reused the id.
    pub resets: u64,
    /// Events of threads beyond `limits::THREADS`: not checked.
    pub unchecked: u64,
}

impl Losses {
    /// All lost events.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.gaps + self.points
    }
}

/// The last number of each thread.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    last: HashMap<u64, u32, RandomState>,
    losses: Losses,
}

crate::heap_size!(Sequences { last });

/// Events of one thread that follow each other in a block. The first run of a block has none.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) thread: u64,
    /// The last number; 0: none yet.
    pub(super) last: u32,
    /// The thread is one of those whose numbers are kept.
    tracked: bool,
    /// Events of the run.
    pub(super) events: u64,
}

/// Numbers are ahead by less than this.
const AHEAD: u32 = 1 << 31;

impl Sequences {
    pub(super) const fn losses(&self) -> Losses {
        self.losses
    }

    /// Begins a run of events of one thread.
    pub(super) fn begin(&self, thread: u64) -> Run {
        let last = self.last.get(&thread).copied();
        let tracked = last.is_some() || self.last.len() < limits::THREADS;
        Run { thread, last: last.unwrap_or(0), tracked, events: 0 }
    }

    /// Ends a run of events.
    pub(super) fn end(&mut self, run: &Run) {
        if run.tracked {
            self.last.insert(run.thread, run.last);
        } else {
            self.losses.unchecked += run.events;
        }
    }

    /// An event whose number does not follow: the losses before it.
    #[cold]
    pub(super) fn odd(&mut self, run: &Run, number: u32) -> u64 {
        if !run.tracked {
            return 0;
        }
        let step = number.wrapping_sub(run.last);
        if (number == 1 && run.last != 0) || step == 0 || step >= AHEAD {
            self.losses.resets += 1;
            return 0;
        }
        let lost = u64::from(step - 1);
        self.losses.gaps += lost;
        lost
    }

    /// One thread of a sequence point: the losses it shows. A thread that never came has lost all.
    pub(super) fn point(&mut self, thread: u64, number: u32) -> u64 {
        let room = self.last.len() < limits::THREADS;
        let lost = match self.last.entry(thread) {
            Entry::Occupied(mut e) => {
                let step = number.wrapping_sub(*e.get());
                if step >= AHEAD {
                    return 0;
                }
                e.insert(number);
                step
            }
            Entry::Vacant(e) if room => *e.insert(number),
            Entry::Vacant(_) => return 0,
        };
        self.losses.points += u64::from(lost);
        u64::from(lost)
    }

    /// The thread ended.
    pub(super) fn remove(&mut self, thread: u64) {
        self.last.remove(&thread);
    }

    /// Forgets all threads.
    pub(super) fn clear(&mut self) {
        self.last.clear();
    }
}
