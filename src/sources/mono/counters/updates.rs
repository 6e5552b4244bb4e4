//! The updates of a connection in their order: the identity of the process, then metrics, then
//! samples.

use std::time::Duration;

use mono_counters::message::{TICK_NANOSECONDS, UNIX_EPOCH_TICKS};

use super::Counters;
use super::identity::{IdentityCounter, Origin, ProcessInfo};
use crate::contract::{Identity, Peer, SampleValue, SessionError};
use crate::model::{HeapSize, Now, Value};
use crate::sources::mono::limits;
use crate::sources::mono::metrics::{
    COUNTERS, DIALECT, INTERVAL, JIT_METHODS, PROGRAM_SAMPLES, PROGRAMS, SAMPLE, SAMPLES, SKEW,
};
use crate::sources::mono::process::{
    Joining, PROGRAM_ROW, Said, Seat, Share, Shown, Stage, Way, bind_program,
};

/// The state of one connection's updates.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    origin: Origin,
    process: ProcessInfo,
    /// How it may be found among the processes of this host.
    joining: Option<Joining>,
    seat: Option<Seat>,
    way: Way,
    shown: Shown,
    introduced: bool,
    /// The instance name, once it is known.
    name: String,
    /// The program, if the process is known.
    program: Option<String>,
    /// Messages before the introduction.
    messages: u32,
    dialect: String,
    /// The number of counters in the last update.
    counters: Option<usize>,
    /// The agent's time of the open sample, and of the one before.
    stamp: i64,
    before: Option<i64>,
    values: Vec<(u32, SampleValue)>,
    /// The number of values of the last sample.
    usual: usize,
    /// Bytes of the text values.
    texts: usize,
    stage: Stage,
    /// A newer connection of the same process shows it from now on.
    replaced: bool,
}

impl HeapSize for Updates {
    fn heap_size(&self) -> usize {
        let names = self.name.heap_size() + self.program.heap_size() + self.dialect.heap_size();
        let process = self.origin.heap_size() + self.process.heap_size() + self.seat.heap_size();
        self.values.heap_size() + self.texts + names + process
    }
}

impl Updates {
    pub(crate) fn new(origin: Origin, joining: Option<Joining>) -> Self {
        Self { origin, joining, ..Self::default() }
    }

    /// For the log profiler.
    pub(crate) fn of_stream(origin: Origin, joining: Option<Joining>) -> Self {
        Self { way: Way::Stream, ..Self::new(origin, joining) }
    }

    /// Takes the seat of the process that says this of itself, if it is one of this host. If it is
    /// not found, it is looked for again at the next call: until the peer is introduced.
    pub(crate) fn join(&mut self, said: &Said<'_>) {
        if self.seat.is_none() {
            self.seat = self.joining.as_ref().and_then(|joining| joining.join(self.way, said));
        }
    }

    /// Whether this way feeds these metrics now.
    pub(crate) fn feeds(&self, share: Share) -> bool {
        self.seat.as_ref().is_none_or(|seat| seat.feeds(share))
    }

    /// The seat, if the process is one of this host.
    pub(crate) const fn seat(&self) -> Option<&Seat> {
        self.seat.as_ref()
    }

    /// The instance name; empty until it is known.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The program, if the process is known.
    pub(crate) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// The program and the process id as the peer itself says them in its stream.
    pub(crate) fn process(&mut self, program: &str, pid: u32) {
        self.origin.process = Some((program.to_owned(), pid)).filter(|(_, pid)| *pid > 0);
    }

    /// Reports the identity of the peer as known now, then the updates that waited for it.
    pub(crate) fn introduce(&mut self, counters: &mut Counters, peer: &mut Peer) {
        if self.introduced {
            return;
        }
        self.introduced = true;
        let joining = self.joining.take().filter(|_| self.seat.is_none());
        if let Some((said, joining)) = self.process.said().zip(joining) {
            self.seat = joining.join(self.way, &said);
        }
        let identity = match &self.seat {
            Some(seat) => {
                _ = seat.feeds(Share::Counters);
                seat.identity(self.origin.address.clone(), vec![("dialect", self.dialect.clone())])
            }
            None => {
                let identity = self.process.identity(&self.origin, &self.dialect);
                // A stream begins with its process and never goes on.
                Identity { resumes: identity.resumes && self.way == Way::Module, ..identity }
            }
        };
        let program = identity.labels.iter().find(|(name, _)| *name == "program");
        self.program = program.map(|(_, program)| program.clone());
        self.name.clone_from(&identity.name);
        peer.is(identity);
        if self.seat.is_none()
            && let Some(program) = &self.program
        {
            bind_program(program, peer);
        }
        self.belong(peer);
        peer.set(DIALECT, Value::text(&self.dialect));
        self.flush(peer);
        self.refresh(counters, peer);
    }

    /// The process is one of its program: about once a second.
    pub(crate) fn belong(&mut self, peer: &mut Peer) {
        if let Some(seat) = &self.seat {
            self.shown.tick(seat, peer);
        } else if self.introduced {
            if self.program.is_some() {
                peer.row_member(PROGRAMS, PROGRAM_ROW);
            }
            self.shown.stage(self.stage, peer);
        }
    }

    /// Values come.
    pub(crate) fn reads(&mut self, peer: &mut Peer) {
        if self.stage != Stage::Reading {
            self.stage = Stage::Reading;
            if let Some(seat) = &self.seat {
                seat.stage(Stage::Reading);
            }
            self.belong(peer);
        }
    }

    /// A newer connection of the same process takes over.
    ///
    /// # Errors
    /// The connection ends.
    pub(crate) const fn replaced(&mut self) -> Result<(), SessionError> {
        self.replaced = true;
        Err(SessionError::Closed("a newer connection of the same process took over"))
    }

