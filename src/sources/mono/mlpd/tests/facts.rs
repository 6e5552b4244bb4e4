//! What the events of a stream say, computed as the independent decoder in Python does it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::sources::mono::mlpd::{
    Act, BadBuffer, Buffer, Event, Header, Value, Visitor, gc, monitor,
};

type Counts<K> = HashMap<K, u64>;

/// One stop of the world.
#[derive(Clone, Debug, Default)]
pub(super) struct Pause {
    pub(super) start: u64,
    pub(super) ns: u64,
    pub(super) stopping: u64,
    pub(super) kind: &'static str,
}

/// Collections of one thread.
#[derive(Default)]
struct Collector {
    stop: Option<u64>,
    stopped: Option<u64>,
    starts: Vec<u8>,
    ends: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Shot {
    pub(super) time: u64,
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) by_vtable: Counts<u64>,
}

/// All facts of one stream.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) header: Header,
    pub(super) buffers: u64,
    pub(super) bad: Vec<BadBuffer>,
    pub(super) threads: BTreeSet<u64>,
    pub(super) events: BTreeMap<&'static str, u64>,
    /// The name of the event that was handed over last, for its size.
    pub(super) last: Option<&'static str>,
    pub(super) first_time: Option<u64>,
    pub(super) last_time: u64,
    pub(super) before_base: u64,
    pub(super) backwards: u64,
    by_thread: HashMap<u64, u64>,
    pub(super) sync: BTreeMap<&'static str, u64>,
    pub(super) names: BTreeMap<&'static str, Vec<String>>,
    pub(super) gc_events: BTreeMap<&'static str, u64>,
    pub(super) gc_own: BTreeMap<u8, u64>,
    /// Starts and ends of collections: time, generation, whether it is an end. A concurrent one ends on another thread.
    gc_marks: Vec<(u64, u8, bool)>,
    collectors: HashMap<u64, Collector>,
    pub(super) pauses: Vec<Pause>,
    pub(super) profiler_gone: Option<u64>,
    profiler_threads: BTreeSet<u64>,
    pub(super) resizes: Vec<u64>,
    pub(super) moves: u64,
    pub(super) finalized: u64,
    pub(super) handles: BTreeMap<String, u64>,
    pub(super) roots: u64,
    pub(super) throws: u64,
    pub(super) throw_site: Counts<Option<u64>>,
    pub(super) throw_class: Counts<Option<u64>>,
    pub(super) clauses: BTreeMap<&'static str, u64>,
    pub(super) monitors: BTreeMap<&'static str, u64>,
    pub(super) open: HashMap<u64, (u64, Option<u64>)>,
    pub(super) wait: u64,
    pub(super) wait_max: u64,
    pub(super) locks: BTreeSet<u64>,
    pub(super) wait_site: Counts<Option<u64>>,
    pub(super) wait_site_ns: Counts<Option<u64>>,
    pub(super) methods: HashMap<u64, String>,
    pub(super) named: u64,
    pub(super) named_again: u64,
    pub(super) odd_sizes: u64,
    pub(super) code: u64,
    pub(super) dynamic: u64,
    pub(super) helper_bytes: u64,
    pub(super) helpers: u64,
    pub(super) allocs: Counts<u64>,
    pub(super) alloc_bytes: Counts<u64>,
    objects: HashMap<u64, u64>,
    classes: HashMap<u64, String>,
    vtables: HashMap<u64, u64>,
    pub(super) calls: BTreeMap<&'static str, Counts<u64>>,
    pub(super) hits: u64,
    pub(super) native: u64,
    pub(super) stacks: BTreeSet<Vec<u64>>,
    pub(super) self_hits: Counts<u64>,
    pub(super) total_hits: Counts<u64>,
    pub(super) symbols: BTreeSet<u64>,
    pub(super) shots: Vec<Shot>,
    pub(super) counters: BTreeMap<u64, (u64, String)>,
    pub(super) counters_described: u64,
    pub(super) samples: Vec<u64>,
    pub(super) values: BTreeMap<u64, Last>,
    buffer: Buffer,
}

