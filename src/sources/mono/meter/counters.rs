//! The counters of one connection: what was announced, which of them are shown, how their values
//! are read.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::identity::IdentityCounter;
use super::mapping::Mapping;
use super::pattern::Pattern;
use super::spec::Description;
use super::values::Reader;
use crate::model::{MetricSpec, SampleValue, Value};
use crate::read::Order;
use crate::sources::mono::limits;
use crate::sources::mono::proto::requests::Sampled;
use crate::sources::mono::proto::wire::Header;
use mono_counters::numbers::{Numbers, Space};

/// One counter of the agent.
#[derive(Debug)]
struct Counter {
    numbers: Numbers,
    name: Arc<str>,
    occurrence: u32,
    identity: Option<IdentityCounter>,
    reader: Reader,
    /// The name is longer than the user allows, or no text.
    unusable: bool,
    /// The selection means it.
    selected: bool,
    /// The agent has stopped to sample it.
    removed: bool,
    /// A user has asked for it, whatever the selection says.
    forced: bool,
    /// A user wants it no more, and the agent cannot be told.
    dropped: bool,
    /// Passed to the sink as a metric.
    defined: bool,
    /// Shown, as far as the sink is or will be told.
    in_sight: bool,
    /// Newest value: an agent may never send it again, and a counter can come into sight later.
    last: Option<SampleValue>,
}

impl Counter {
    /// The values go to the sink.
    const fn shown(&self) -> bool {
        !self.unusable && !self.removed && !self.dropped && (self.forced || self.selected)
    }
}

/// What the user allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of a name.
    pub(crate) name_length: usize,
    /// Counters that can be shown.
    pub(crate) names: usize,
}

/// Bytes that a counter costs: itself, its place, the head of its name.
const COUNTER: usize = size_of::<Counter>() + size_of::<usize>() + 48;
/// Bytes of an entry of a table of names.
const ENTRY: usize = 48;

/// How many counters there are and were of one category and name.
#[derive(Debug, Default)]
struct Same {
    sampled: u32,
    occurrence: u32,
}

/// All counters of a connection, by index.
#[derive(Debug)]
pub(crate) struct Counters {
    order: Order,
    space: Option<Space>,
    bounds: Bounds,
    selection: Vec<Pattern>,
    /// Counters that were announced and are not kept, since so many are that no more can be shown.
    beyond: usize,
    /// How many of them have been told.
    beyond_told: usize,
    /// Bytes of the counters that are kept.
    bytes: usize,
    by_index: Vec<Option<Box<Counter>>>,
    /// By category and name. Not kept once Hello is complete, but made again when another counter
    /// comes or goes: it would be a good part of a connection's memory, and most agents never
    /// add one.
    same: Option<HashMap<(u32, Arc<str>), Same>>,
    /// Every name that was ever announced; made when first asked for, since only agents of 2014
    /// need it.
    names: OnceCell<HashSet<Arc<str>>>,
    used: usize,
    sampled: usize,
    /// Shown, but not yet passed to the sink.
    fresh: Vec<u16>,
    /// Passed to the sink, and not shown any more.
    gone: Vec<u16>,
    /// Values to go with the next sample, as their counters have come into sight.
    owed: BTreeMap<u16, SampleValue>,
    /// The first name that was too long, until it is told; then `None` for ever.
    complaint: Option<String>,
    complained: bool,
}

impl Counters {
    pub(crate) fn new(order: Order, selection: Vec<Pattern>, bounds: Bounds) -> Self {
        Self {
            order,
            space: None,
            bounds,
            selection,
            beyond: 0,
            beyond_told: 0,
            bytes: 0,
            by_index: Vec::new(),
            same: None,
            names: OnceCell::new(),
            used: 0,
            sampled: 0,
            fresh: Vec::new(),
            gone: Vec::new(),
            owed: BTreeMap::new(),
            complaint: None,
            complained: false,
        }
    }

