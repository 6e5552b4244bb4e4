//! The CPU profile: bursts of stack samples, weighted with the processor time that the sampled
//! thread used (docs/protocols/dotnet.md 8).
//!
//! ```text
//!  bytes ─▶ Profile ─┬─▶ Methods (143, 144 live and of the rundown; kept between bursts)
//!                    └─▶ Samples (stacks, counts by thread and batch, time by Clock)
//!  end of the burst ─▶ weigh ─▶ rows of STACKS and METHODS, answer of profile.run
//! ```

mod methods;
mod samples;
#[cfg(test)]
mod tests;
mod waits;
mod weigh;

pub(super) use methods::Methods;

use std::collections::HashMap;
use std::fmt::Write;

use bytes::BytesMut;

use super::wire::clr;
use super::wire::clr::Decoded;
use super::wire::nettrace::{Event, EventType, Header, Ips, NettraceError, Reader, Visitor};
use super::wire::wanted::SAMPLER;
use super::{limits, metrics as m};
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::model::{RowItem, TableId};
use samples::Samples;
use weigh::{Named, Weighed};

/// The processor time of the threads of a process.
pub trait Clock {
    /// Processor time of all threads in ns by their ids as the process sees them; `None`: it cannot
    /// be read.
    fn all(&mut self) -> Option<HashMap<u64, u64>>;

    /// Processor time of one thread in ns; `None`: it cannot be read, or the thread is gone.
    fn one(&mut self, thread: u64) -> Option<u64>;
}

/// What an event type means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sample,
    Runtime(u32, u32),
    Rundown(u32, u32),
    Other,
}

/// The profile of one process. Between bursts it has the methods only.
#[derive(Debug, Default)]
pub struct Profile {
    methods: Methods,
    burst: Option<Box<Burst>>,
}

crate::heap_size!(Profile { methods, burst });

/// A burst.
#[derive(Debug, Default)]
struct Burst {
    reader: Reader,
    parts: Parts,
}

crate::heap_size!(Burst { reader, parts });

/// What the stream of a burst brings.
#[derive(Debug, Default)]
struct Parts {
    samples: Samples,
    weighed: Weighed,
    kinds: Vec<Kind>,
    pointer_size: u32,
    /// Processor time of threads at the end of the last batch.
    times: HashMap<u64, u64>,
    /// `times` had all threads when the burst began: one that is not in it began later, at 0.
    has_all: bool,
    /// Processor time of threads when the samples ended.
    ends: Option<HashMap<u64, u64>>,
    /// Methods that cannot be decoded.
    bad: u64,
}

crate::heap_size!(Parts { samples, weighed, kinds, times, ends });

impl Profile {
    /// Begins a burst, before its session is asked for.
    pub fn begin(&mut self, clock: &mut dyn Clock) {
        let mut burst = Box::new(Burst::default());
        if let Some(times) = clock.all() {
            burst.parts.has_all = true;
            burst.parts.times = times;
        }
        self.burst = Some(burst);
    }

    /// Decodes what there is of the session's stream, which is one batch.
    ///
    /// # Errors
    /// The stream cannot be decoded any further. What came before counts.
    pub fn feed(
        &mut self,
        input: &mut BytesMut,
        clock: &mut dyn Clock,
    ) -> Result<(), NettraceError> {
        let Some(burst) = &mut self.burst else {
            input.clear();
            return Ok(());
        };
        let Burst { reader, parts } = &mut **burst;
        let outcome = reader.feed(input, &mut Part { parts, methods: &mut self.methods });
        let Parts { samples, weighed, times, has_all, ends, .. } = parts;
        let first = has_all.then_some(0);
        let room = samples.batch(|thread| {
            let now = clock.one(thread);
            let now = match ends.as_ref().and_then(|ends| ends.get(&thread)) {
                Some(end) => Some(now.map_or(*end, |now| now.min(*end))),
                None => now,
            }?;
            let before = match times.get_mut(&thread) {
                Some(before) => Some(std::mem::replace(before, now)),
                None => {
                    if times.len() < 2 * limits::PROFILE_THREADS {
                        times.insert(thread, now);
                    }
                    first
                }
            };
            // An id that another thread has now begins at 0.
            before.map(|before| now.checked_sub(before).unwrap_or(now))
        });
        if !room {
            weighed.add(samples, &self.methods);
        }
        outcome
    }

