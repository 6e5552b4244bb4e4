//! The metrics of one process, from its area.

use super::access::Access;
use super::categories::end;
use super::layout::{Figures, PAGE, Refusal, figures};
use super::page::Page;
use super::user::UserCounters;
use crate::contract::Peer;
use crate::model::{Condition, MetricItem, Value};
use crate::read::Order;
use crate::sources::mono::metrics as m;
use crate::sources::mono::process::{Seat, Share, Shown, Stage, Sum, Tally, Way};

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
/// Slot of the program's row.
const PROGRAM: u32 = 0;

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
    shown: Shown,
    /// The figures reported last.
    before: Option<Figures>,
    /// Sums of the counters that wrap.
    sums: [u64; WRAPPING.len()],
    user: UserCounters,
    /// Metrics that another way could feed, and that this one fed at the last reading.
    fed: [bool; 3],
    fed_user: bool,
    /// The categories as they were read last.
    data: Vec<u8>,
    access: Access,
    /// The ways and the access that are reported.
    told: Option<(u8, Access)>,
}

impl Meter {
    /// Of a process that can be read so.
    pub(crate) fn new(seat: Seat, access: Access) -> Self {
        seat.stage(stage(&access, false));
        Self {
            tally: seat.tally(),
            seat,
            shown: Shown::default(),
            before: None,
            sums: [0; WRAPPING.len()],
            user: UserCounters::default(),
            fed: [false; 3],
            fed_user: false,
            data: Vec::new(),
            access,
            told: None,
        }
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
        self.shown = Shown::default();
        (self.before, self.sums) = (None, Default::default());
        self.user = UserCounters::default();
        (self.fed, self.fed_user) = (Default::default(), false);
        self.data.clear();
        self.told = None;
        self.start(peer);
    }

    /// The area can be read otherwise than before.
    pub(crate) fn access(&mut self, access: Access) {
        self.seat.stage(stage(&access, self.before.is_some()));
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
        let old = self.before.replace(new);
        for ((item, figure), sum) in WRAPPING.iter().zip(&mut self.sums) {
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
        let sum = |at: usize| self.sums.get(at).copied().unwrap_or_default();
        for (item, of, total) in [
            (m::PROGRAM_EXCEPTIONS, Sum::Exceptions, sum(THROWN)),
            (m::PROGRAM_GC_COUNT, Sum::Collections, sum(GC0) + sum(GC1)),
        ] {
            let more = self.tally.since_start(of, total);
            if more > 0 {
                peer.row_add(PROGRAM, item, more);
            }
        }
    }

    /// Metrics that other ways may feed.
    fn share(&mut self, old: Option<&Figures>, new: &Figures, peer: &mut Peer) {
        let sum = |at: usize| Value::U64(self.sums.get(at).copied().unwrap_or_default());
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
        for ((share, same, values), fed) in shares.into_iter().zip(&mut self.fed) {
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
        if none && self.user.is_empty() {
            return;
        }
        let feeds = self.seat.feeds(Share::Categories);
        let before = std::mem::replace(&mut self.fed_user, feeds);
        let bytes = page.bytes.get(data..end(page, data)).unwrap_or_default();
        let same = before && self.data == bytes;
        if feeds && !same {
            self.data.clear();
            self.data.extend_from_slice(bytes);
            self.user.read(page, data, !before, peer);
        }
    }

    /// Once a second.
    pub(crate) fn tick(&mut self, peer: &mut Peer) {
        let others = self.shown.tick(&self.seat, peer) & !Way::Area.bit();
        if self.told.as_ref().is_some_and(|told| told.0 == others && told.1 == self.access) {
            return;
        }
        self.told = Some((others, self.access.clone()));
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
            self.shown.gone(why, peer);
        }
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.user.memory() + self.data.capacity()
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
