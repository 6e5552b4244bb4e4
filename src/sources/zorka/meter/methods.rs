//! Sums of one agent's records: by method, by stack, by class of exception. A method's slot is kept with
//! its definition ([`Names`]): a record costs no hashing. A stack is a node of a tree of methods; it gets its
//! name from the body in which it first has time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::rows::name;
use crate::catalogue::OTHER;
use crate::contract::Peer;
use crate::meter::{CallTree, NodeRow, ROOT};
use crate::sources::zorka::limits::{CARRIED, METHOD_ROWS, STACK_DEPTH};
use crate::sources::zorka::metrics as m;
use crate::sources::zorka::names::Names;
use crate::sources::zorka::wire::{ClassName, Exception, FLAG_CLOSED, Record};

/// Slot of the row for the methods beyond the limit, until slots begin anew.
pub(crate) const REST: u32 = 0;
/// Bits of a slot within the number that [`Names`] keeps; the others tell the generation.
const SLOT_BITS: u32 = 15;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Generations: the highest is that of [`UNBOUND`](crate::sources::zorka::names::UNBOUND).
const GENERATIONS: u32 = (1 << (32 - SLOT_BITS)) - 1;
const _: () = assert!(METHOD_ROWS < SLOT_MASK as usize, "a slot for each method, and REST");

/// Sums since the last report: self time counts for a body as a whole.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    errors: u64,
    time: u64,
    total_time: u64,
    /// Below 0 if reported calls took longer than the call that made them, as ticks and steps of
    /// clocks cause: carried until it is above.
    self_time: i64,
    longest: u64,
    /// The longest ever reported.
    reported: u64,
    /// Calls of the method on the path to the present record.
    on_path: u32,
    /// Reports are due.
    touched: bool,
}

/// The methods of one agent.
#[derive(Debug)]
pub(crate) struct Methods {
    signatures: bool,
    generation: u32,
    hasher: RandomState,
    /// Slots by hash of the name. Methods that differ in their signature have one slot.
    slots: HashMap<u64, u32, RandomState>,
    sums: Vec<Sums>,
    touched: Vec<u32>,
    /// Negative self time of methods without a slot, by hash of the name.
    carried: HashMap<u64, i64, RandomState>,
    name: String,
    /// Names that were used and not defined.
    unresolved: u64,
}

crate::heap_size!(Methods { slots, sums, touched, carried, name });

impl Methods {
    /// `signatures`: names have the types of the arguments. `generation`: as of the agent's earlier
    /// methods.
    pub(crate) fn new(signatures: bool, generation: u32) -> Self {
        Self {
            signatures,
            generation,
            hasher: RandomState::default(),
            slots: HashMap::default(),
            sums: Vec::new(),
            touched: Vec::new(),
            carried: HashMap::default(),
            name: String::new(),
            unresolved: 0,
        }
    }

    /// The slot of a method id.
    #[inline]
    pub(crate) fn slot(&mut self, id: u32, names: &mut Names, peer: &mut Peer) -> u32 {
        match names.get_method(id) {
            Some(method) if method.slot >> SLOT_BITS == self.generation => method.slot & SLOT_MASK,
            _ => self.bind(id, names, peer),
        }
    }

    /// Adds a record with an end.
    #[inline]
    pub(crate) fn add(&mut self, slot: u32, record: &Record) {
        let Some(sums) = self.sums.get_mut(slot as usize) else { return };
        if !sums.touched {
            sums.touched = true;
            self.touched.push(slot);
        }
        let Record { duration, children, exceptions, .. } = *record;
        sums.count += 1;
        sums.errors += u64::from(exceptions > 0);
        sums.total_time = sums.total_time.wrapping_add(duration);
        if sums.on_path == 0 {
            sums.time = sums.time.wrapping_add(duration);
        }
        let own = duration.wrapping_sub(children).cast_signed();
        sums.self_time = sums.self_time.wrapping_add(own);
        sums.longest = sums.longest.max(duration);
    }

    /// The records that follow are within a call of the method.
    #[inline]
    pub(crate) fn enter(&mut self, slot: u32) {
        self.sums.get_mut(slot as usize).into_iter().for_each(|s| s.on_path += 1);
    }

    /// They are no longer.
    #[inline]
    pub(crate) fn leave(&mut self, slot: u32) {
        self.sums.get_mut(slot as usize).into_iter().for_each(|s| s.on_path -= 1);
    }

    /// Tells apart numbers of methods before and after they were freed.
    pub(crate) const fn generation(&self) -> u32 {
        self.generation
    }

