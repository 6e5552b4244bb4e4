//! The metrics of one process, from its area: those of the runtime, and of the counters that programs
//! define.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use mono_counters::numbers::{Numbers, Space, kind};

use super::Access;
use super::page::{Figures, PAGE, Page, Refusal, UserCounter, each, end, figures};
use crate::contract::Peer;
use crate::heap_size;
use crate::model::{Condition, HeapSize, MetricItem, Value};
use crate::read::Order;
use crate::sources::mono::counters::spec::{Description, Mapping, USER_SECTION};
use crate::sources::mono::limits;
use crate::sources::mono::metrics as m;
use crate::sources::mono::process::{PROGRAM_ROW, Seat, Share, Shown, Stage, Sum, Tally, Way};

/// The byte order of this host.
const HERE: Order = if cfg!(target_endian = "big") { Order::Big } else { Order::Little };

/// Counters of 32 bits: they wrap.
type Wrapping = (MetricItem, fn(&Figures) -> u32);
const WRAPPING: [Wrapping; 10] = [
    (m::RUNTIME_THROWN, |f| f.exceptions_thrown),
    (m::RUNTIME_FILTERS, |f| f.exceptions_filters),
    (m::RUNTIME_FINALLYS, |f| f.exceptions_finallys),
    (m::RUNTIME_GC0, |f| f.gc_collections0),
    (m::RUNTIME_GC1, |f| f.gc_collections1),
    (m::RUNTIME_JIT_METHODS, |f| f.jit_methods),
    (m::RUNTIME_JIT_BYTES, |f| f.jit_bytes),
    (m::RUNTIME_CONTENTIONS, |f| f.contentions),
    (m::RUNTIME_APPDOMAINS_TOTAL, |f| f.appdomains_total),
    (m::RUNTIME_HANDLES, |f| f.handles_created),
];
const THROWN: usize = 0;
const GC0: usize = 3;
const GC1: usize = 4;
const METHODS: usize = 5;

/// Metrics that another way may feed, and whether their figures are as before.
type Shared<'a> = (Share, bool, &'a [(MetricItem, Value)]);

/// Values that go up and down.
type Gauge = (MetricItem, fn(&Figures) -> Value);
const GAUGES: [Gauge; 5] = [
    (m::RUNTIME_POOL_THREADS, |f| Value::U32(f.pool_threads)),
    (m::RUNTIME_APPDOMAINS, |f| Value::U32(f.appdomains)),
    (m::RUNTIME_SYNC_BLOCKS, |f| Value::U32(f.sync_blocks)),
    (m::RUNTIME_LOADER_BYTES, |f| Value::U64(f.loader_bytes.into())),
    (m::RUNTIME_POOL_COMPLETED, |f| Value::U64(f.pool_completed)),
];

/// The metrics of one process.
#[derive(Debug)]
pub(crate) struct Meter {
    seat: Seat,
    tally: Tally,
    access: Access,
    told: Told,
}

/// What is told of a process.
#[derive(Debug, Default)]
struct Told {
    shown: Shown,
    /// The figures of the last reading.
    before: Option<Figures>,
    /// Sums of the counters that wrap.
    sums: [u64; WRAPPING.len()],
    user: UserCounters,
    /// Metrics that another way could feed, and that this one fed at the last reading.
    fed: [bool; 3],
    fed_user: bool,
    /// The categories as they were read last.
    data: Vec<u8>,
    /// The ways and the access.
    access: Option<(u8, Access)>,
}

heap_size!(Meter { seat, told });
heap_size!(Told { user, data });

impl Meter {
    /// Of a process that can be read so.
    pub(crate) fn new(seat: Seat, access: Access) -> Self {
        seat.stage(stage(&access, false));
        Self { tally: seat.tally(), seat, access, told: Told::default() }
    }

    /// The process is known.
    pub(crate) fn start(&mut self, peer: &mut Peer) {
        let facts = self.seat.facts();
        let more =
            vec![("container_pid", facts.inner_pid.to_string()), ("user", facts.owner.clone())];
        let address = format!("/dev/shm/mono.{}", facts.inner_pid);
        peer.is(self.seat.identity(address, more));
        self.tick(peer);
    }

