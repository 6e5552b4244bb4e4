//! The counters of one connection: announcement, selection and decoding of their values.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::counter::Counter;
use super::identity::IdentityCounter;
use super::mapping::Mapping;
use super::pattern::Pattern;
use super::spec::Description;
use super::values::Reader;
use crate::model::{MetricItem, MetricSpec, SampleValue, Value};
use crate::read::Order;
use crate::sources::mono::limits;
use crate::sources::mono::proto::requests::Sampled;
use crate::sources::mono::proto::wire::Header;
use crate::sources::mono::runtime::jit_item;
use mono_counters::numbers::{Numbers, Space};

/// The configured limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of a name.
    pub(crate) name_length: usize,
    /// Counters that can be shown.
    pub(crate) names: usize,
}

/// Bytes of a counter: itself, its slot in the index, the overhead of its name.
const COUNTER: usize = size_of::<Counter>() + size_of::<usize>() + 48;
/// Bytes of an entry of a table of names.
const ENTRY: usize = 48;

/// The counters of one category and name: those sampled, and the occurrence of the newest.
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
    /// Announced counters over the limit of counters that can be shown; they are not stored.
    beyond: usize,
    /// The part of `beyond` that is reported already.
    beyond_reported: usize,
    /// Bytes of the stored counters.
    bytes: usize,
    by_index: Vec<Option<Box<Counter>>>,
    /// By category and name. Dropped when Hello is complete, rebuilt when a counter is added or
    /// removed: it is a large part of a connection's memory, and most agents never add a counter.
    same: Option<HashMap<(u32, Arc<str>), Same>>,
    /// Every name that was ever announced; built at the first use, because only agents of 2014 need
    /// it.
    names: OnceCell<HashSet<Arc<str>>>,
    used: usize,
    sampled: usize,
    /// Shown, but not yet defined in the sink.
    fresh: Vec<u16>,
    /// Defined in the sink, and not shown any more.
    gone: Vec<u16>,
    /// Values for the next sample, of counters that are shown since the last one.
    pending: BTreeMap<u16, SampleValue>,
    /// Values of metrics with a name of their own.
    named: Vec<(MetricItem, u64)>,
    /// The error about the first unusable name, until it is reported.
    name_error: Option<String>,
    name_error_made: bool,
}

impl Counters {
    pub(crate) fn new(order: Order, selection: Vec<Pattern>, bounds: Bounds) -> Self {
        Self {
            order,
            space: None,
            bounds,
            selection,
            beyond: 0,
            beyond_reported: 0,
            bytes: 0,
            by_index: Vec::new(),
            same: None,
            names: OnceCell::new(),
            used: 0,
            sampled: 0,
            fresh: Vec::new(),
            gone: Vec::new(),
            pending: BTreeMap::new(),
            named: Vec::new(),
            name_error: None,
            name_error_made: false,
        }
    }