    /// The samples end: the session is about to be stopped, and what threads do from now on is not
    /// in them.
    pub fn stopping(&mut self, clock: &mut dyn Clock) {
        if let Some(burst) = &mut self.burst {
            burst.parts.ends = clock.all();
        }
    }

    /// A burst has begun and not ended.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.burst.is_some()
    }

    /// The first bytes of the stream came.
    #[must_use]
    pub fn began(&self) -> bool {
        self.burst.as_ref().is_some_and(|burst| burst.reader.header().is_some())
    }

    /// The end of the stream came.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.burst.as_ref().is_some_and(|burst| burst.reader.ended())
    }

    /// Ends the burst: reports its time in rows of `owner`, the instance of the process. `why`: what
    /// went wrong. Returns the answer to the request.
    pub fn finish(&mut self, why: Option<&str>, owner: &str, peer: &mut Peer) -> String {
        let Some(burst) = self.burst.take() else { return String::new() };
        let whole = burst.reader.ended();
        let lost = burst.reader.losses();
        let Parts { mut samples, mut weighed, bad, .. } = burst.parts;
        weighed.add(&mut samples, &self.methods);
        let named = weighed.named(&samples, &self.methods);
        let known = self.methods.len();
        let refused = self.methods.settle();
        add_rows(&named, owner, peer);
        for (item, more) in [
            (m::SAMPLES, samples.all),
            (m::BURSTS, 1),
            (m::UNKNOWN_FRAMES, named.unknown),
            (m::PROFILE_CPU, weighed.time),
        ] {
            peer.add(item, more);
        }
        answer(&Finished {
            samples: samples.all,
            time: weighed.time,
            untimed: weighed.untimed,
            stacks: named.stacks.len(),
            methods: known,
            refused,
            bad,
            lost: lost.lost(),
            whole,
            why,
        })
    }
}

#[cfg(test)]
impl Profile {
    /// Samples by folded stack of a whole stream, and frames without a method.
    fn folded_counts(bytes: &[u8]) -> (std::collections::BTreeMap<String, u64>, u64) {
        let (mut methods, mut parts) = (Methods::default(), Parts::default());
        let mut part = Part { parts: &mut parts, methods: &mut methods };
        Reader::new().feed(&mut BytesMut::from(bytes), &mut part).expect("sound");
        parts.samples.batch(|_| Some(0));
        parts.weighed.counts(&mut parts.samples, &methods)
    }
}

/// Takes events apart.
struct Part<'a> {
    parts: &'a mut Parts,
    methods: &'a mut Methods,
}

impl Part<'_> {
    fn method(&mut self, decoded: Result<Decoded<'_>, clr::Short>, rundown: bool) {
        match decoded {
            Ok(Decoded::MethodLoad { address, size, namespace, name, .. }) => {
                self.methods.load(address, size, namespace, name);
            }
            Ok(Decoded::MethodUnload { address, .. }) if !rundown => self.methods.unload(address),
            Ok(_) => {}
            Err(_) => self.parts.bad += 1,
        }
    }
}

impl Visitor for Part<'_> {
    fn header(&mut self, header: &Header) {
        self.parts.pointer_size = header.pointer_size.into();
    }

    fn event_type(&mut self, event_type: &EventType) {
        let kind = match &*event_type.provider {
            SAMPLER => Kind::Sample,
            clr::RUNTIME => Kind::Runtime(event_type.id, event_type.version),
            clr::RUNDOWN => Kind::Rundown(event_type.id, event_type.version),
            _ => Kind::Other,
        };
        let at = event_type.index as usize;
        let kinds = &mut self.parts.kinds;
        if at < limits::EVENT_TYPES {
            if kinds.len() <= at {
                kinds.resize(at + 1, Kind::Other);
            }
            kinds.get_mut(at).into_iter().for_each(|known| *known = kind);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let kind = self.parts.kinds.get(event.event_type.index as usize);
        let pointers = self.parts.pointer_size;
        match kind.copied().unwrap_or(Kind::Other) {
            Kind::Sample => self.parts.samples.sample(event.thread, event.stack),
            // MethodUnload has the address where MethodUnloadVerbose has it.
            Kind::Runtime(142, _) => {
                let address = event.payload.get(16..24).and_then(|b| b.try_into().ok());
                if let Some(address) = address {
                    self.methods.unload(u64::from_le_bytes(address));
                }
            }
            Kind::Runtime(id @ (143 | 144), version) => {
                self.method(clr::decode(id, version, pointers, event.payload), false);
            }
            Kind::Rundown(id @ (143 | 144), version) => {
                self.method(clr::decode_rundown(id, version, pointers, event.payload), true);
            }
            Kind::Runtime(..) | Kind::Rundown(..) | Kind::Other => {}
        }
    }

    fn stack(&mut self, id: u32, ips: Ips<'_>) {
        self.parts.samples.stack(id, ips.iter());
    }

    fn point(&mut self) {
        self.parts.samples.point();
    }
}

