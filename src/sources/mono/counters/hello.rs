//! What an agent announces and what is known of each counter of a connection. The announced ones are
//! the same in all processes of one runtime, and by far the largest part of a connection's memory, so
//! connections share them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use mono_counters::numbers::{Numbers, Space};

use super::identity::IdentityCounter;
use super::spec::Mapping;
use crate::contract::SampleValue;
use crate::heap_size;
use crate::model::{HeapSize, MetricItem, MetricSpec, Value};
use crate::sources::mono::limits;

/// The configured limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of a name.
    pub(crate) name_length: usize,
    /// Counters that can be shown.
    pub(crate) names: usize,
}

/// The counters of one category and name: those sampled, and the occurrence of the newest.
#[derive(Debug, Default)]
pub(super) struct Same {
    pub(super) sampled: u32,
    pub(super) occurrence: u32,
}

/// A counter's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    pub(crate) numbers: Numbers,
    pub(crate) name: &'a str,
    pub(crate) index: u16,
}

/// One counter as its agent announced it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) index: u16,
    pub(super) numbers: Numbers,
    pub(super) name: Arc<str>,
    pub(super) occurrence: u32,
    pub(super) identity: Option<IdentityCounter>,
    /// A metric of its own name has the value too.
    pub(super) named: Option<MetricItem>,
    pub(super) mapping: Mapping,
    /// The name is over `limits.name_length` or has control characters.
    pub(super) unusable: bool,
}

/// Overhead of the name.
const NAME: usize = 48;
/// No counter has this index.
const NONE: u16 = u16::MAX;

/// The positions of counters by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Places(Vec<u16>);

heap_size!(Places { 0 });

impl Places {
    fn get(&self, index: u16) -> Option<usize> {
        self.0.get(usize::from(index)).filter(|place| **place != NONE).map(|p| usize::from(*p))
    }

    fn set(&mut self, index: u16, place: usize) {
        let at = usize::from(index);
        if self.0.len() <= at {
            self.0.resize(at + 1, NONE);
        }
        if let (Some(to), Ok(place)) = (self.0.get_mut(at), u16::try_from(place)) {
            *to = place;
        }
    }
}

/// A complete Hello.
#[derive(Debug)]
struct Hello {
    /// `limits.name_length`, which decides what is unusable.
    name_length: usize,
    space: Space,
    /// Hash of the counters.
    hash: u64,
    /// In the order of the announcement.
    counters: Vec<Announced>,
    places: Places,
    /// Metrics by position, made for the second connection.
    specs: OnceLock<Box<[OnceLock<Arc<MetricSpec>>]>>,
    /// Bytes allocated.
    bytes: AtomicUsize,
}

/// The shared Hellos, the newest last. An entry ends with its last connection.
static HELLOS: Mutex<Vec<Weak<Hello>>> = Mutex::new(Vec::new());

/// The newest Hello that is like this.
fn find(like: impl Fn(&Hello) -> bool) -> Option<Arc<Hello>> {
    let known = HELLOS.lock().unwrap_or_else(PoisonError::into_inner);
    known.iter().rev().filter_map(Weak::upgrade).find(|hello| like(hello))
}

impl Hello {
    /// This Hello, or the equal one that other connections have.
    fn shared(self) -> Arc<Self> {
        let like = |other: &Self| {
            let key = |hello: &Self| (hello.name_length, hello.space, hello.hash);
            key(other) == key(&self) && other.counters == self.counters
        };
        if let Some(known) = find(like) {
            return known;
        }
        let new = Arc::new(self);
        let mut known = HELLOS.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|hello| hello.strong_count() > 0);
        if known.len() < limits::SHARED_HELLOS {
            known.push(Arc::downgrade(&new));
        }
        new
    }
}

/// The counters of one connection by position, which is the order of their announcement: those of
/// a shared Hello, then its own.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Until Hello is complete it is a guess that has come true so far.
    hello: Option<Arc<Hello>>,
    /// Counters of `hello` that this connection has.
    common: usize,
    own: Vec<Announced>,
    own_places: Places,
    /// Bytes of `own`.
    bytes: usize,
    settled: bool,
}

impl Facts {
    pub(super) fn place(&self, index: u16) -> Option<usize> {
        let common = self.hello.as_ref().and_then(|hello| hello.places.get(index));
        common
            .filter(|place| *place < self.common)
            .or_else(|| Some(self.common + self.own_places.get(index)?))
    }

