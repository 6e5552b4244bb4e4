//! Where records are drawn: processes, and threads in them.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use crate::meaning::{Ids, Item};
use crate::model::{Instance, Origin, Record, Value};

use super::format::{Format, Track};
use super::lanes::Lanes;

/// Threads of a process, and its counters. What is on more threads is on one.
const MOST_THREADS: usize = 4096;
/// The name of the place for records that name no thread.
const NONE: &str = "spans";

/// What tells processes apart: source, instance, host.
type Key = (Box<str>, Box<str>, Arc<str>);

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) track: u32,
    id: u64,
    names: HashMap<Box<str>, u32>,
    numbers: HashMap<i64, u32>,
    counters: HashMap<Box<str>, u32>,
    /// Where its record before was.
    last: Option<(Value, u32)>,
}

/// What happens in order, or in lanes.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) process: usize,
    /// The track of its first lane.
    pub(super) home: u32,
    pub(super) lanes: Lanes,
    /// Its slices lie within those of the same trace only.
    pub(super) by_trace: bool,
    /// Slices were drawn whose ends were not.
    pub(super) touched: bool,
    id: u64,
    name: Box<str>,
    rank: u32,
}

/// All processes and threads.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) processes: Vec<Process>,
    pub(super) places: Vec<Place>,
    known: HashMap<Key, usize>,
    last: Option<(Arc<Origin>, usize)>,
    tracks: u32,
}

impl Places {
    /// The number of a record's process.
    pub(super) fn process(
        &mut self,
        origin: &Arc<Origin>,
        format: &mut impl Format,
    ) -> io::Result<usize> {
        if let Some((known, process)) = &self.last
            && Arc::ptr_eq(known, origin)
        {
            return Ok(*process);
        }
        let process = self.of(&origin.source, &origin.instance, format)?;
        self.last = Some((origin.clone(), process));
        Ok(process)
    }

