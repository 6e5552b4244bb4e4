//! Helpers of the tests: streams as an agent writes them, and a peer that keeps what is said of it.

use std::time::Duration;

use bytes::BytesMut;

use super::Mono;
use super::agent::{Inspector, Settings};
use super::counters::identity::Origin;
use crate::contract::{Control, Recorded, Session, SessionError};
use crate::model::{ControlId, Now, Stamp};
use crate::read::Order;
use crate::sources::Source;

/// 2014-03-22 22:13:20 UTC in the agents' clock.
pub(super) const T0: i64 = 130_400_000_000_000_000;
pub(super) const SECOND: i64 = 10_000_000;
pub(super) const GC: u32 = 1 << 9;
pub(super) const SYSTEM: u32 = 1 << 14;
pub(super) const RUNTIME: u32 = 1 << 13;
pub(super) const MONOTONIC: u32 = 1 << 28;
pub(super) const CONSTANT: u32 = 1 << 29;

/// Category, name, type, unit, variance, index.
pub(super) type Row<'a> = (u32, &'a str, u32, u32, u32, i16);

/// A counter of today: INT RAW MONOTONIC in GC.
pub(super) const fn gc(name: &str, index: i16) -> Row<'_> {
    (GC, name, 0, 0, MONOTONIC, index)
}

/// A counter of 2014: INT NONE MONOTONIC in GC.
pub(super) const fn gc_2014(name: &str, index: i16) -> Row<'_> {
    (1, name, 0, 0, 2, index)
}

/// Writes a stream.
pub(super) struct Agent {
    pub(super) order: Order,
    pub(super) bytes: Vec<u8>,
}

macro_rules! integers {
    ($($name:ident $ty:ty),*) => {$(
        pub(super) fn $name(mut self, v: $ty) -> Self {
            self.bytes.extend_from_slice(&if self.order == Order::Little { v.to_le_bytes() } else { v.to_be_bytes() });
            self
        }
    )*};
}

impl Agent {
    pub(super) const fn new(order: Order) -> Self {
        Self { order, bytes: Vec::new() }
    }

    pub(super) const fn little() -> Self {
        Self::new(Order::Little)
    }

    integers!(byte u8, short i16, int i32, long i64);

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(super) fn string(self, s: &str) -> Self {
        self.int(i32::try_from(s.len()).unwrap_or(-2)).raw(s.as_bytes())
    }

    pub(super) fn header(self, (category, name, kind, unit, variance, index): Row<'_>) -> Self {
        let word = |n: u32| n.cast_signed();
        self.int(word(category))
            .string(name)
            .int(word(kind))
            .int(word(unit))
            .int(word(variance))
            .short(index)
    }

    pub(super) fn headers(self, rows: &[Row<'_>]) -> Self {
        let count = self.short(i16::try_from(rows.len()).unwrap_or(-2));
        rows.iter().fold(count, |w, row| w.header(*row))
    }

    pub(super) fn hello(self, rows: &[Row<'_>]) -> Self {
        self.byte(0).short(1).headers(rows)
    }

    /// A value whose size field is the number of its bytes.
    pub(super) fn value(self, index: i16, bytes: &[u8]) -> Self {
        self.short(index).short(i16::try_from(bytes.len()).unwrap_or(-2)).raw(bytes)
    }

    /// A value of 4 bytes.
    pub(super) fn number(self, index: i16, v: i32) -> Self {
        self.short(index).short(4).int(v)
    }

    /// A value of 4 bytes with size field 0, as agents of 2014 send it on big-endian hosts.
    pub(super) fn unsaid(self, index: i16, v: i32) -> Self {
        self.short(index).short(0).int(v)
    }

    /// Begins a Sampling message; [`Self::end`] ends it.
    pub(super) fn sample(self, time: i64) -> Self {
        self.byte(4).long(time)
    }

    pub(super) fn end(self) -> Self {
        self.short(-1)
    }

    /// A List response: pairs in the order of the wire.
    pub(super) fn list(self, pairs: &[(&str, &str)]) -> Self {
        pairs.iter().fold(self.byte(1), |w, (a, b)| w.string(a).string(b)).int(-1)
    }

    pub(super) fn added(self, row: Row<'_>) -> Self {
        self.byte(2).byte(0).header(row)
    }
}

/// A peer that keeps each update as a line.
pub(super) fn recorded() -> Recorded {
    Recorded::new(&Mono::TABLE).with_lines()
}

/// A session with its input and outputs.
pub(super) struct Harness {
    pub(super) inspector: Inspector,
    pub(super) told: Recorded,
    pub(super) out: BytesMut,
    pub(super) now: Now,
    input: BytesMut,
}

impl Harness {
    pub(super) fn new(settings: Settings) -> Self {
        let peer = Origin {
            address: "127.0.0.1:50123".into(),
            fallback: "127.0.0.1#1".into(),
            host: None,
            process: None,
        };
        Self {
            inspector: Inspector::new(peer, settings),
            told: recorded(),
            out: BytesMut::new(),
            // Half a second after T0.
            now: Now {
                wall: Stamp { sec: 1_395_526_400, nsec: 500_000_000 },
                monotonic: Duration::from_secs(100),
            },
            input: BytesMut::new(),
        }
    }

    pub(super) fn feed(&mut self, agent: Agent) -> Result<(), SessionError> {
        self.input.extend_from_slice(&agent.bytes);
        self.inspector.feed(self.now, &mut self.input, &mut self.out, &mut self.told)
    }

    pub(super) fn tick(&mut self, later: u64) -> Result<(), SessionError> {
        self.now.monotonic += Duration::from_secs(later);
        self.inspector.tick(self.now, &mut self.out, &mut self.told)
    }

    pub(super) fn control(&mut self, control: &Control) -> Result<(), SessionError> {
        self.inspector.control(self.now, control, &mut self.out, &mut self.told)
    }

    pub(super) fn request(&mut self, control: ControlId, text: &str) {
        assert_eq!(self.control(&Control::Request(control, text.into())), Ok(()));
    }

    /// The bytes sent since the last call.
    pub(super) fn sent(&mut self) -> Vec<u8> {
        self.out.split().to_vec()
    }

    /// The lines since the last call that begin with one of `kinds`.
    pub(super) fn lines(&mut self, kinds: &[&str]) -> Vec<String> {
        let lines = std::mem::take(&mut self.told.log_mut().lines);
        lines.into_iter().filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
    }
}

/// The name of a control.
pub(super) fn word(control: ControlId) -> &'static str {
    super::metrics::CONTROLS.get(control.index()).map_or("unknown", |c| c.name)
}