    pub(super) fn get(&self, place: usize) -> Option<&Announced> {
        match place.checked_sub(self.common) {
            None => self.hello.as_ref()?.counters.get(place),
            Some(own) => self.own.get(own),
        }
    }

    /// All counters in the order of their announcement.
    pub(super) fn all(&self) -> impl Iterator<Item = &Announced> {
        let hello = self.hello.as_ref().map_or(&[] as &[_], |hello| &hello.counters);
        hello.iter().take(self.common).chain(&self.own)
    }

    /// The positions in the order of the indexes.
    pub(super) fn places(&self) -> impl Iterator<Item = (u16, usize)> {
        let common = self.hello.as_ref().map_or(0, |hello| hello.places.0.len());
        let indexes = common.max(self.own_places.0.len());
        (0..NONE).take(indexes).filter_map(|index| Some((index, self.place(index)?)))
    }

    /// Whether another connection has announced this counter next after the same others: then it is
    /// known, and there is nothing to add.
    pub(super) fn next(
        &mut self,
        index: u16,
        numbers: Numbers,
        name: &str,
        name_length: usize,
    ) -> bool {
        if self.settled || !self.own.is_empty() {
            return false;
        }
        let is = |next: Option<&Announced>| {
            next.is_some_and(|next| {
                next.index == index && next.numbers == numbers && *next.name == *name
            })
        };
        if self.common == 0 {
            let like =
                |hello: &Hello| hello.name_length == name_length && is(hello.counters.first());
            self.hello = find(like);
        }
        let known = self.hello.as_ref().is_some_and(|hello| is(hello.counters.get(self.common)));
        self.common += usize::from(known);
        known
    }

    /// Adds a counter.
    pub(super) fn push(&mut self, counter: Announced) {
        self.bytes += size_of::<Announced>() + NAME + counter.name.len();
        self.own_places.set(counter.index, self.own.len());
        self.own.push(counter);
    }

    /// The guess was wrong: what was common so far becomes the connection's own. `false`: it is
    /// already.
    pub(super) fn part(&mut self) -> bool {
        let common = std::mem::take(&mut self.common);
        let Some(hello) = self.hello.take() else { return false };
        for counter in hello.counters.iter().take(common) {
            self.push(counter.clone());
        }
        common > 0
    }

    /// Whether Hello was complete before.
    pub(super) const fn settled(&self) -> bool {
        self.settled
    }

    /// The space of the shared Hello, if this Hello is the same.
    pub(super) fn same_hello(&self) -> Option<Space> {
        let hello = self.hello.as_ref().filter(|hello| hello.counters.len() == self.common)?;
        Some(hello.space).filter(|_| self.own.is_empty())
    }

    /// Hello is complete. Its counters are shared with other connections from now on.
    /// `before`: the space in which they were announced.
    pub(super) fn settle(&mut self, before: Space, space: Space, name_length: usize) {
        self.settled = true;
        if self.same_hello().is_some() {
            return;
        }
        self.part();
        let (mut counters, places) =
            (std::mem::take(&mut self.own), std::mem::take(&mut self.own_places));
        for counter in counters.iter_mut().filter(|_| space != before) {
            counter.mapping = Mapping::of(space, counter.numbers, &counter.name);
        }
        counters.shrink_to_fit();
        self.common = counters.len();
        let bytes = std::mem::take(&mut self.bytes) + places.0.len() * size_of::<u16>();
        let (specs, bytes) = (OnceLock::new(), AtomicUsize::new(bytes));
        let hash = hash(&counters);
        let hello = Hello { name_length, space, hash, counters, places, specs, bytes };
        self.hello = Some(hello.shared());
    }

    /// The metric of a counter. It is kept if connections share it.
    pub(super) fn spec(&self, place: usize, make: impl FnOnce() -> MetricSpec) -> Arc<MetricSpec> {
        let shared = self
            .hello
            .as_ref()
            .filter(|hello| place < self.common && self.settled && Arc::strong_count(hello) > 1);
        let Some(hello) = shared else { return Arc::new(make()) };
        let room = || {
            let count = hello.counters.len();
            hello.bytes.fetch_add(count * size_of::<OnceLock<Arc<MetricSpec>>>(), Relaxed);
            (0..count).map(|_| OnceLock::new()).collect()
        };
        let kept = hello.specs.get_or_init(room).get(place);
        let Some(kept) = kept else { return Arc::new(make()) };
        let make = || {
            let spec = make();
            hello.bytes.fetch_add(spec_bytes(&spec), Relaxed);
            Arc::new(spec)
        };
        Arc::clone(kept.get_or_init(make))
    }
}