/// A finished burst.
#[derive(Clone, Copy, Debug, Default)]
struct Finished<'a> {
    samples: u64,
    /// Processor time of the samples in ns.
    time: u64,
    /// Samples whose thread's processor time nobody knows.
    untimed: u64,
    stacks: usize,
    /// Methods known.
    methods: usize,
    /// Methods for which there was no room.
    refused: u64,
    /// Methods that cannot be decoded.
    bad: u64,
    lost: u64,
    /// The stream came to its end.
    whole: bool,
    why: Option<&'a str>,
}

/// Adds the time of stacks and methods to their rows, `OWNER::NAME`, those with most first. What has no
/// row is in `OWNER::other`.
fn add_rows(named: &Named, owner: &str, peer: &mut Peer) {
    let mut stacks: Vec<(&str, u64)> = named.stacks.iter().map(|(n, t)| (&**n, *t)).collect();
    stacks.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then(a.cmp(b)));
    stacks.extend((named.other > 0).then_some((OTHER, named.other)));
    for (name, time) in stacks {
        add(m::STACKS, owner, ("stack", name), &[(m::STACK_SAMPLES, time)], peer);
    }
    let mut methods: Vec<(&str, (u64, u64))> =
        named.methods.iter().map(|(name, times)| (&**name, *times)).collect();
    methods.sort_unstable_by(|(a, s), (b, t)| t.cmp(s).then(a.cmp(b)));
    for (name, (own, total)) in methods {
        let more = [(m::METHOD_SELF, own), (m::METHOD_TOTAL, total)];
        add(m::METHODS, owner, ("method", name), &more, peer);
    }
    for table in [m::STACKS, m::METHODS] {
        peer.free_rows(table);
    }
}

/// What bursts have brought is forgotten: rows begin anew.
pub fn forget_rows(peer: &mut Peer) {
    for table in [m::STACKS, m::METHODS] {
        peer.forget_rows(table);
    }
}

/// The slot of each row in turn: there may be more rows than a session has slots.
const SLOT: u32 = 0;

fn add(
    table: TableId,
    owner: &str,
    label: (&'static str, &str),
    more: &[(RowItem, u64)],
    peer: &mut Peer,
) {
    let key = [owner, "::", label.1].concat();
    peer.row(table, SLOT, Some(&key));
    let labels = [("process", owner), label];
    peer.row_labels(table, SLOT, &labels);
    for (item, more) in more.iter().filter(|(_, more)| *more > 0) {
        peer.row_add(SLOT, *item, *more);
    }
}

/// The answer: what the burst has.
fn answer(burst: &Finished<'_>) -> String {
    let Finished { samples, time, untimed, stacks, methods, refused, bad, lost, whole, why } =
        *burst;
    let mut text = match why {
        None if whole => "done".to_owned(),
        None => "cut".to_owned(),
        Some(why) => format!("failed: {why}"),
    };
    let _ = write!(
        text,
        ": {samples} samples of {} ms of processor time, {stacks} stacks, {methods} methods known",
        time / 1_000_000
    );
    if untimed > 0 {
        let _ = write!(
            text,
            "; the processor time of threads could not be read for {untimed} samples: each counts \
             as 1 ms if its method does not wait"
        );
    }
    if refused > 0 {
        let _ = write!(text, "; {refused} methods have no name for want of room");
    }
    if bad > 0 {
        let _ = write!(text, "; {bad} methods could not be decoded");
    }
    if lost > 0 {
        let _ = write!(text, "; the process threw {lost} events away");
    }
    text
}