    /// A limit had turned the process away, and what was reported is lost: begins anew.
    pub(crate) fn restart(&mut self, peer: &mut Peer) {
        self.told = Told::default();
        self.start(peer);
    }

    /// The area can be read otherwise than before.
    pub(crate) fn access(&mut self, access: Access) {
        self.seat.stage(stage(&access, self.told.before.is_some()));
        self.access = access;
    }

    /// Reads a page in the byte order of this host.
    ///
    /// # Errors
    /// It is no area, or not that of the process.
    pub(crate) fn read(&mut self, page: &[u8; PAGE], peer: &mut Peer) -> Result<(), Refusal> {
        self.read_in(HERE, page, peer)
    }

    /// Reads a page.
    pub(super) fn read_in(
        &mut self,
        order: Order,
        page: &[u8],
        peer: &mut Peer,
    ) -> Result<(), Refusal> {
        let (new, data) = figures(page, order, self.seat.facts().inner_pid)?;
        let old = self.told.before.replace(new);
        for ((item, figure), sum) in WRAPPING.iter().zip(&mut self.told.sums) {
            let (now, before) = (figure(&new), old.as_ref().map_or(0, figure));
            *sum += u64::from(now.wrapping_sub(before));
            if old.is_none() || now != before {
                peer.set(*item, *sum);
            }
        }
        for (item, figure) in GAUGES {
            let value = figure(&new);
            if old.as_ref().map(figure).as_ref() != Some(&value) {
                peer.set(item, value);
            }
        }
        self.share(old.as_ref(), &new, peer);
        self.count(peer);
        self.users(Page { bytes: page, order }, data, peer);
        peer.message();
        self.seat.stage(Stage::Reading);
        Ok(())
    }

    /// Sums of the program.
    fn count(&self, peer: &mut Peer) {
        let sum = |at: usize| self.told.sums.get(at).copied().unwrap_or_default();
        for (item, of, total) in [
            (m::PROGRAM_EXCEPTIONS, Sum::Exceptions, sum(THROWN)),
            (m::PROGRAM_GC_COUNT, Sum::Collections, sum(GC0) + sum(GC1)),
        ] {
            let more = self.tally.since_start(of, total);
            if more > 0 {
                peer.row_add(PROGRAM_ROW, item, more);
            }
        }
    }

    /// Metrics that other ways may feed.
    fn share(&mut self, old: Option<&Figures>, new: &Figures, peer: &mut Peer) {
        let sum = |at: usize| Value::U64(self.told.sums.get(at).copied().unwrap_or_default());
        let (thrown, methods) = (sum(THROWN), sum(METHODS));
        let completed = Value::U64(new.pool_completed);
        let threads = Value::U32(new.pool_threads);
        let same = |figure: fn(&Figures) -> u64| old.map(figure) == Some(figure(new));
        let shares: [Shared<'_>; 3] = [
            (Share::Exceptions, same(|f| f.exceptions_thrown.into()), &[(m::EXCEPTIONS, thrown)]),
            (Share::Methods, same(|f| f.jit_methods.into()), &[(m::JIT_METHODS, methods)]),
            (
                Share::Pool,
                same(|f| f.pool_completed) && same(|f| f.pool_threads.into()),
                &[(m::POOL_COMPLETED, completed), (m::POOL_THREADS, threads)],
            ),
        ];
        for ((share, same, values), fed) in shares.into_iter().zip(&mut self.told.fed) {
            let feeds = self.seat.feeds(share);
            let before = std::mem::replace(fed, feeds);
            if feeds && (!same || !before) {
                for (item, value) in values {
                    peer.set(*item, value.clone());
                }
            }
        }
    }

    fn users(&mut self, page: Page<'_>, data: usize, peer: &mut Peer) {
        let none = page.u8(data).is_none_or(|kind| kind == 0);
        if none && self.told.user.is_empty() {
            return;
        }
        let feeds = self.seat.feeds(Share::Categories);
        let before = std::mem::replace(&mut self.told.fed_user, feeds);
        let bytes = page.bytes.get(data..end(page, data)).unwrap_or_default();
        let same = before && self.told.data == bytes;
        if feeds && !same {
            self.told.data.clear();
            self.told.data.extend_from_slice(bytes);
            self.told.user.read(page, data, !before, peer);
        }
    }