impl HeapSize for Facts {
    /// Of what connections share it is an equal part.
    fn heap_size(&self) -> usize {
        let of = |hello: &Arc<Hello>| hello.bytes.load(Relaxed) / Arc::strong_count(hello).max(1);
        let room = self.own.capacity().saturating_sub(self.own.len()) * size_of::<Announced>();
        self.bytes + room + self.own_places.heap_size() + self.hello.as_ref().map_or(0, of)
    }
}

/// Tells Hellos apart quickly.
fn hash(counters: &[Announced]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for Announced { index, numbers, name, .. } in counters {
        let Numbers { category, kind, unit, variance } = *numbers;
        (index, category, kind, unit, variance, name).hash(&mut hasher);
    }
    hasher.finish()
}

/// Bytes of a kept metric.
fn spec_bytes(spec: &MetricSpec) -> usize {
    let texts = [&spec.path, &spec.oneline, &spec.help, &spec.persist, &spec.key];
    let labels = spec.labels.iter().map(|(_, label)| label);
    let text: usize = texts.into_iter().chain(labels).map(|text| text.capacity() + 16).sum();
    size_of::<MetricSpec>() + spec.labels.capacity() * size_of::<(&str, String)>() + text
}

/// The state of one counter.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// Newest value as it was sent, for a counter that is shown later: the agent sends only values
    /// that change. Of no bytes: there is none, or it is among [`Texts`].
    last: [u8; 8],
    length: u8,
    /// The selection matches.
    pub(super) selected: bool,
    /// The agent does not sample the counter any more.
    pub(super) removed: bool,
    /// Added by a user, whether the selection matches or not.
    pub(super) forced: bool,
    /// Removed by a user, although the agent supports no Remove.
    pub(super) dropped: bool,
    /// Defined as a metric.
    pub(super) defined: bool,
    /// Shown, or about to be by an update that is queued.
    pub(super) visible: bool,
}

impl Counter {
    /// Keeps the bytes of a number; none are kept of what is no number.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.length = 0;
        if let (Some(to), Ok(length)) = (self.last.get_mut(..bytes.len()), bytes.len().try_into()) {
            to.copy_from_slice(bytes);
            self.length = length;
        }
    }

    /// The bytes of the newest number; empty if there is none.
    pub(super) fn kept(&self) -> &[u8] {
        self.last.get(..self.length.into()).unwrap_or_default()
    }

    /// Whether the values are passed on.
    pub(super) const fn shown(&self, counter: &Announced) -> bool {
        !counter.unusable && !self.removed && !self.dropped && (self.forced || self.selected)
    }
}

/// The newest texts by index, ascending: few counters are texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<(u16, Box<str>)>,
    bytes: usize,
}

impl Texts {
    /// The newest text of a counter.
    pub(super) fn get(&self, index: u16) -> Option<&str> {
        let at = self.all.binary_search_by_key(&index, |(of, _)| *of).ok()?;
        self.all.get(at).map(|(_, text)| &**text)
    }

    /// Replaces the text of a counter.
    pub(super) fn set(&mut self, index: u16, text: Option<&str>) {
        let at = self.all.binary_search_by_key(&index, |(of, _)| *of);
        if let Ok(at) = at {
            self.bytes -= self.all.remove(at).1.len();
        }
        if let Some(text) = text {
            self.bytes += text.len();
            self.all.insert(at.unwrap_or_else(|at| at), (index, text.into()));
        }
    }
}

impl HeapSize for Texts {
    fn heap_size(&self) -> usize {
        self.all.heap_size() + self.bytes
    }
}

/// The value of a metric with a name of its own.
pub(super) fn number(value: &SampleValue) -> Option<u64> {
    match value {
        SampleValue::Wrapping32(number) => Some((*number).into()),
        SampleValue::Value(Value::U64(number)) => Some(*number),
        SampleValue::Value(_) => None,
    }
}

/// The names by which an Add can refer to a counter.
pub(super) fn names_of(
    space: Space,
    numbers: Numbers,
    name: &Arc<str>,
) -> impl Iterator<Item = Arc<str>> {
    let bare = space.custom(numbers.category, name).map(|(_, bare)| bare.into());
    [Some(Arc::clone(name)), bare].into_iter().flatten()
}

/// Category and name in a form that can be compared: categories have several spellings.
pub(crate) fn listed(category: &str, name: &str) -> String {
    format!("{}/{name}", mono_counters::numbers::bare_category(category).to_ascii_lowercase())
}