    /// Names that were used and not defined, since the last time.
    pub(crate) fn take_unresolved(&mut self) -> u64 {
        std::mem::take(&mut self.unresolved)
    }

    /// There are no more slots: they begin anew.
    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= METHOD_ROWS
    }

    #[cold]
    fn bind(&mut self, id: u32, names: &mut Names, peer: &mut Peer) -> u32 {
        self.unresolved += write_name(&mut self.name, id, self.signatures, names);
        let key = name(&self.name);
        let hash = self.hasher.hash_one(&*key);
        let slot = match self.slots.get(&hash) {
            Some(slot) => *slot,
            None => {
                if self.sums.is_empty() {
                    self.sums.push(Sums::default());
                }
                let full = self.is_full();
                let slot = if full { REST } else { u32::try_from(self.sums.len()).unwrap_or(REST) };
                let own = (!full).then_some(&*key);
                peer.row(m::METHODS, slot, own);
                for item in m::METHOD_ITEMS {
                    peer.row_add(slot, item, 0);
                }
                if !full {
                    let self_time = self.carried.remove(&hash).unwrap_or_default();
                    self.sums.push(Sums { self_time, ..Sums::default() });
                    self.slots.insert(hash, slot);
                }
                slot
            }
        };
        if let Some(method) = names.method(id) {
            method.slot = self.generation << SLOT_BITS | slot;
        }
        slot
    }

    /// Reports the sums since the last report.
    pub(crate) fn report(&mut self, peer: &mut Peer) {
        for slot in self.touched.drain(..) {
            let Some(sums) = self.sums.get_mut(slot as usize) else { continue };
            let self_time_now = u64::try_from(sums.self_time).unwrap_or_default();
            let all = [self_time_now, sums.count, sums.errors, sums.time, sums.total_time];
            peer.row_add_all(slot, &m::METHOD_ITEMS, all);
            let reported = sums.longest.max(sums.reported);
            if reported > sums.reported {
                peer.row_max(slot, m::METHOD_MAX, reported);
            }
            let self_time = sums.self_time.min(0);
            let on_path = sums.on_path;
            *sums = Sums { self_time, reported, on_path, ..Sums::default() };
        }
    }

    /// Frees what an idle agent does not need; the rows stay in the store.
    pub(crate) fn free(&mut self, peer: &mut Peer) {
        self.report(peer);
        if self.sums.is_empty() {
            return;
        }
        peer.free_rows(m::METHODS);
        for (hash, slot) in std::mem::take(&mut self.slots) {
            let carried = self.sums.get(slot as usize).map_or(0, |s| s.self_time);
            if carried < 0 && self.carried.len() < CARRIED {
                self.carried.insert(hash, carried);
            }
        }
        self.generation = (self.generation + 1) % GENERATIONS;
        (self.sums, self.touched, self.name) = (Vec::new(), Vec::new(), String::new());
    }
}

/// Writes `package.Class.method`, a number in place of each name that is not defined. Returns how
/// many of the names are not.
pub(crate) fn write_name(to: &mut String, id: u32, signature: bool, names: &Names) -> u64 {
    use std::fmt::Write;
    to.clear();
    let Some(method) = names.get_method(id).copied() else {
        let _ = write!(to, "#{id}");
        return 1;
    };
    let mut unresolved = 0;
    let parts = [Some(method.class), Some(method.name), signature.then_some(method.signature)];
    for (n, symbol) in parts.into_iter().enumerate() {
        let Some(symbol) = symbol else { continue };
        if n == 1 {
            to.push('.');
        }
        match names.symbol(symbol) {
            Some(text) => to.push_str(text),
            None if symbol == 0 => {}
            None => {
                unresolved += 1;
                let _ = write!(to, "#{symbol}");
            }
        }
    }
    unresolved
}

/// No stack: the parent of the outermost methods.
pub(crate) const OUTERMOST: u32 = ROOT;

/// The stacks of one agent.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    tree: CallTree,
    /// Number of stacks with rows.
    rows: u32,
    /// Time by node that reported calls took beyond that of the call that made them, as ticks and
    /// steps of clocks cause: the node's next times are less by it.
    overdrawn: HashMap<u32, u64, RandomState>,
}

crate::heap_size!(Stacks { tree, overdrawn });

/// A record with an end, and where it was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    /// Stack around it.
    pub(crate) parent: u32,
    /// Number of records around it.
    pub(crate) depth: usize,
    /// The agent's number of its method.
    pub(crate) slot: u32,
    /// Its position in the body.
    pub(crate) at: u32,
}

