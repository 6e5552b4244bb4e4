//! The counters of one connection: announcement, selection and decoding of their values.

mod hello;
pub(crate) mod identity;
pub(crate) mod pattern;
pub(crate) mod spec;
pub(crate) mod updates;
pub(crate) mod watched;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use mono_counters::numbers::{Numbers, Space};

use self::hello::{Announced, Counter, Facts, Same, Texts, names_of, number};
pub(crate) use self::hello::{Bounds, Header, listed};
use self::identity::IdentityCounter;
use self::pattern::Pattern;
use self::spec::{Description, Mapping};
use super::events::jit_item;
use super::limits;
use crate::contract::SampleValue;
use crate::model::{HeapSize, MetricItem, MetricSpec, Value};
use crate::read::Order;

/// All counters of a connection.
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
    /// What the agent announced.
    facts: Facts,
    /// Their states, in the same order.
    states: Vec<Counter>,
    /// Last bits and sum of each 32-bit counter with a scale.
    wide: BTreeMap<u16, (u32, u64)>,
    texts: Texts,
    /// By category and name. Dropped when Hello is complete, rebuilt when a counter is added or
    /// removed: it is a large part of a connection's memory, and most agents never add a counter.
    same: Option<HashMap<(u32, Arc<str>), Same>>,
    /// Every name that was ever announced; built at the first use, because only agents of 2014 need
    /// it.
    names: OnceCell<HashSet<Arc<str>>>,
    used: usize,
    sampled: usize,
    /// Shown, but not yet defined as a metric.
    fresh: Vec<u16>,
    /// Defined as a metric, and not shown any more.
    gone: Vec<u16>,
    /// Values for the next sample, of counters that are shown since the last one.
    pending: BTreeMap<u16, SampleValue>,
    /// Values of metrics with a name of their own.
    named: Vec<(MetricItem, u64)>,
    /// The error about the first unusable name, until it is reported.
    name_error: Option<String>,
    name_error_made: bool,
}