    /// Once a second.
    pub(crate) fn tick(&mut self, peer: &mut Peer) {
        let others = self.told.shown.tick(&self.seat, peer) & !Way::Area.bit();
        if self.told.access.as_ref().is_some_and(|told| told.0 == others && told.1 == self.access) {
            return;
        }
        self.told.access = Some((others, self.access.clone()));
        let why = self.access.why();
        peer.set(m::REASON, Value::text(why));
        // A stream tells of itself.
        if others & Way::Stream.bit() != 0 {
            return;
        }
        let condition = match self.access {
            Access::Denied(_) | Access::Off(_) if others == 0 => {
                Condition::Unread(why.to_owned().into())
            }
            _ => Condition::Sound,
        };
        peer.condition(condition);
    }

    /// The process executes another program, whose area is another one.
    pub(crate) fn another(&self) {
        self.seat.another();
    }

    /// The area is no longer read: `ended`, since the process has ended.
    pub(crate) fn end(&mut self, ended: bool, why: &str, peer: &mut Peer) {
        if ended {
            self.seat.ended();
        }
        if ended || self.seat.is_last() {
            self.told.shown.gone(why, peer);
        }
    }
}

/// How far reading has come.
const fn stage(access: &Access, read: bool) -> Stage {
    match access {
        Access::Open if read => Stage::Reading,
        Access::Open => Stage::Found,
        Access::Denied(_) => Stage::Denied,
        Access::Off(_) => Stage::Refused,
    }
}

/// What Mono calls the section.
const SECTION: &str = "PerfCounters";
const MONOTONIC: u32 = 1 << 28;
const TIME: u32 = 2 << 24;

/// What Mono's number of a type means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number that goes up and down.
    Number,
    /// A sum.
    Sum,
    /// A sum of ticks of 100 ns.
    Time,
}

/// The order is that of docs/protocols/mono-shm.md 4.
fn meaning(number: u8) -> Kind {
    match number {
        4..=10 | 14 | 23..=25 | 27 => Kind::Sum,
        12 | 13 | 15..=21 => Kind::Time,
        _ => Kind::Number,
    }
}

/// The counters of one process.
#[derive(Debug, Default)]
pub(super) struct UserCounters {
    known: HashMap<Box<str>, Known>,
    /// Those beyond the limit at the last reading.
    beyond: HashSet<Box<str>>,
    reading: u64,
    key: String,
}

impl HeapSize for UserCounters {
    fn heap_size(&self) -> usize {
        let names: usize = self.known.keys().chain(&self.beyond).map(HeapSize::heap_size).sum();
        self.known.heap_size() + self.beyond.heap_size() + self.key.heap_size() + names
    }
}

#[derive(Debug)]
struct Known {
    slot: u32,
    scale: u32,
    monotonic: bool,
    value: Option<i64>,
    reading: u64,
}

impl UserCounters {
    /// Reports what has changed; `all`: everything, since another way has reported until now. Of
    /// more than [`limits::USER_COUNTERS`] names those that come later are counted only.
    pub(super) fn read(&mut self, page: Page<'_>, start: usize, all: bool, peer: &mut Peer) {
        self.reading += 1;
        let Self { known, reading, key, beyond } = self;
        let before = std::mem::take(beyond);
        let mut unshown = 0;
        each(page, start, &mut |counter| {
            if !name(key, &counter) {
                return;
            }
            if !known.contains_key(key.as_str()) {
                if known.len() >= limits::USER_COUNTERS {
                    unshown += u64::from(!before.contains(key.as_str()));
                    beyond.insert(key.as_str().into());
                    return;
                }
                let slot = u32::try_from(known.len()).unwrap_or(u32::MAX);
                known.insert(key.as_str().into(), define(key, counter.kind, slot, peer));
            }
            let Some(one) = known.get_mut(key.as_str()) else { return };
            one.reading = *reading;
            if one.value.replace(counter.value) != Some(counter.value) || all {
                let value = counter.value.wrapping_mul(one.scale.into());
                let value = match one.monotonic {
                    true => Value::U64(value.cast_unsigned()),
                    false => Value::I64(value),
                };
                peer.set_slot(one.slot, None, value);
            }
        });
        if unshown > 0 {
            peer.unshown(unshown);
        }
        for gone in known.values_mut().filter(|one| one.reading != *reading) {
            if gone.value.take().is_some() {
                peer.hide(gone.slot);
            }
        }
    }

