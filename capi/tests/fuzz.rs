//! Random sequences of the queue calls on both libraries at once, and on a model of the behaviour
//! in docs/design.md: statuses against libpcp_pmda, everything else against the model. Then sequences
//! whose callbacks call back.
//!
//! `APM_FUZZ_SEQUENCES` (how many), `APM_FUZZ_SEED`; `APM_CAPI` is a libpmdaevent.so to test in
//! place of the linked library.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::multiple_unsafe_ops_per_block,
    clippy::vec_box,
    missing_docs,
    reason = "a test of a C boundary"
)]

mod common;
#[path = "fuzz/side.rs"]
mod side;
#[path = "fuzz/wild.rs"]
mod wild;

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use common::model::{EINVAL, Queue};
use common::{Api, bytes};
use libc::timeval;
use pmdaevent::AtomValue;
use side::{Rng, Side, add, drops, fails, shown};

const ENODATA: c_int = -61;
const CONTEXTS: i32 = 5;
const QUEUES: usize = 3;
/// Names that libpcp_pmda's queues point to until the process ends; kept in a static, so that leak
/// checkers find them.
static KEPT: OnceLock<Vec<Vec<CString>>> = OnceLock::new();

#[derive(Default)]
struct Counts {
    calls: u64,
    fetches: u64,
    missed: u64,
    failures: u64,
    diverged: u64,
}

/// One sequence on both libraries and the model.
struct Sequence<'a> {
    rng: Rng,
    ours: Side<'a>,
    /// Used until its queues differ from ours.
    theirs: Option<Side<'a>>,
    /// Used after that: libpcp_pmda still has its filters.
    diverged: Option<Side<'a>>,
    names: Vec<CString>,
    queues: [Option<Queue>; QUEUES],
    clients: Vec<Option<i32>>,
    /// Expected number of releases of each of our filters.
    released: Vec<u32>,
    events: u64,
}