    /// Removes all counters: another Headers of the same Hello follows.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.order, std::mem::take(&mut self.selection), self.bounds);
    }

    /// Adds a counter. The tokenizer guarantees that the index is new.
    pub(crate) fn announce(&mut self, header: &Header<'_>) {
        let Header { numbers, name, index } = *header;
        let space = *self.space.get_or_insert(Space::of(numbers.category));
        let identity = IdentityCounter::of(space, numbers, name);
        // With a selection: room for the shown counters, and for the same number of others.
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
        if unusable && !self.name_error_made {
            self.name_error_made = true;
            let start: String = name.chars().take(60).collect();
            self.name_error = Some(format!(
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
            named: jit_item(&space.category(numbers.category), name).map(|(item, _)| item),
            reader: Reader::new(Mapping::of(space, numbers, name), self.order),
            unusable,
            selected: false,
            removed: false,
            forced: false,
            dropped: false,
            defined: false,
            visible: false,
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
            self.update_visibility(index);
        }
    }

    /// The counters of each category and name.
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

    /// Hello is complete: decides between E1 and E2.
    pub(crate) fn settle(&mut self) {
        self.same = None;
        self.by_index.shrink_to_fit();
        let Some(before) = self.space else { return };
        let space =
            before.refine(self.by_index.iter().flatten().map(|c| (c.numbers.category, &*c.name)));
        if space != before {
            // Nothing is reported yet, so all counters can change.
            self.space = Some(space);
            self.fresh.clear();
            for counter in self.by_index.iter_mut().flatten() {
                counter.reader =
                    Reader::new(Mapping::of(space, counter.numbers, &counter.name), self.order);
                (counter.defined, counter.visible) = (false, false);
            }
            self.update_all();
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
            + self.pending.len() * size_of::<SampleValue>();
        self.bytes + (names * ENTRY) + numbers + self.by_index.capacity() * size_of::<usize>()
    }

    /// Counters that the agent samples.
    pub(crate) const fn sampled(&self) -> usize {
        self.sampled
    }

    pub(crate) fn selection(&self) -> &[Pattern] {
        &self.selection
    }

    /// Whether the agent samples a counter that identifies the process.
    pub(crate) fn has_identity(&self) -> bool {
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

    /// The name of the counter in answers.
    pub(crate) fn key(&self, index: u16) -> String {
        self.get(index).map_or_else(String::new, |c| self.description(c).key())
    }

    /// Category and name for an Add.
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

    /// Sampled counters that match a pattern.
    pub(crate) fn matching(&self, pattern: &Pattern) -> Vec<u16> {
        let all = (0u16..).zip(&self.by_index);
        all.filter(|(_, c)| c.as_deref().is_some_and(|c| !c.removed && self.meant(pattern, c)))
            .map(|(i, _)| i)
            .collect()
    }

    /// Sampled counters that neither the selection nor a user wants, without those that identify
    /// the process.
    pub(crate) fn unwanted(&self) -> Vec<u16> {
        let unwanted = |c: &Counter| !c.removed && !c.forced && c.identity.is_none() && !c.selected;
        (0u16..)
            .zip(&self.by_index)
            .filter(|(_, c)| c.as_deref().is_some_and(unwanted))
            .map(|(i, _)| i)
            .collect()
    }

    /// Every sampled counter in the form of [`listed`].
    pub(crate) fn as_listed(&self) -> HashSet<String> {
        let space = self.space.unwrap_or(Space::E3);
        let words = |c: &Counter| match space.custom(c.numbers.category, &c.name) {
            Some((category, name)) => listed(category, name),
            None => listed(&space.category(c.numbers.category), &c.name),
        };
        self.by_index.iter().flatten().filter(|c| !c.removed).map(|c| words(c)).collect()
    }

    /// Counters that have values in the sink.
    pub(crate) fn defined(&self) -> impl Iterator<Item = u16> {
        let all = (0u16..).zip(&self.by_index);
        all.filter(|(_, c)| c.as_deref().is_some_and(|c| c.defined && c.visible)).map(|(i, _)| i)
    }

    /// Whether the values of this counter go to the sink.
    pub(crate) fn shown(&self, index: u16) -> bool {
        self.get(index).is_some_and(Counter::shown)
    }

    fn update_visibility(&mut self, index: u16) {
        let selected = self.get(index).is_some_and(|c| self.selects(c));
        let Some(counter) = self.get_mut(index) else { return };
        counter.selected = selected;
        let shown = counter.shown();
        match (std::mem::replace(&mut counter.visible, shown), shown) {
            (false, true) => {
                let fresh = !std::mem::replace(&mut counter.defined, true);
                let last = counter.last.clone();
                self.pending.extend(last.map(|value| (index, value)));
                if fresh {
                    self.fresh.push(index);
                }
            }
            (true, false) => {
                self.pending.remove(&index);
                self.gone.push(index);
            }
            _ => {}
        }
    }

    fn update_all(&mut self) {
        (0u16..).zip(0..self.by_index.len()).for_each(|(index, _)| self.update_visibility(index));
    }

    /// Replaces the selection; counters that users have added or removed are unaffected.
    pub(crate) fn select(&mut self, selection: Vec<Pattern>) {
        self.selection = selection;
        self.update_all();
    }

    /// Shows the counter for a user.
    pub(crate) fn force(&mut self, index: u16) {
        if let Some(c) = self.get_mut(index) {
            (c.forced, c.dropped) = (true, false);
        }
        self.update_visibility(index);
    }

    /// Hides the counter for a user.
    pub(crate) fn hide(&mut self, index: u16) {
        if let Some(c) = self.get_mut(index) {
            (c.forced, c.dropped) = (false, true);
        }
        self.update_visibility(index);
    }

    /// The agent does not sample the counter any more.
    pub(crate) fn remove(&mut self, index: u16) {
        let Some(counter) = self.get_mut(index).filter(|c| !c.removed) else { return };
        counter.removed = true;
        let key = (counter.numbers.category, Arc::clone(&counter.name));
        self.sampled -= 1;
        // A missing table needs no update: it is built from the counters that are left.
        if let Some(same) = self.same.as_mut().and_then(|all| all.get_mut(&key)) {
            same.sampled = same.sampled.saturating_sub(1);
        }
        self.update_visibility(index);
    }

    /// Decodes a value. Returns it if the counter is shown, and with its kind if it identifies the
    /// process.
    pub(crate) fn value(
        &mut self,
        index: u16,
        bytes: &[u8],
    ) -> (Option<SampleValue>, Option<(IdentityCounter, SampleValue)>) {
        self.pending.remove(&index);
        let Some(counter) =
            self.by_index.get_mut(usize::from(index)).and_then(Option::as_deref_mut)
        else {
            return (None, None);
        };
        let Some(value) = counter.reader.read(bytes) else { return (None, None) };
        let identity = counter.identity.map(|identity| (identity, value.clone()));
        self.named.extend(counter.named(&value));
        let short = !matches!(&value, SampleValue::Value(Value::Text(text)) if text.len() > limits::REMEMBERED_TEXT);
        let text = |value: &Option<SampleValue>| {
            if let Some(SampleValue::Value(Value::Text(text))) = value { text.len() } else { 0 }
        };
        self.bytes -= text(&counter.last);
        counter.last =
            Some(&value).filter(|_| short && !counter.removed && !counter.unusable).cloned();
        self.bytes += text(&counter.last);
        (Some(value).filter(|_| counter.visible), identity)
    }

    /// All values are due with the next sample: another way has fed them meanwhile.
    pub(crate) fn resend(&mut self) {
        for (index, counter) in (0u16..).zip(&self.by_index) {
            if let Some(counter) = counter.as_deref().filter(|counter| counter.visible) {
                self.pending.extend(counter.last.clone().map(|value| (index, value)));
            }
        }
    }

    /// Takes the values of counters that became visible since the last sample and are not in this
    /// one.
    pub(crate) fn take_pending(&mut self) -> impl Iterator<Item = (u16, SampleValue)> {
        std::mem::take(&mut self.pending).into_iter()
    }

    /// Takes the values of metrics with a name of their own.
    pub(crate) fn take_named(&mut self) -> Vec<(MetricItem, u64)> {
        std::mem::take(&mut self.named)
    }

    /// Takes the counters that are not shown any more.
    pub(crate) fn take_gone(&mut self) -> impl Iterator<Item = u16> {
        std::mem::take(&mut self.gone).into_iter()
    }

    /// Takes the counters that are shown for the first time, with their metrics.
    pub(crate) fn take_fresh(&mut self) -> impl Iterator<Item = (u16, MetricSpec)> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh
            .into_iter()
            .filter_map(|index| Some((index, self.description(self.get(index)?).spec())))
    }

    /// Number of counters over the limit since the last call.
    pub(crate) fn take_beyond(&mut self) -> usize {
        let reported = std::mem::replace(&mut self.beyond_reported, self.beyond);
        self.beyond - reported
    }

    /// Takes the error about unusable names, which is reported once.
    pub(crate) fn take_name_error(&mut self) -> Option<String> {
        self.name_error.take()
    }
}

/// The names by which an Add can refer to a counter.
fn names_of(space: Space, numbers: Numbers, name: &Arc<str>) -> impl Iterator<Item = Arc<str>> {
    let bare = space.custom(numbers.category, name).map(|(_, bare)| bare.into());
    [Some(Arc::clone(name)), bare].into_iter().flatten()
}

/// Category and name in a form that can be compared: categories have several spellings.
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