impl Stacks {
    /// Adds a record, which is one of `records`. Returns its stack.
    #[inline]
    pub(crate) fn add(
        &mut self,
        called: Called,
        record: &Record,
        records: &[Record],
        names: &Names,
        peer: &mut Peer,
    ) -> u32 {
        let node = if called.depth < STACK_DEPTH || called.parent == OUTERMOST {
            self.tree.child(called.parent, called.slot)
        } else {
            called.parent
        };
        let mut own = record.duration.saturating_sub(record.children);
        if record.children > record.duration || !self.overdrawn.is_empty() {
            own = self.settle(node, own, record.children.saturating_sub(record.duration));
        }
        if own > 0 {
            let row = self.tree.nodes.get(node as usize).map(|node| node.row);
            let slot = match row {
                Some(NodeRow::Assigned(slot)) => Some(slot),
                Some(NodeRow::Unnamed) => self.bind(node, called.at, records, names, peer),
                Some(NodeRow::Hidden) | None => None,
            };
            if let Some(slot) = slot {
                peer.row_add(slot, m::STACK_TIME, own);
            }
        }
        node
    }

    /// Sets a time off against what the node is overdrawn; returns the rest.
    #[cold]
    fn settle(&mut self, node: u32, own: u64, more: u64) -> u64 {
        let owed = self.overdrawn.remove(&node).unwrap_or_default().saturating_add(more);
        if owed > own {
            self.overdrawn.insert(node, owed - own);
        }
        own.saturating_sub(owed)
    }

    /// Gives a stack its row, named by the methods on the path to a record.
    #[cold]
    fn bind(
        &mut self,
        node: u32,
        at: u32,
        records: &[Record],
        names: &Names,
        peer: &mut Peer,
    ) -> Option<u32> {
        let (mut at, mut text) = (at, String::new());
        // The tree asks from the innermost method outwards.
        let name = self.tree.name(node, &mut |slot| {
            loop {
                let record = records.get(at as usize)?;
                at = record.parent;
                if record.flags & FLAG_CLOSED != 0 {
                    if slot == REST {
                        return Some(OTHER.to_owned());
                    }
                    write_name(&mut text, record.method, false, names);
                    let blank = |c: char| c.is_whitespace() || c.is_control();
                    return Some(text.replace(blank, "_"));
                }
            }
        })?;
        let slot = self.rows;
        self.tree.nodes.get_mut(node as usize)?.row = NodeRow::Assigned(slot);
        peer.row(m::STACKS, slot, Some(&name));
        self.rows += 1;
        Some(slot)
    }

    /// There is no room for more stacks: they begin anew.
    pub(crate) const fn is_full(&self) -> bool {
        self.tree.is_full()
    }

    /// Frees all stacks; their rows stay in the store.
    pub(crate) fn free(&mut self, peer: &mut Peer) {
        if !self.tree.nodes.is_empty() {
            peer.free_rows(m::STACKS);
            *self = Self::default();
        }
    }
}

/// Counts exceptions by class.
#[derive(Debug, Default)]
pub(crate) struct Exceptions(RandomState);

impl Exceptions {
    /// Counts an exception. `copy`: it was counted before.
    pub(crate) fn add(
        &self,
        exception: &Exception,
        copy: bool,
        body: &[u8],
        names: &Names,
        peer: &mut Peer,
    ) {
        let class: Cow<'_, str> = match exception.class {
            ClassName::Symbol(id) => match names.symbol(id) {
                Some(text) => text.into(),
                None => format!("#{id}").into(),
            },
            ClassName::Text(slice) => String::from_utf8_lossy(slice.of(body)),
        };
        let (items, sums) = ([m::CLASS_COUNT, m::CLASS_RECEIVED], [u64::from(!copy), 1]);
        let hash = self.0.hash_one(&*class);
        peer.count_row(&items, hash, sums, |row| row.named(&name(&class), &[]));
    }
}

/// Names of an exception that are not defined.
pub(crate) fn unresolved(exception: &Exception, names: &Names) -> u64 {
    let class = match exception.class {
        ClassName::Symbol(id) => id,
        ClassName::Text(_) => 0,
    };
    let frame = exception.first.unwrap_or_default();
    let undefined = |id: &u32| *id != 0 && names.symbol(*id).is_none();
    [class, frame.class, frame.method, frame.file].iter().filter(|id| undefined(id)).count() as u64
}

#[cfg(test)]
#[path = "tests/methods.rs"]
mod tests;