impl Sequence<'_> {
    fn knows(&self, context: i32) -> bool {
        self.clients.contains(&Some(context))
    }

    fn same(&self, what: &str, ours: c_int, theirs: impl Fn(&Side<'_>) -> c_int) {
        if let Some(side) = &self.theirs {
            assert_eq!(ours, theirs(side), "{what}: ours, theirs");
        }
    }

    fn event(&mut self) -> Vec<u8> {
        self.events += 1;
        let len = match self.rng.below(12) {
            0 => 0,
            1 => 90 + self.rng.below(30),
            2 if self.rng.one_in(8) => 20_000 + self.rng.below(3000),
            _ => self.rng.below(40),
        };
        let mut event = vec![self.rng.next() as u8; len as usize];
        event.iter_mut().skip(1).zip(self.events.to_le_bytes()).for_each(|(to, from)| *to = from);
        event
    }

    fn open(&mut self, queue: usize, active: bool) {
        let max = [1, 30, 100, 1000, 60_000][self.rng.below(5) as usize];
        let clients = if active { self.rng.below(4) as c_uint } else { 0 };
        let name = self.names[queue].as_ptr();
        // SAFETY: a C string that lives as long as a library may point to it.
        let new = |api: &Api| unsafe { (api.pmdaEventNewActiveQueue)(name, max, clients) };
        let handle = new(self.ours.api);
        // Handles can differ: libpcp_pmda keeps queues of earlier sequences.
        let other = self.theirs.as_ref().map(|side| new(side.api));
        assert_eq!(other.unwrap_or(handle).min(0), handle.min(0), "new queue: theirs, ours");
        if self.queues[queue].is_some() {
            assert_eq!(handle, -libc::EEXIST);
            return;
        }
        assert!(handle >= 0, "new queue: {handle}");
        self.ours.handles[queue] = handle;
        if let Some(side) = &mut self.theirs {
            side.handles[queue] = other.unwrap_or(-1);
        }
        let contexts: Vec<i32> = self.clients.iter().flatten().copied().collect();
        self.queues[queue] = Some(Queue::new(max, clients, &contexts));
    }

    fn forget(&mut self, filter: Option<usize>) {
        if let Some(number) = filter {
            self.released[number] += 1;
        }
    }

    /// A queue is removed, and with it the filters of its clients.
    fn gone(&mut self, queue: usize) {
        let Some(gone) = self.queues[queue].take() else { return };
        // The number may soon belong to another queue.
        self.ours.handles[queue] = -1;
        self.theirs.iter_mut().for_each(|side| side.handles[queue] = -1);
        gone.readers.values().for_each(|reader| self.forget(reader.filter));
    }

    fn end(&mut self, context: i32) {
        let ours = (self.ours.api.pmdaEventEndClient)(context);
        self.same("end", ours, |side| (side.api.pmdaEventEndClient)(context));
        let Some(place) = self.clients.iter_mut().find(|c| **c == Some(context)) else { return };
        *place = None;
        let last = self.clients.iter().flatten().next().is_none();
        for n in 0..QUEUES {
            let Some(queue) = &mut self.queues[n] else { continue };
            let (filter, goes) = queue.leave(context, last);
            self.forget(filter);
            if goes {
                self.gone(n);
            }
        }
        self.alive();
    }

    /// libpcp_pmda keeps a queue that was shut down while clients are announced: after that only
    /// the model is compared.
    fn alive(&mut self) -> bool {
        for (n, name) in self.names.iter().enumerate() {
            let found = |api: &Api| {
                // SAFETY: a C string.
                unsafe { (api.pmdaEventQueueHandle)(name.as_ptr()) }
            };
            let ours = found(self.ours.api);
            assert_eq!(ours >= 0, self.queues[n].is_some());
            if self.theirs.as_ref().is_some_and(|side| (found(side.api) < 0) != (ours < 0)) {
                self.diverged = self.theirs.take();
                return false;
            }
        }
        true
    }

    fn request(&mut self, context: i32, counts: &mut Counts) {
        let mut delivered = Vec::new();
        for _ in 0..=self.rng.below(3) {
            let (queue, failing) =
                (self.rng.below(QUEUES as u64) as usize, self.rng.below(12) as u8);
            let failing = if failing < 8 { failing } else { 0 };
            let (status, array) = self.ours.fetch(queue, context, failing);
            let known = self.knows(context);
            let Some(model) = self.queues[queue].as_mut().filter(|_| known) else {
                assert_eq!(status, EINVAL);
                self.same("fetch of nothing", status, |side| side.fetch(queue, context, failing).0);
                continue;
            };
            let want = model.fetch(context, drops, |event| fails(failing, event));
            counts.fetches += 1;
            counts.missed += want.missed;
            counts.failures += u64::from(want.status == ENODATA);
            assert_eq!(status, want.status);
            if status == 1 {
                let all = bytes(array);
                assert_eq!(shown(&all), (want.events, want.missed));
                delivered.push((array, all));
            }
            if let Some(side) = &self.theirs {
                let (status, array) = side.fetch(queue, context, failing);
                assert!(status == 0 || status == ENODATA || status == 1, "theirs: {status}");
                assert!(status != 1 || !bytes(array).is_empty());
            }
        }
        for (array, all) in delivered {
            assert_eq!(bytes(array), all, "what was delivered stays until the next request");
        }
    }

    fn step(&mut self, active: bool, counts: &mut Counts) {
        counts.calls += 1;
        let (queue, context) =
            (self.rng.below(QUEUES as u64) as usize, self.rng.below(CONTEXTS as u64) as i32);
        let alive = self.queues[queue].is_some() && self.knows(context);
        match self.rng.below(40) {
            0..=2 => self.open(queue, active),
            3..=5 => {
                let place = (self.ours.api.pmdaEventNewClient)(context);
                self.same("new client", place, |side| (side.api.pmdaEventNewClient)(context));
                if !self.knows(context) {
                    let free =
                        self.clients.iter().position(Option::is_none).unwrap_or(self.clients.len());
                    assert_eq!(place, free as c_int);
                    self.clients.resize(self.clients.len().max(free + 1), None);
                    self.clients[free] = Some(context);
                }
            }
            6 => self.end(context),
            7 if self.rng.one_in(2) => {
                let shutdown =
                    |side: &Side<'_>| (side.api.pmdaEventQueueShutdown)(side.handles[queue]);
                let status = shutdown(&self.ours);
                self.same("shutdown", status, shutdown);
                assert_eq!(status, if self.queues[queue].is_some() { 0 } else { EINVAL });
                if self.queues[queue].as_mut().is_some_and(Queue::shut_down) {
                    self.gone(queue);
                }
                counts.diverged += u64::from(!self.alive());
            }
            8..=11 => {
                let allow = c_int::from(!self.rng.one_in(4));
                let set = |side: &Side<'_>| {
                    (side.api.pmdaEventSetAccess)(context, side.handles[queue], allow)
                };
                let status = set(&self.ours);
                self.same("access", status, set);
                assert_eq!(status, if alive { 0 } else { EINVAL });
                if let Some(model) = self.queues[queue].as_mut().filter(|_| alive) {
                    model.set_access(context, allow != 0);
                }
            }
            12..=13 => {
                let some = !self.rng.one_in(3);
                let status = self.ours.set_filter(queue, context, some);
                if let Some(side) = &mut self.theirs {
                    assert_eq!(side.set_filter(queue, context, some), status);
                }
                assert_eq!(status, if alive { 0 } else { EINVAL });
                self.released.resize(self.ours.filters.len(), 0);
                let new = some.then(|| self.ours.filters.len() - 1);
                if let Some(model) = self.queues[queue].as_mut().filter(|_| alive) {
                    let old = model.set_filter(context, new);
                    self.forget(old);
                }
            }
            14..=24 => self.request(context, counts),
            _ => {
                let event = self.event();
                let status = self.ours.append(queue, &event);
                self.same("append", status, |side| side.append(queue, &event));
                assert_eq!(status, if self.queues[queue].is_some() { 0 } else { EINVAL });
                if let Some(model) = &mut self.queues[queue] {
                    model.append(&event);
                }
            }
        }
        for (n, model) in self.queues.iter().enumerate() {
            let Some(model) = model else { continue };
            let gauges = self.ours.gauges(n);
            let want = [model.count, model.bytes, model.memory() as u64, model.clients().into()];
            assert_eq!(gauges, want.map(|value| (1, value)), "counter, bytes, memory, clients");
            if let Some(side) = &self.theirs {
                assert_eq!(side.gauges(n)[..2], gauges[..2], "counter and bytes: theirs, ours");
            }
        }
        let released: Vec<u32> = self.ours.filters.iter().map(|f| f.released).collect();
        assert_eq!(released, self.released, "filters are released once, and only then");
    }
}