impl HeapSize for Counters {
    fn heap_size(&self) -> usize {
        let numbers = self.fresh.heap_size() + self.gone.heap_size() + self.pending.heap_size();
        let names = self.same.heap_size() + self.names.get().map_or(0, HeapSize::heap_size);
        let states = self.states.heap_size() + self.wide.heap_size() + self.texts.heap_size();
        let texts = self.selection.heap_size() + self.name_error.heap_size();
        self.facts.heap_size() + self.named.heap_size() + numbers + names + states + texts
    }
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
            facts: Facts::default(),
            states: Vec::new(),
            wide: BTreeMap::new(),
            texts: Texts::default(),
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
        // With a selection: room for the shown counters, and for the same number of others.
        let kept =
            if self.selection.is_empty() { self.bounds.names } else { 2 * self.bounds.names };
        if self.used - self.beyond >= kept && IdentityCounter::of(space, numbers, name).is_none() {
            (self.beyond, self.used, self.sampled) =
                (self.beyond + 1, self.used + 1, self.sampled + 1);
            return;
        }
        if !self.facts.next(index, numbers, name, self.bounds.name_length) {
            self.add(space, header);
        }
        if let Some(names) = self.names.get_mut() {
            names.extend(names_of(space, numbers, &name.into()));
        }
        self.states.push(Counter::default());
        self.used += 1;
        self.sampled += 1;
        let place = self.states.len() - 1;
        if self.facts.get(place).is_some_and(|counter| counter.unusable) {
            self.unusable(name);
        }
        self.update_visibility(index);
    }

    /// Adds a counter that is not known from other connections.
    fn add(&mut self, space: Space, header: &Header<'_>) {
        let Header { numbers, name, index } = *header;
        if self.facts.part() {
            self.same = None;
        }
        let shared: Arc<str> = name.into();
        let same = self.same().entry((numbers.category, Arc::clone(&shared))).or_default();
        same.occurrence = if same.sampled == 0 { 1 } else { same.occurrence + 1 };
        same.sampled += 1;
        let occurrence = same.occurrence;
        self.facts.push(Announced {
            index,
            numbers,
            name: shared,
            occurrence,
            identity: IdentityCounter::of(space, numbers, name),
            named: jit_item(&space.category(numbers.category), name).map(|(item, _)| item),
            mapping: Mapping::of(space, numbers, name),
            unusable: name.len() > self.bounds.name_length || name.chars().any(char::is_control),
        });
    }

    /// Reports a name that cannot be shown, once.
    fn unusable(&mut self, name: &str) {
        if std::mem::replace(&mut self.name_error_made, true) {
            return;
        }
        let start: String = name.chars().take(60).collect();
        self.name_error = Some(format!(
            "counter name over limits.name_length or with control characters, not shown: {} bytes, \"{}\"…",
            name.len(),
            start.escape_debug()
        ));
    }

    /// The counters of each category and name.
    fn same(&mut self) -> &mut HashMap<(u32, Arc<str>), Same> {
        let (facts, states) = (&self.facts, &self.states);
        self.same.get_or_insert_with(|| {
            let mut all: HashMap<_, Same> = HashMap::new();
            for (counter, state) in facts.all().zip(states) {
                let key = (counter.numbers.category, Arc::clone(&counter.name));
                let same = all.entry(key).or_default();
                same.occurrence = counter.occurrence;
                same.sampled += u32::from(!state.removed);
            }
            all
        })
    }

    /// Hello is complete: decides between E1 and E2.
    pub(crate) fn settle(&mut self) {
        self.same = None;
        self.states.shrink_to_fit();
        let Some(before) = self.space.filter(|_| !self.facts.settled()) else { return };
        let space = self.facts.same_hello().unwrap_or_else(|| {
            before.refine(self.facts.all().map(|c| (c.numbers.category, &*c.name)))
        });
        self.facts.settle(before, space, self.bounds.name_length);
        if space != before {
            // Nothing is reported yet, so all counters can change.
            self.space = Some(space);
            self.fresh.clear();
            self.wide.clear();
            for state in &mut self.states {
                (state.defined, state.visible) = (false, false);
            }
            self.update_all();
        }
    }

    pub(crate) const fn space(&self) -> Option<Space> {
        self.space
    }

    /// Whether a counter of this name, in any category, was ever announced.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let space = self.space.unwrap_or(Space::E3);
        let counters = || self.facts.all();
        self.names
            .get_or_init(|| counters().flat_map(|c| names_of(space, c.numbers, &c.name)).collect())
            .contains(name)
    }

    /// `Some` if the agent samples the counter; `Some(true)` if it identifies the process.
    pub(crate) fn identifies(&self, index: u16) -> Option<bool> {
        self.get(index).filter(|(_, s)| !s.removed).map(|(c, _)| c.identity.is_some())
    }

    /// Indexes used on this connection.
    pub(crate) const fn indexes_used(&self) -> usize {
        self.used
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
        self.facts.all().zip(&self.states).any(|(c, s)| c.identity.is_some() && !s.removed)
    }

    fn get(&self, index: u16) -> Option<(&Announced, &Counter)> {
        let place = self.facts.place(index)?;
        Some((self.facts.get(place)?, self.states.get(place)?))
    }

    fn get_mut(&mut self, index: u16) -> Option<(&Announced, &mut Counter)> {
        let place = self.facts.place(index)?;
        Some((self.facts.get(place)?, self.states.get_mut(place)?))
    }

    /// All counters in the order of their indexes.
    fn all(&self) -> impl Iterator<Item = (u16, &Announced, &Counter)> {
        let all = self.facts.places();
        all.filter_map(|(index, place)| {
            Some((index, self.facts.get(place)?, self.states.get(place)?))
        })
    }

    fn description(&self, counter: &Announced) -> Description {
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
        self.get(index).map_or_else(String::new, |(c, _)| self.description(c).key())
    }

    /// Category and name for an Add.
    pub(crate) fn words(&self, index: u16) -> Option<(String, String)> {
        self.get(index).map(|(c, _)| self.description(c)).map(|d| (d.category, d.name))
    }

    fn meant(&self, pattern: &Pattern, counter: &Announced) -> bool {
        let space = self.space.unwrap_or(Space::E3);
        let Numbers { category, .. } = counter.numbers;
        pattern.matches(&space.category(category), &counter.name)
            || space
                .custom(category, &counter.name)
                .is_some_and(|(category, name)| pattern.matches(category, name))
    }

    fn selects(&self, counter: &Announced) -> bool {
        self.selection.is_empty() || self.selection.iter().any(|p| self.meant(p, counter))
    }

    /// Sampled counters that match a pattern.
    pub(crate) fn matching(&self, pattern: &Pattern) -> Vec<u16> {
        let meant = self.all().filter(|(_, c, s)| !s.removed && self.meant(pattern, c));
        meant.map(|(index, ..)| index).collect()
    }

    /// Sampled counters that neither the selection nor a user wants, without those that identify
    /// the process.
    pub(crate) fn unwanted(&self) -> Vec<u16> {
        let unwanted = |c: &Announced, s: &Counter| {
            !s.removed && !s.forced && c.identity.is_none() && !s.selected
        };
        self.all().filter(|(_, c, s)| unwanted(c, s)).map(|(index, ..)| index).collect()
    }

    /// Every sampled counter in the form of [`listed`].
    pub(crate) fn as_listed(&self) -> HashSet<String> {
        let space = self.space.unwrap_or(Space::E3);
        let words = |c: &Announced| match space.custom(c.numbers.category, &c.name) {
            Some((category, name)) => listed(category, name),
            None => listed(&space.category(c.numbers.category), &c.name),
        };
        self.all().filter(|(_, _, s)| !s.removed).map(|(_, c, _)| words(c)).collect()
    }

    /// Counters whose metrics have values.
    pub(crate) fn defined(&self) -> impl Iterator<Item = u16> {
        self.all().filter(|(_, _, s)| s.defined && s.visible).map(|(index, ..)| index)
    }

    /// Whether the values of this counter are passed on.
    pub(crate) fn shown(&self, index: u16) -> bool {
        self.get(index).is_some_and(|(counter, state)| state.shown(counter))
    }

    fn update_visibility(&mut self, index: u16) {
        let selected = self.get(index).is_some_and(|(c, _)| self.selects(c));
        let Some((facts, counter)) = self.get_mut(index) else { return };
        counter.selected = selected;
        let shown = counter.shown(facts);
        match (std::mem::replace(&mut counter.visible, shown), shown) {
            (false, true) => {
                let fresh = !std::mem::replace(&mut counter.defined, true);
                let last = self.last(index);
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
        let all: Vec<u16> = self.facts.places().map(|(index, _)| index).collect();
        all.into_iter().for_each(|index| self.update_visibility(index));
    }

    /// Replaces the selection; counters that users have added or removed are unaffected.
    pub(crate) fn select(&mut self, selection: Vec<Pattern>) {
        self.selection = selection;
        self.update_all();
    }

    /// Shows the counter for a user.
    pub(crate) fn force(&mut self, index: u16) {
        if let Some((_, c)) = self.get_mut(index) {
            (c.forced, c.dropped) = (true, false);
        }
        self.update_visibility(index);
    }

    /// Hides the counter for a user.
    pub(crate) fn hide(&mut self, index: u16) {
        if let Some((_, c)) = self.get_mut(index) {
            (c.forced, c.dropped) = (false, true);
        }
        self.update_visibility(index);
    }

    /// The agent does not sample the counter any more.
    pub(crate) fn remove(&mut self, index: u16) {
        let Some((counter, state)) = self.get_mut(index).filter(|(_, s)| !s.removed) else {
            return;
        };
        state.removed = true;
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
        let Self { facts, states, wide, texts, .. } = self;
        let found =
            facts.place(index).and_then(|place| Some((facts.get(place)?, states.get_mut(place)?)));
        let Some((facts, counter)) = found else { return (None, None) };
        let widen = |bits| spec::widen(wide, index, bits);
        let Some(value) = spec::read(facts.mapping, self.order, bytes, widen) else {
            return (None, None);
        };
        let identity = facts.identity.map(|identity| (identity, value.clone()));
        self.named.extend(facts.named.and_then(|item| Some((item, number(&value)?))));
        let kept = !counter.removed && !facts.unusable;
        if let SampleValue::Value(Value::Text(text)) = &value {
            let short = kept && text.len() <= limits::REMEMBERED_TEXT;
            texts.set(index, Some(&**text).filter(|_| short));
        } else {
            counter.keep(if kept { bytes } else { &[] });
        }
        (Some(value).filter(|_| counter.visible), identity)
    }

    /// The newest value of a counter.
    fn last(&mut self, index: u16) -> Option<SampleValue> {
        if let Some(text) = self.texts.get(index) {
            return Some(Value::Text(text.into()).into());
        }
        let place = self.facts.place(index)?;
        let (counter, state) = (self.facts.get(place)?, self.states.get(place)?);
        // The same bytes again add nothing to a sum.
        let widen = |bits| spec::widen(&mut self.wide, index, bits);
        spec::read(counter.mapping, self.order, state.kept(), widen)
    }

    /// All values are due with the next sample: another way has fed them meanwhile.
    pub(crate) fn resend(&mut self) {
        let visible = self.all().filter(|(_, _, state)| state.visible);
        let visible: Vec<u16> = visible.map(|(index, ..)| index).collect();
        for index in visible {
            let last = self.last(index);
            self.pending.extend(last.map(|value| (index, value)));
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
    pub(crate) fn take_fresh(&mut self) -> impl Iterator<Item = (u16, Arc<MetricSpec>)> {
        let fresh = std::mem::take(&mut self.fresh);
        fresh.into_iter().filter_map(|index| {
            let place = self.facts.place(index)?;
            let counter = self.facts.get(place)?;
            Some((index, self.facts.spec(place, || self.description(counter).spec())))
        })
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

#[cfg(test)]
mod tests;