/// A counter's last value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Last {
    Integer(i128),
    Double(f64),
    Text(Option<String>),
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const fn act(act: Act, names: [&'static str; 3]) -> &'static str {
    match act {
        Act::Load => names[0],
        Act::Unload => names[1],
        Act::Name => names[2],
    }
}

/// The oracle's name of an event.
#[rustfmt::skip]
fn kind(event: &Event<'_>) -> &'static str {
    match *event {
        Event::Alloc { .. } => "alloc", Event::Gc { .. } => "gc", Event::HeapResize { .. } => "gc_resize",
        Event::Moves { .. } => "gc_move", Event::HandleCreated { .. } => "handle_created",
        Event::HandleDestroyed { .. } => "handle_destroyed", Event::FinalizersStart => "finalize_start",
        Event::FinalizersEnd => "finalize_end", Event::FinalizeStart { .. } => "finalize_object_start",
        Event::FinalizeEnd { .. } => "finalize_object_end",
        Event::Class { act: a, .. } => act(a, ["load_class", "unload_class", "name_class"]),
        Event::Image { act: a, .. } => act(a, ["load_image", "unload_image", "name_image"]),
        Event::Assembly { act: a, .. } => act(a, ["load_assembly", "unload_assembly", "name_assembly"]),
        Event::Domain { act: a, .. } => act(a, ["load_domain", "unload_domain", "name_domain"]),
        Event::Thread { act: a, .. } => act(a, ["load_thread", "unload_thread", "name_thread"]),
        Event::Context { act: a, .. } => act(a, ["load_context", "unload_context", "name_context"]),
        Event::Vtable { act: a, .. } => act(a, ["load_vtable", "unload_vtable", "name_vtable"]),
        Event::Enter { .. } => "enter", Event::Leave { .. } => "leave",
        Event::ExceptionLeave { .. } => "exc_leave", Event::Method { .. } => "jit",
        Event::Throw { .. } => "throw", Event::Clause { .. } => "clause",
        Event::Monitor { .. } => "monitor", Event::HeapStart => "heap_start",
        Event::HeapEnd => "heap_end", Event::HeapObject { .. } => "heap_object",
        Event::Roots { .. } | Event::Root { .. } => "heap_roots",
        Event::RootRegister { .. } => "root_register",
        Event::RootUnregister { .. } => "root_unregister", Event::Hit { .. } => "hit",
        Event::NativeSymbol { .. } => "usym", Event::NativeBinary { .. } => "ubin",
        Event::Counters { .. } | Event::Counter(_) => "counters_desc",
        Event::Sample | Event::Value { .. } | Event::SampleEnd => "counters",
        Event::CodeBuffer { .. } => "code_buffer", Event::Coverage => "coverage",
        Event::Sync { .. } => "sync", Event::AotId { .. } => "aot_id", Event::Move { .. } => "gc_move",
    }
}

/// Runtime's own words for events of a collection.
const GC: [&str; 12] = [
    "start",
    "mark_start",
    "mark_end",
    "reclaim_start",
    "reclaim_end",
    "end",
    "pre_stop_world",
    "post_stop_world",
    "pre_start_world",
    "post_start_world",
    "pre_stop_world_locked",
    "post_start_world_unlocked",
];

impl Facts {
    pub(super) fn method(&self, id: Option<u64>) -> String {
        match id {
            None => "[null]".to_owned(),
            Some(id) => self.methods.get(&id).map_or("?", String::as_str).to_owned(),
        }
    }

    pub(super) fn class(&self, vtable: Option<u64>) -> String {
        let class = match vtable {
            Some(vtable) if self.header.version >= 15 => self.vtables.get(&vtable),
            _ => vtable.as_ref(),
        };
        class.and_then(|class| self.classes.get(class)).map_or("?", String::as_str).to_owned()
    }

    /// Time of collections by generation: each end and the start before it, on whatever thread.
    pub(super) fn gc_time(&self) -> BTreeMap<u8, u64> {
        let mut marks = self.gc_marks.clone();
        marks.sort_unstable();
        let (mut started, mut times) = (HashMap::new(), BTreeMap::new());
        for (time, generation, end) in marks {
            if end {
                let start = started.remove(&generation).unwrap_or(time);
                *times.entry(generation).or_default() += time - start;
            } else {
                started.insert(generation, time);
            }
        }
        times
    }

    fn gc(&mut self, time: u64, event: u8, generation: u8) {
        *self.gc_events.entry(GC[usize::from(event)]).or_default() += 1;
        let c = self.collectors.entry(self.buffer.thread).or_default();
        match event {
            gc::START => {
                *self.gc_own.entry(generation).or_default() += 1;
                c.starts.push(generation);
                self.gc_marks.push((time, generation, false));
            }
            gc::END => {
                self.gc_marks.push((time, generation, true));
                c.ends.push(generation);
            }
            gc::PRE_STOP_WORLD_LOCKED => {
                c.stop = Some(time);
                c.starts.clear();
                c.ends.clear();
            }
            gc::POST_STOP_WORLD => c.stopped = Some(time),
            gc::POST_START_WORLD_UNLOCKED => {
                let Some(start) = c.stop.take() else { return };
                let kind = match (c.starts.contains(&1), c.ends.contains(&1)) {
                    (true, true) => "major",
                    (true, false) => "major_concurrent_start",
                    (false, true) => "major_concurrent_finish",
                    (false, false) if c.starts.contains(&0) => "minor",
                    (false, false) => "none",
                };
                let stopping = c.stopped.unwrap_or(time) - start;
                self.pauses.push(Pause { start, ns: time - start, stopping, kind });
            }
            _ => {}
        }
    }

    fn monitor(&mut self, time: u64, event: u8, object: u64, frames: &[u64]) {
        let name = ["?", "contention", "done", "fail"][usize::from(event)];
        *self.monitors.entry(name).or_default() += 1;
        let ours = |method: &u64| {
            let name = self.methods.get(method).map_or("?", String::as_str);
            !name.starts_with("System.Threading.Monitor:") && !name.starts_with("(wrapper ")
                || name.contains("synchronized")
        };
        let site = frames.iter().rev().copied().find(ours);
        if event == monitor::CONTENTION {
            self.open.insert(self.buffer.thread, (time, site));
            self.locks.insert(object);
            *self.wait_site.entry(site).or_default() += 1;
        } else if let Some((start, site)) = self.open.remove(&self.buffer.thread) {
            self.wait += time - start;
            self.wait_max = self.wait_max.max(time - start);
            *self.wait_site_ns.entry(site).or_default() += time - start;
        }
    }

    fn value(&mut self, index: u64, kind: u64, value: Value<'_>) {
        let new = match value {
            Value::Signed(value) => Last::Integer(value.into()),
            Value::Unsigned(value) => Last::Integer(value.into()),
            Value::Double(value) => Last::Double(value),
            Value::Text(value) => Last::Text(value.map(text)),
        };
        let user = self.counters.get(&index).is_some_and(|(section, _)| *section == 0x8000);
        let Last::Integer(difference) = new else {
            self.values.insert(index, new);
            return;
        };
        let sum = match self.values.get(&index) {
            Some(Last::Integer(before)) if !user => match kind {
                1 => (before + difference) & 0xffff_ffff,
                4 => (before + difference) & i128::from(u64::MAX),
                _ => before + difference,
            },
            _ => difference,
        };
        self.values.insert(index, Last::Integer(sum));
    }

    fn hit(&mut self, ips: &[u64], frames: &[u64]) {
        self.hits += 1;
        if frames.is_empty() {
            self.native += 1;
            self.stacks.insert(vec![u64::MAX, ips.first().copied().unwrap_or(0)]);
            return;
        }
        *self.self_hits.entry(frames[0]).or_default() += 1;
        self.stacks.insert(frames.to_vec());
        for method in frames.iter().collect::<BTreeSet<_>>() {
            *self.total_hits.entry(*method).or_default() += 1;
        }
    }
}

impl Visitor for Facts {
    fn header(&mut self, header: &Header) {
        self.header = header.clone();
    }

    fn buffer(&mut self, buffer: &Buffer) {
        self.buffers += 1;
        self.threads.insert(buffer.thread);
        self.buffer = *buffer;
    }

    fn bad(&mut self, reason: BadBuffer, _lost: u64) {
        self.bad.push(reason);
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        let name = kind(&event);
        if !event.is_item() {
            *self.events.entry(name).or_default() += 1;
            self.last = Some(name);
            self.before_base += u64::from(time < self.buffer.time);
            let before = self.by_thread.insert(self.buffer.thread, time);
            self.backwards += u64::from(before.is_some_and(|before| time < before));
            self.first_time = Some(self.first_time.map_or(time, |first| first.min(time)));
            self.last_time = self.last_time.max(time);
        }
        match event {
            Event::Alloc { vtable, object, size, .. } => {
                *self.allocs.entry(vtable).or_default() += 1;
                *self.alloc_bytes.entry(vtable).or_default() += size;
                self.objects.insert(object, vtable);
            }
            Event::Gc { event, generation } => self.gc(time, event, generation),
            Event::HeapResize { size } => self.resizes.push(size),
            Event::Move { from, to } => {
                self.moves += 1;
                // The captures move no object onto one that moves later in the same event.
                if let Some(vtable) = self.objects.remove(&from) {
                    self.objects.insert(to, vtable);
                }
            }
            Event::HandleCreated { kind, .. } => {
                *self.handles.entry(format!("handle_created:{kind}")).or_default() += 1;
            }
            Event::HandleDestroyed { kind, .. } => {
                *self.handles.entry(format!("handle_destroyed:{kind}")).or_default() += 1;
            }
            Event::FinalizeEnd { .. } => self.finalized += 1,
            Event::Class { act: Act::Load, id, name, .. } => {
                self.classes.insert(id, text(name));
            }
            Event::Vtable { act: Act::Load, id, class, .. } => {
                self.vtables.insert(id, class);
            }
            Event::Assembly { act: Act::Load, name, .. } => {
                self.names.entry("assembly").or_default().push(text(name));
            }
            Event::Domain { act: Act::Name, name, .. } => {
                self.names.entry("domain").or_default().push(text(name));
            }
            Event::Thread { act: Act::Name, id, name } => {
                self.names.entry("thread").or_default().push(text(name));
                if name.starts_with(b"Profiler ") {
                    self.profiler_threads.insert(id);
                } else {
                    self.profiler_threads.remove(&id);
                }
            }
            Event::Thread { act: Act::Unload, id, .. } if self.profiler_threads.contains(&id) => {
                self.profiler_gone = Some(self.profiler_gone.map_or(time, |gone| gone.min(time)));
            }
            Event::Enter { method }
            | Event::Leave { method }
            | Event::ExceptionLeave { method } => {
                *self.calls.entry(name).or_default().entry(method).or_default() += 1;
            }
            Event::Method { method, size, name, .. } => {
                let name = text(name);
                self.named += 1;
                self.odd_sizes += u64::from(size.is_none());
                self.code += u64::from(size.unwrap_or(0));
                let dynamic = name.contains("(dynamic") || name.contains("wrapper dynamic-method");
                self.dynamic += u64::from(dynamic);
                self.named_again += u64::from(self.methods.insert(method, name).is_some());
            }
            Event::Throw { object, frames } => {
                self.throws += 1;
                *self.throw_site.entry(frames.last().copied()).or_default() += 1;
                *self.throw_class.entry(self.objects.get(&object).copied()).or_default() += 1;
            }
            Event::Clause { kind, .. } => {
                let name = ["catch", "filter", "finally", "?", "fault"][usize::from(kind)];
                *self.clauses.entry(name).or_default() += 1;
            }
            Event::Monitor { event, object, frames } => self.monitor(time, event, object, frames),
            Event::HeapStart => self.shots.push(Shot { time, ..Shot::default() }),
            Event::HeapObject { object, vtable, size, .. } => {
                let shot = self.shots.last_mut().unwrap();
                if size > 0 {
                    shot.objects += 1;
                    shot.bytes += size;
                    *shot.by_vtable.entry(vtable).or_default() += size;
                }
                self.objects.insert(object, vtable);
            }
            Event::Root { .. } => self.roots += 1,
            Event::Hit { ips, frames, .. } => self.hit(ips, frames),
            Event::NativeSymbol { address, .. } => {
                self.symbols.insert(address);
            }
            Event::Counters { .. } => self.counters_described += 1,
            Event::Counter(c) => {
                let section = match c.section {
                    0x100 => "JIT",
                    0x200 => "GC",
                    0x400 => "Metadata",
                    0x800 => "Generics",
                    0x1000 => "Security",
                    0x2000 => "Runtime",
                    0x4000 => "System",
                    0x10000 => "Profiler",
                    0x20000 => "Interp",
                    _ => "",
                };
                let category = if c.category.is_empty() { section } else { &text(c.category) };
                let name = format!("{category}/{}", text(c.name));
                self.counters.insert(c.index, (c.section, name));
            }
            Event::Sample => self.samples.push(time),
            Event::Value { index, kind, value } => self.value(index, kind, value),
            Event::CodeBuffer { size, .. } => {
                self.helpers += 1;
                self.helper_bytes += size;
            }
            Event::Sync { kind } => {
                let name = ["periodic", "world_stop", "world_start"][usize::from(kind)];
                *self.sync.entry(name).or_default() += 1;
            }
            _ => {}
        }
    }
}
