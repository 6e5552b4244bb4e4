//! Perfetto's traces: packets of protobuf, one behind the other.
//!
//! What its reader does not tell: slices of a track that overlap get wrong ends; without "cleared" in the
//! first packet all are dropped; names whose numbers are not known are empty.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::meaning::Attribute;
use crate::proto::Proto;
use crate::timeline::{Format, Number, Said, Track};

/// Names of each kind that have a number. More are written out.
const MOST_NAMES: usize = 65_536;
/// Bytes that wait for the file.
const BLOCK: usize = 64 << 10;

/// All packets are of one sequence.
const SEQUENCE: u64 = 1;
/// Flags of a sequence: what was before is forgotten; what was before is needed.
const CLEARED: u64 = 1;
const NEEDS: u64 = 2;
/// Clocks: the time of day, and that of the trace. Both are the same here.
const REALTIME: u64 = 1;
const BOOTTIME: u64 = 6;
/// Types of events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// Children of a process have ranks.
const EXPLICIT: u64 = 3;

/// Names of a kind, by the field of `InternedData` that has them.
#[derive(Debug, Default)]
struct Names {
    field: u32,
    known: HashMap<Box<str>, u64>,
}

/// A trace as it is written.
#[derive(Debug)]
pub struct Perfetto<W> {
    file: W,
    waiting: Proto,
    events: Names,
    categories: Names,
    keys: Names,
    uuids: Vec<u64>,
    event: Proto,
}

impl<W: Write> Perfetto<W> {
    /// Writes to a file.
    pub fn new(file: W) -> Self {
        let names = |field| Names { field, known: HashMap::new() };
        Self {
            file,
            waiting: Proto::default(),
            categories: names(1),
            events: names(2),
            keys: names(3),
            uuids: Vec::new(),
            event: Proto::default(),
        }
    }

    fn packet(&mut self, at: Option<i64>, write: impl FnOnce(&mut Proto)) -> io::Result<()> {
        packet(&mut self.waiting, at, NEEDS, write);
        if self.waiting.len() >= BLOCK { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write_all(self.waiting.as_bytes())?;
        self.waiting.clear();
        Ok(())
    }

    fn event(
        &mut self,
        (kind, track): (u64, u32),
        at: i64,
        said: &[u8],
        more: impl FnOnce(&mut Proto),
    ) -> io::Result<()> {
        let uuid = self.uuid(track);
        self.packet(Some(at), |packet| {
            packet.message(11, |event| {
                event.uint(9, kind);
                event.uint(11, uuid);
                event.encoded(said);
                more(event);
            });
        })
    }

    fn uuid(&self, track: u32) -> u64 {
        self.uuids.get(track as usize).copied().unwrap_or(0)
    }
}

fn packet(out: &mut Proto, at: Option<i64>, flags: u64, write: impl FnOnce(&mut Proto)) {
    out.message(1, |packet| {
        if let Some(at) = at {
            packet.uint(8, at.max(0).unsigned_abs());
        }
        packet.uint(10, SEQUENCE);
        packet.uint(13, flags);
        write(packet);
    });
}

fn flow_ids(out: &mut Proto, flows: &[u64]) {
    for flow in flows {
        out.fixed64(47, *flow);
    }
}

impl Names {
    /// The number of a name, which is written before its first use; `None`: it has none.
    fn number(&mut self, name: &str, out: &mut Proto) -> Option<u64> {
        if let Some(known) = self.known.get(name) {
            return Some(*known);
        }
        if self.known.len() == MOST_NAMES {
            return None;
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(name.into(), number);
        packet(out, None, NEEDS, |packet| {
            packet.message(12, |names| {
                names.message(self.field, |one| {
                    one.uint(1, number);
                    one.text(2, name);
                });
            });
        });
        Some(number)
    }

    /// Writes a name: its number, else itself.
    fn put(
        &mut self,
        name: &str,
        (by_number, itself): (u32, u32),
        event: &mut Proto,
        out: &mut Proto,
    ) {
        match self.number(name, out) {
            Some(number) => event.uint(by_number, number),
            None => event.text(itself, name),
        }
    }
}

impl<W: Write> Format for Perfetto<W> {
    fn start(&mut self, first: i64) -> io::Result<()> {
        packet(&mut self.waiting, Some(first), CLEARED | NEEDS, |packet| {
            packet.message(6, |snapshot| {
                for clock in [BOOTTIME, REALTIME] {
                    snapshot.message(1, |out| {
                        out.uint(1, clock);
                        out.uint(2, first.unsigned_abs());
                    });
                }
                snapshot.uint(2, BOOTTIME);
            });
        });
        Ok(())
    }

    fn track(&mut self, _number: u32, id: u64, track: &Track<'_>) -> io::Result<()> {
        let parent = match track {
            Track::Process { .. } => None,
            Track::Thread { process, .. } | Track::Counter { process, .. } => {
                Some(self.uuid(*process))
            }
        };
        self.uuids.push(id);
        self.packet(None, |packet| {
            packet.message(60, |out| {
                out.uint(1, id);
                if let Some(parent) = parent {
                    out.uint(5, parent);
                }
                match track {
                    Track::Process { pid, name } => {
                        out.message(3, |process| {
                            process.uint(1, u64::from(*pid));
                            process.text(6, name);
                        });
                        out.uint(11, EXPLICIT);
                    }
                    Track::Thread { name, rank, .. } => {
                        out.text(2, name);
                        out.uint(12, u64::from(*rank));
                    }
                    Track::Counter { name, unit, .. } => {
                        out.text(2, name);
                        out.message(8, |counter| match *unit {
                            "" => {}
                            "nanosec" => counter.uint(3, 1),
                            "count" => counter.uint(3, 2),
                            "byte" => counter.uint(3, 3),
                            unit => counter.text(6, unit),
                        });
                        out.uint(12, 3);
                    }
                }
            });
        })
    }

    fn encode(&mut self, said: &Said<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { events, categories, keys, event, waiting, .. } = self;
        event.clear();
        events.put(said.name, (10, 23), event, waiting);
        categories.put(said.category, (3, 22), event, waiting);
        for (name, value) in said.attributes.iter() {
            event.message(4, |one| {
                keys.put(name, (1, 10), one, waiting);
                match value {
                    Attribute::Text(text) => one.text(6, text),
                    Attribute::Int(number) => one.int(4, *number),
                    Attribute::Float(number) => one.double(5, *number),
                    Attribute::Bool(is_so) => one.bool(2, *is_so),
                }
            });
        }
        if let Some(trace) = said.trace {
            event.text(53, &trace.to_string());
        }
        out.extend_from_slice(event.as_bytes());
        Ok(())
    }

    fn begin(
        &mut self,
        track: u32,
        (start, _): (i64, i64),
        said: &[u8],
        flows: &[u64],
    ) -> io::Result<()> {
        self.event((BEGIN, track), start, said, |event| flow_ids(event, flows))
    }

    fn end(&mut self, track: u32, at: i64) -> io::Result<()> {
        self.event((END, track), at, &[], |_| {})
    }

    fn instant(&mut self, track: u32, at: i64, said: &[u8], flows: &[u64]) -> io::Result<()> {
        self.event((INSTANT, track), at, said, |event| flow_ids(event, flows))
    }

    fn counter(&mut self, track: u32, at: i64, value: Number) -> io::Result<()> {
        self.event((COUNTER, track), at, &[], |event| match value {
            Number::Int(number) => event.int(30, number),
            Number::Float(number) => event.double(44, number),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.file.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}