    /// Sets the agent's dialect, which may be known only after Hello.
    pub(crate) fn dialect(&mut self, dialect: String, peer: &mut Peer) {
        if self.dialect != dialect {
            self.dialect = dialect;
            if self.introduced {
                peer.set(DIALECT, Value::text(&self.dialect));
            }
        }
    }

    /// Reports new and hidden counters, and the number of counters.
    pub(crate) fn refresh(&mut self, counters: &mut Counters, peer: &mut Peer) {
        if !self.introduced {
            return;
        }
        for slot in counters.take_gone() {
            peer.hide(slot.into());
        }
        for (slot, spec) in counters.take_fresh() {
            peer.define(slot.into(), &spec);
        }
        let beyond = counters.take_beyond();
        if beyond > 0 {
            peer.unshown(beyond as u64);
        }
        if let Some(name_error) = counters.take_name_error() {
            peer.error(&name_error);
        }
        if self.counters != Some(counters.sampled()) {
            self.counters = Some(counters.sampled());
            let value = Value::U32(u32::try_from(counters.sampled()).unwrap_or(u32::MAX));
            peer.set(COUNTERS, value);
        }
    }

    /// A message is complete.
    pub(crate) fn message(&mut self, peer: &mut Peer) {
        self.messages = self.messages.saturating_add(1);
        if self.introduced {
            self.flush(peer);
        }
    }

    /// Reports the messages that are not reported yet.
    pub(crate) fn flush(&mut self, peer: &mut Peer) {
        (0..std::mem::take(&mut self.messages)).for_each(|_| peer.message());
    }

    /// A sample begins.
    pub(crate) fn sample(&mut self, stamp: i64) {
        self.stamp = stamp;
        self.values = Vec::with_capacity(self.usual);
        self.texts = 0;
    }

    /// A value of the sample: `shown` is for the store, `identity` identifies the process.
    pub(crate) fn value(
        &mut self,
        index: u16,
        (shown, identity): (Option<SampleValue>, Option<(IdentityCounter, SampleValue)>),
    ) {
        if let Some((identity, value)) = identity {
            self.process.learn(identity, &value);
        }
        if let Some(SampleValue::Value(Value::Text(text))) = &shown {
            self.texts += text.len();
        }
        // Once a counter: an iterator of one takes more instructions.
        if let Some(value) = shown {
            self.values.push((index.into(), value));
        }
    }

    /// The open sample has only values that another way feeds.
    pub(crate) fn drop_sample(&mut self) {
        (self.values, self.texts) = (Vec::new(), 0);
    }

    /// The connection ends. Other ways to the process stay: values that none of them has are hidden.
    pub(crate) fn leave(&mut self, counters: &Counters, peer: &mut Peer) {
        if self.seat.as_ref().is_some_and(|seat| seat.yields(Share::Counters)) {
            counters.defined().for_each(|slot| peer.hide(slot.into()));
        }
        if self.introduced && !self.replaced && self.seat.as_ref().is_none_or(Seat::is_last) {
            let ended = self.seat.as_ref().is_some_and(|seat| seat.look().1 == Stage::Gone);
            let why = if ended { "the process has ended" } else { "its connection has ended" };
            self.shown.gone(why, peer);
        }
    }

    /// The sample is complete. `wall`: the agent's times are of a wall clock.
    pub(crate) fn sample_ends(
        &mut self,
        now: Now,
        wall: bool,
        counters: &mut Counters,
        peer: &mut Peer,
    ) {
        self.introduce(counters, peer);
        for (item, number) in counters.take_named() {
            // A stream's counters reach them with its other figures.
            if self.way == Way::Module && (item != JIT_METHODS || self.feeds(Share::Methods)) {
                peer.set(item, number);
            }
        }
        self.values.extend(counters.take_pending().map(|(index, value)| (index.into(), value)));
        peer.sample(SAMPLE, now.wall, &self.values);
        // Between two samples there is nothing to keep.
        self.usual = self.values.len();
        self.drop_sample();
        peer.add(SAMPLES, 1);
        if self.program.is_some() {
            peer.row_add(PROGRAM_ROW, PROGRAM_SAMPLES, 1);
        }
        self.reads(peer);
        if wall {
            let sent = i128::from(self.stamp - UNIX_EPOCH_TICKS) * i128::from(TICK_NANOSECONDS);
            let skew = (now.wall.as_nanos() - sent).clamp(i64::MIN.into(), i64::MAX.into());
            peer.set(SKEW, i64::try_from(skew).unwrap_or_default());
        }
        let interval = self.before.and_then(|before| interval(before, self.stamp));
        if let Some(interval) = interval {
            let value = Value::U64(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX));
            peer.set(INTERVAL, value);
            peer.interval(interval);
        }
        self.before = Some(self.stamp);
        // The messages of a stream are its buffers.
        if self.way == Way::Module {
            self.message(peer);
        }
    }
}

/// The time between two stamps, unless a clock was set in between.
fn interval(before: i64, now: i64) -> Option<Duration> {
    let ticks = u64::try_from(now.checked_sub(before)?).ok()?;
    let interval = Duration::from_nanos(ticks.checked_mul(TICK_NANOSECONDS)?);
    (Duration::ZERO < interval && interval <= limits::INTERVAL).then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stepped_clocks_make_no_interval() {
        assert_eq!(interval(100, 10_000_100), Some(Duration::from_secs(1)));
        assert_eq!((interval(5, 5), interval(5, 4), interval(0, i64::MAX)), (None, None, None));
        assert_eq!(interval(0, 864_000_000_001), None);
    }
}