    /// Forgets all: another Headers of the same Hello follows.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.order, std::mem::take(&mut self.selection), self.bounds);
    }

    /// Takes a counter in. The tokenizer has made sure that the index is a new one.
    pub(crate) fn announce(&mut self, header: &Header<'_>) {
        let Header { numbers, name, index } = *header;
        let space = *self.space.get_or_insert(Space::of(numbers.category));
        let identity = IdentityCounter::of(space, numbers, name);
        // With a selection, as many may be meant by it as can be shown, and as many may be in the
        // way of them.
        let kept =
            if self.selection.is_empty() { self.bounds.names } else { 2 * self.bounds.names };
        if self.used - self.beyond >= kept && identity.is_none() {
            (self.beyond, self.used, self.sampled) =
                (self.beyond + 1, self.used + 1, self.sampled + 1);
            return;
        }
        let shared: Arc<str> = name.into();
        let same = self.same().entry((numbers.category, Arc::clone(&shared))).or_default();
        same.occurrence = if same.sampled == 0 { 1 } else { same.occurrence + 1 };
        same.sampled += 1;
        let occurrence = same.occurrence;
        if let Some(names) = self.names.get_mut() {
            names.extend(names_of(space, numbers, &shared));
        }
        let unusable = name.len() > self.bounds.name_length || name.chars().any(char::is_control);
        if unusable && !self.complained {
            self.complained = true;
            let start: String = name.chars().take(60).collect();
            self.complaint = Some(format!(
                "counter name over limits.name_length or with control characters, not shown: {} bytes, \"{}\"…",
                name.len(),
                start.escape_debug()
            ));
        }
        let counter = Counter {
            numbers,
            name: shared,
            occurrence,
            identity,
            reader: Reader::new(Mapping::of(space, numbers, name), self.order),
            unusable,
            selected: false,
            removed: false,
            forced: false,
            dropped: false,
            defined: false,
            in_sight: false,
            last: None,
        };
        let at = usize::from(index);
        if self.by_index.len() <= at {
            self.by_index.resize_with(at + 1, || None);
        }
        if let Some(place) = self.by_index.get_mut(at) {
            self.bytes += COUNTER + counter.name.len();
            *place = Some(Box::new(counter));
            self.used += 1;
            self.sampled += 1;
            self.reconsider(index);
        }
    }

    /// How many there are of each category and name.
    fn same(&mut self) -> &mut HashMap<(u32, Arc<str>), Same> {
        let by_index = &self.by_index;
        self.same.get_or_insert_with(|| {
            let mut all: HashMap<_, Same> = HashMap::new();
            for counter in by_index.iter().flatten() {
                let same =
                    all.entry((counter.numbers.category, Arc::clone(&counter.name))).or_default();
                same.occurrence = counter.occurrence;
                same.sampled += u32::from(!counter.removed);
            }
            all
        })
    }

    /// All of Hello is there: E1 or E2 can be told.
    pub(crate) fn settle(&mut self) {
        self.same = None;
        self.by_index.shrink_to_fit();
        let Some(before) = self.space else { return };
        let space =
            before.refine(self.by_index.iter().flatten().map(|c| (c.numbers.category, &*c.name)));
        if space != before {
            // Nothing was passed on yet, so everything can be thought over.
            self.space = Some(space);
            self.fresh.clear();
            for counter in self.by_index.iter_mut().flatten() {
                counter.reader =
                    Reader::new(Mapping::of(space, counter.numbers, &counter.name), self.order);
                (counter.defined, counter.in_sight) = (false, false);
            }
            self.reconsider_all();
        }
    }

    pub(crate) const fn space(&self) -> Option<Space> {
        self.space
    }

    /// Bytes allocated.
    pub(crate) fn memory(&self) -> usize {
        let names = self.same.as_ref().map_or(0, HashMap::capacity)
            + self.names.get().map_or(0, HashSet::capacity);
        let numbers = (self.fresh.capacity() + self.gone.capacity()) * size_of::<u16>()
            + self.owed.len() * size_of::<SampleValue>();
        self.bytes + (names * ENTRY) + numbers + self.by_index.capacity() * size_of::<usize>()
    }

    /// Counters that the agent samples.
    pub(crate) const fn sampled(&self) -> usize {
        self.sampled
    }

    pub(crate) fn selection(&self) -> &[Pattern] {
        &self.selection
    }

    /// One of the counters that name the process is there.
    pub(crate) fn tell_identity(&self) -> bool {
        self.by_index.iter().flatten().any(|c| c.identity.is_some() && !c.removed)
    }

    fn get(&self, index: u16) -> Option<&Counter> {
        self.by_index.get(usize::from(index))?.as_deref()
    }

    fn get_mut(&mut self, index: u16) -> Option<&mut Counter> {
        self.by_index.get_mut(usize::from(index))?.as_deref_mut()
    }

    fn description(&self, counter: &Counter) -> Description {
        let space = self.space.unwrap_or(Space::E3);
        Description {
            space,
            numbers: counter.numbers,
            category: space.category(counter.numbers.category).into_owned(),
            name: counter.name.to_string(),
            occurrence: counter.occurrence,
        }
    }

    /// What the counter is called in answers.
    pub(crate) fn key(&self, index: u16) -> String {
        self.get(index).map_or_else(String::new, |c| self.description(c).key())
    }

    /// Category and name, as an Add says them.
    pub(crate) fn words(&self, index: u16) -> Option<(String, String)> {
        self.get(index).map(|c| self.description(c)).map(|d| (d.category, d.name))
    }

    fn meant(&self, pattern: &Pattern, counter: &Counter) -> bool {
        let space = self.space.unwrap_or(Space::E3);
        let Numbers { category, .. } = counter.numbers;
        pattern.matches(&space.category(category), &counter.name)
            || space
                .custom(category, &counter.name)
                .is_some_and(|(category, name)| pattern.matches(category, name))
    }

    fn selects(&self, counter: &Counter) -> bool {
        self.selection.is_empty() || self.selection.iter().any(|p| self.meant(p, counter))
    }

    /// Sampled counters that a pattern means.
    pub(crate) fn meant_by(&self, pattern: &Pattern) -> Vec<u16> {
        let all = (0u16..).zip(&self.by_index);
        all.filter(|(_, c)| c.as_deref().is_some_and(|c| !c.removed && self.meant(pattern, c)))
            .map(|(i, _)| i)
            .collect()
    }

    /// Sampled counters that neither the selection nor a user wants, without those that name the
    /// process.
    pub(crate) fn unwanted(&self) -> Vec<u16> {
        let unwanted = |c: &Counter| !c.removed && !c.forced && c.identity.is_none() && !c.selected;
        (0u16..)
            .zip(&self.by_index)
            .filter(|(_, c)| c.as_deref().is_some_and(unwanted))
            .map(|(i, _)| i)
            .collect()
    }

    /// Every sampled counter as a List would name it, for [`listed`].
    pub(crate) fn as_listed(&self) -> HashSet<String> {
        let space = self.space.unwrap_or(Space::E3);
        let words = |c: &Counter| match space.custom(c.numbers.category, &c.name) {
            Some((category, name)) => listed(category, name),
            None => listed(&space.category(c.numbers.category), &c.name),
        };
        self.by_index.iter().flatten().filter(|c| !c.removed).map(|c| words(c)).collect()
    }

    /// The values of this counter go to the sink.
    pub(crate) fn shown(&self, index: u16) -> bool {
        self.get(index).is_some_and(Counter::shown)
    }

    fn reconsider(&mut self, index: u16) {
        let selected = self.get(index).is_some_and(|c| self.selects(c));
        let Some(counter) = self.get_mut(index) else { return };
        counter.selected = selected;
        let shown = counter.shown();
        match (std::mem::replace(&mut counter.in_sight, shown), shown) {
            (false, true) => {
                let fresh = !std::mem::replace(&mut counter.defined, true);
                let last = counter.last.clone();
                self.owed.extend(last.map(|value| (index, value)));
                if fresh {
                    self.fresh.push(index);
                }
            }
            (true, false) => {
                self.owed.remove(&index);
                self.gone.push(index);
            }
            _ => {}
        }
    }

    fn reconsider_all(&mut self) {
        (0u16..).zip(0..self.by_index.len()).for_each(|(index, _)| self.reconsider(index));
    }

    /// Another selection; what users have added or dropped stays so.
    pub(crate) fn select(&mut self, selection: Vec<Pattern>) {
        self.selection = selection;
        self.reconsider_all();
    }

    /// A user wants the counter shown.
    pub(crate) fn force(&mut self, index: u16) {
        if let Some(c) = self.get_mut(index) {
            (c.forced, c.dropped) = (true, false);
        }
        self.reconsider(index);
    }

    /// A user does not want the counter shown.
    pub(crate) fn drop_from_sight(&mut self, index: u16) {
        if let Some(c) = self.get_mut(index) {
            (c.forced, c.dropped) = (false, true);
        }
        self.reconsider(index);
    }

    /// The agent has stopped to sample the counter.
    pub(crate) fn remove(&mut self, index: u16) {
        let Some(counter) = self.get_mut(index).filter(|c| !c.removed) else { return };
        counter.removed = true;
        let key = (counter.numbers.category, Arc::clone(&counter.name));
        self.sampled -= 1;
        // A table that is not there is made from what is left.
        if let Some(same) = self.same.as_mut().and_then(|all| all.get_mut(&key)) {
            same.sampled = same.sampled.saturating_sub(1);
        }
        self.reconsider(index);
    }

    /// A value as the store wants it, and what it tells about the process. `None` as value: it is
    /// not shown.
    pub(crate) fn value(
        &mut self,
        index: u16,
        bytes: &[u8],
    ) -> (Option<SampleValue>, Option<(IdentityCounter, SampleValue)>) {
        self.owed.remove(&index);
        let Some(counter) =
            self.by_index.get_mut(usize::from(index)).and_then(Option::as_deref_mut)
        else {
            return (None, None);
        };
        let Some(value) = counter.reader.read(bytes) else { return (None, None) };
        let told = counter.identity.map(|identity| (identity, value.clone()));
        let short = !matches!(&value, SampleValue::Value(Value::Text(text)) if text.len() > limits::REMEMBERED_TEXT);
        let text = |value: &Option<SampleValue>| {
            if let Some(SampleValue::Value(Value::Text(text))) = value { text.len() } else { 0 }
        };
        self.bytes -= text(&counter.last);
        counter.last =
            Some(&value).filter(|_| short && !counter.removed && !counter.unusable).cloned();
        self.bytes += text(&counter.last);
        (Some(value).filter(|_| counter.in_sight), told)
    }

    /// Values of counters that have come into sight and were not in the newest sample.
    pub(crate) fn take_owed(&mut self) -> impl Iterator<Item = (u16, SampleValue)> {
        std::mem::take(&mut self.owed).into_iter()
    }

    /// Counters that have gone out of sight.
    pub(crate) fn take_gone(&mut self) -> impl Iterator<Item = u16> {
        std::mem::take(&mut self.gone).into_iter()
    }

    /// Counters that have come into sight for the first time, with their metrics.
    pub(crate) fn take_fresh(&mut self) -> impl Iterator<Item = (u16, MetricSpec)> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh
            .into_iter()
            .filter_map(|index| Some((index, self.description(self.get(index)?).spec())))
    }

    /// How many more cannot be shown than when this was asked last.
    pub(crate) fn take_beyond(&mut self) -> usize {
        let told = std::mem::replace(&mut self.beyond_told, self.beyond);
        self.beyond - told
    }

    /// What to say about unusable names, once.
    pub(crate) fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }
}

/// The names that an Add could mean a counter by.
fn names_of(space: Space, numbers: Numbers, name: &Arc<str>) -> impl Iterator<Item = Arc<str>> {
    let bare = space.custom(numbers.category, name).map(|(_, bare)| bare.into());
    [Some(Arc::clone(name)), bare].into_iter().flatten()
}

/// A counter's words in a form that can be compared: categories have several spellings.
pub(crate) fn listed(category: &str, name: &str) -> String {
    format!("{}/{name}", mono_counters::numbers::bare_category(category).to_ascii_lowercase())
}

impl Sampled for Counters {
    fn has_name(&self, name: &str) -> bool {
        let space = self.space.unwrap_or(Space::E3);
        let counters = || self.by_index.iter().flatten();
        self.names
            .get_or_init(|| counters().flat_map(|c| names_of(space, c.numbers, &c.name)).collect())
            .contains(name)
    }

    fn identifies(&self, index: u16) -> Option<bool> {
        self.get(index).filter(|c| !c.removed).map(|c| c.identity.is_some())
    }

    fn indexes_used(&self) -> usize {
        self.used
    }
}

#[cfg(test)]
#[path = "counters_tests.rs"]
mod tests;