/// Ends all queues and clients of a sequence; `true` if none is left in the library.
fn clean(side: &Side<'_>, names: &[CString]) -> bool {
    (0..CONTEXTS).for_each(|c| assert_eq!((side.api.pmdaEventEndClient)(c), 0));
    let handle = |name: &CString| {
        // SAFETY: a C string.
        unsafe { (side.api.pmdaEventQueueHandle)(name.as_ptr()) }
    };
    for name in names {
        let handle = handle(name);
        if handle >= 0 {
            (side.api.pmdaEventQueueShutdown)(handle);
        }
    }
    names.iter().all(|name| handle(name) < 0)
}

fn libraries() -> (Api, Api) {
    let ours = std::env::var("APM_CAPI").map_or_else(|_| Api::ours(), |path| Api::load(&path));
    (ours, Api::theirs())
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Silences stderr: libpcp_pmda prints a line for each event that is too large.
fn quiet(quiet: bool) {
    // SAFETY: open(2) and dup2(2) of a descriptor that is open.
    unsafe {
        static STDERR: OnceLock<c_int> = OnceLock::new();
        let kept = *STDERR.get_or_init(|| libc::dup(2));
        let to = if quiet { libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY) } else { kept };
        libc::dup2(to, 2);
    }
}

fn both(ours: &Api, theirs: &Api, sequences: u64, seed: u64) {
    let mut counts = Counts::default();
    let mut kept = Vec::new();
    for n in 0..sequences {
        // libpcp_pmda never removes queues with announced clients: therefore not in all sequences,
        // and with unique names.
        let (active, follow) = (n % 4 == 0, n % 4 != 0 || n % 64 == 0);
        let names: Vec<CString> =
            (0..QUEUES).map(|q| CString::new(format!("{n} {q}")).unwrap()).collect();
        let mut sequence = Sequence {
            rng: Rng((seed + n).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            ours: Side::new(ours),
            theirs: follow.then(|| Side::new(theirs)),
            diverged: None,
            names,
            queues: [const { None }; QUEUES],
            clients: Vec::new(),
            released: Vec::new(),
            events: 0,
        };
        // Queues left by other sequences do not matter.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..60 + sequence.rng.below(60) {
                sequence.step(active, &mut counts);
            }
        }));
        if result.is_err() {
            quiet(false);
            panic!("sequence {n} of seed {seed} failed");
        }
        let Sequence { ours: side, names, .. } = sequence;
        assert!(clean(&side, &names), "nothing is left");
        assert!(side.filters.iter().all(|f| f.released <= 1));
        // Handles do not matter here: names and contexts are enough. Remaining queues of
        // libpcp_pmda point to their names.
        if !clean(&Side::new(theirs), &names) {
            kept.push(names);
        }
    }
    println!(
        "{sequences} sequences of seed {seed}: {} steps, {} fetches, {} missed, {} failures of decoders, {} diverged as documented",
        counts.calls, counts.fetches, counts.missed, counts.failures, counts.diverged
    );
    // Freed when the process ends.
    KEPT.get_or_init(|| kept);
}

/// One test, since clients belong to the whole process.
#[test]
fn queues_do_what_is_documented() {
    let (ours, theirs) = libraries();
    let (sequences, seed) = (number("APM_FUZZ_SEQUENCES", 3000), number("APM_FUZZ_SEED", 1));
    quiet(true);
    both(&ours, &theirs, sequences, seed);
    quiet(false);
    wild::wild(&ours, sequences, seed);
}