    /// The number of the process that is an instance of a source.
    pub(super) fn of(
        &mut self,
        source: &str,
        instance: &Instance,
        format: &mut impl Format,
    ) -> io::Result<usize> {
        let Instance { name, host, .. } = instance;
        let key: Key = (source.into(), name.clone(), host.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let id = Ids::number(&["process", source, name, host]);
        let (track, number) = (self.next(), self.processes.len());
        let pid = u32::try_from(number + 1).unwrap_or(u32::MAX);
        format.track(track, id, &Track::Process { pid, name: &format!("{name} ({source})") })?;
        self.known.insert(key, number);
        self.processes.push(Process {
            pid,
            track,
            id,
            names: HashMap::new(),
            numbers: HashMap::new(),
            counters: HashMap::new(),
            last: None,
        });
        Ok(number)
    }

    /// The place of an item in its process.
    pub(super) fn place(
        &mut self,
        process: usize,
        item: &Item<'_>,
        format: &mut impl Format,
    ) -> io::Result<u32> {
        let record = item.record;
        if item.is_stop() {
            return self.named(process, "stops", "stops", 0, format);
        }
        let Some(key) = thread(record) else {
            let place = self.named(process, NONE, NONE, 1, format)?;
            if let Some(place) = self.get_mut(place) {
                place.by_trace = true;
            }
            return Ok(place);
        };
        let Some(of) = self.processes.get(process) else { return Ok(0) };
        if let Some((last, place)) = &of.last
            && last == key
        {
            return Ok(*place);
        }
        let number = number(key);
        let known = number.and_then(|number| of.numbers.get(&number).copied());
        let place = match (known, key) {
            (Some(known), _) => known,
            (None, Value::Text(text)) => {
                // A name is not a place of our own with that name.
                let key = format!("thread {text}");
                self.named(process, &key, text, 1, format)?
            }
            (None, _) => {
                let text = key.text();
                let name = thread_name(record, &text);
                let place = self.named(process, &format!("number {text}"), &name, 1, format)?;
                if let (Some(number), Some(of)) = (number, self.processes.get_mut(process))
                    && of.numbers.len() < MOST_THREADS
                {
                    of.numbers.insert(number, place);
                }
                place
            }
        };
        if let Some(of) = self.processes.get_mut(process) {
            of.last = Some((key.clone(), place));
        }
        Ok(place)
    }

    /// The place for trees of calls.
    pub(super) fn trees(&mut self, process: usize, format: &mut impl Format) -> io::Result<u32> {
        self.named(process, "call tree", "call tree", 2, format)
    }

    fn named(
        &mut self,
        process: usize,
        key: &str,
        name: &str,
        rank: u32,
        format: &mut impl Format,
    ) -> io::Result<u32> {
        let Some(of) = self.processes.get(process) else { return Ok(0) };
        if let Some(known) = of.names.get(key) {
            return Ok(*known);
        }
        let (key, name) = if of.names.len() < MOST_THREADS {
            (key, name)
        } else if let Some(known) = of.names.get("others") {
            return Ok(*known);
        } else {
            ("others", "other threads")
        };
        let id = Ids::number(&["thread", &of.id.to_string(), key]);
        let number = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let (pid, parent) = (of.pid, of.track);
        let home = self.next();
        format.track(home, id, &Track::Thread { pid, process: parent, name, rank })?;
        self.places.push(Place {
            process,
            home,
            lanes: Lanes::default(),
            by_trace: false,
            touched: false,
            id,
            name: name.into(),
            rank,
        });
        if let Some(of) = self.processes.get_mut(process) {
            of.names.insert(key.into(), number);
        }
        Ok(number)
    }

    /// Draws a slice in a lane of its place, with the ends that come before it; says on which track.
    pub(super) fn put(
        &mut self,
        place: u32,
        slice: (i64, i64, u32),
        format: &mut impl Format,
    ) -> io::Result<u32> {
        let Self { processes, places, tracks, .. } = self;
        let Some(place) = places.get_mut(place as usize) else { return Ok(0) };
        let Some(process) = processes.get(place.process) else { return Ok(0) };
        place.touched = true;
        let mut ends = Vec::new();
        let Place { lanes, home, id, name, rank, .. } = place;
        let track = lanes.put(
            slice,
            |track, at| {
                ends.push((track, at));
                Ok::<(), io::Error>(())
            },
            |lane| {
                if lane == 0 {
                    return Ok(*home);
                }
                let track = *tracks;
                *tracks += 1;
                let id = Ids::number(&["lane", &id.to_string(), &lane.to_string()]);
                let of =
                    Track::Thread { pid: process.pid, process: process.track, name, rank: *rank };
                format.track(track, id, &of)?;
                Ok(track)
            },
        )?;
        for (track, at) in ends {
            format.end(track, at)?;
        }
        Ok(track)
    }

    /// Draws the ends of all slices that were drawn.
    pub(super) fn close(&mut self, format: &mut impl Format) -> io::Result<()> {
        for place in self.places.iter_mut().filter(|place| place.touched) {
            place.touched = false;
            place.lanes.told(|track, at| format.end(track, at))?;
        }
        Ok(())
    }

    /// The track of a counter; `None`: there are too many.
    pub(super) fn counter(
        &mut self,
        process: usize,
        name: &str,
        unit: &str,
        format: &mut impl Format,
    ) -> io::Result<Option<u32>> {
        let Some(of) = self.processes.get(process) else { return Ok(None) };
        if let Some(known) = of.counters.get(name) {
            return Ok(Some(*known));
        }
        if of.counters.len() == MOST_THREADS {
            return Ok(None);
        }
        let id = Ids::number(&["counter", &of.id.to_string(), name]);
        let (pid, parent) = (of.pid, of.track);
        let track = self.next();
        format.track(track, id, &Track::Counter { pid, process: parent, name, unit })?;
        if let Some(of) = self.processes.get_mut(process) {
            of.counters.insert(name.into(), track);
        }
        Ok(Some(track))
    }

    pub(super) fn get(&self, place: u32) -> Option<&Place> {
        self.places.get(place as usize)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Place> {
        self.places.get_mut(place as usize)
    }

    fn next(&mut self) -> u32 {
        self.tracks += 1;
        self.tracks - 1
    }
}

/// What tells the threads of a process apart: a number before a name, because several may have one name.
fn thread(record: &Record) -> Option<&Value> {
    let lttng = ["ctx.vtid", "cpu", "stream"];
    let others = ["thread_id", "thread", "thread_name"];
    let names = if &*record.origin.source == "lttng" { lttng } else { others };
    names.iter().find_map(|name| {
        record.get(name).filter(|value| !matches!(value, Value::Text(text) if text.is_empty()))
    })
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Uint(number) => i64::try_from(*number).ok(),
        Value::Float(_) | Value::Text(_) => None,
    }
}

fn thread_name(record: &Record, number: &str) -> String {
    let text = |name| Some(record.text(name)).filter(|text| !text.is_empty());
    if &*record.origin.source == "lttng" {
        return match (text("ctx.vtid"), text("ctx.procname")) {
            (Some(thread), Some(program)) => format!("{program} {thread}"),
            (Some(thread), None) => thread.into_owned(),
            (None, _) => format!("cpu {number}"),
        };
    }
    let name = text("thread_name").or_else(|| text("thread").filter(|name| name != number));
    name.map_or_else(|| number.to_owned(), std::borrow::Cow::into_owned)
}