    /// There are none.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

/// `CATEGORY/NAME`; `false` if there is no such name.
fn name(key: &mut String, counter: &UserCounter<'_>) -> bool {
    key.clear();
    let [category, name] = [counter.category, counter.name].map(String::from_utf8_lossy);
    if category.is_empty() || name.is_empty() {
        return false;
    }
    let base = if counter.second { "_base" } else { "" };
    let _ = write!(key, "{category}/{name}{base}");
    !key.chars().any(char::is_control)
}

fn define(key: &str, number: u8, slot: u32, peer: &mut Peer) -> Known {
    let (unit, variance) = match meaning(number) {
        Kind::Number => (0, 0),
        Kind::Sum => (0, MONOTONIC),
        Kind::Time => (TIME, MONOTONIC),
    };
    let numbers = Numbers { category: USER_SECTION, kind: kind::LONG, unit, variance };
    let mapping = Mapping::of(Space::E3, numbers, key);
    let description = Description {
        space: Space::E3,
        numbers,
        category: SECTION.to_owned(),
        name: key.to_owned(),
        occurrence: 1,
    };
    peer.define(slot, &description.spec());
    Known { slot, scale: mapping.scale, monotonic: variance == MONOTONIC, value: None, reading: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Recorded;
    use crate::read::Order;
    use crate::sources::Source;
    use crate::sources::mono::Mono;

    /// A category with one counter, and its instance.
    fn page(name: &str, value: u64) -> Vec<u8> {
        let stanza = |kind: u8, body: &[u8]| {
            let length = (4 + body.len()).next_multiple_of(8);
            let mut bytes = vec![kind, 0];
            bytes.extend_from_slice(&u16::try_from(length).unwrap().to_le_bytes());
            bytes.extend_from_slice(body);
            bytes.resize(length, 0);
            bytes
        };
        let counter = [&1u16.to_le_bytes()[..], &[0; 6], b"Shop\0\0", &[1, 0], name.as_bytes()];
        let category = stanza(b'C', &[counter.concat(), vec![0, 0]].concat());
        let mut instance = [&0u32.to_le_bytes()[..], name.as_bytes()].concat();
        instance.resize((12 + name.len()).next_multiple_of(8) - 4, 0);
        instance.extend_from_slice(&value.to_le_bytes());
        [category, stanza(b'I', &instance), vec![0; 8]].concat()
    }

    #[test]
    fn names_of_a_process_are_bounded_and_the_rest_is_counted() {
        let (mut counters, mut seen) = (UserCounters::default(), Recorded::new(&Mono::TABLE));
        let mut read = |name: String, value| {
            let bytes = page(&name, value);
            let page = Page { bytes: &bytes, order: Order::Little };
            counters.read(page, 0, false, &mut seen);
            let log = seen.log();
            (log.specs.len(), log.unshown, counters.heap_size())
        };
        assert_eq!((read("a".into(), 1).0, read("a".into(), 2).0), (1, 1));
        for n in 1..limits::USER_COUNTERS {
            read(format!("name{n:06}"), 1);
        }
        let (defined, unshown, full) = read("a".into(), 3);
        assert_eq!((defined, unshown), (limits::USER_COUNTERS, 0));
        // One that stays is counted once.
        assert_eq!((read("b".into(), 1).1, read("b".into(), 2).1), (1, 1));
        let most = (0..10_000).map(|n| read(format!("other{n:06}"), 1).2).max();
        let (defined, unshown, _) = read("a".into(), 4);
        assert_eq!((defined, unshown), (limits::USER_COUNTERS, 10_001));
        assert!(most.unwrap() < full + 1024, "{most:?} after {full}");
    }
}
