//! Trees of methods of the slowest calls. The events of a root are kept while it is open; if it is one of the
//! slowest of its service in a window, they are read again when the window is over and the call's own record,
//! its names and the pauses behind it have come.

mod kept;
mod pauses;
mod statements;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use self::kept::Step;
pub(crate) use self::kept::{Kept, PodBytes};
pub(crate) use self::pauses::Pauses;
use self::statements::{Statements, Values};
use super::accounting::{Marks, method_name, method_part, nameless};
use super::pending::PendingCall;
use super::roles::{ParamRole, ParamRoles};
use super::thread::Thread;
use crate::contract::{ParamId, Peer, Record};
use crate::events::Batch;
use crate::events::flags::POINT;
use crate::meter::{FOLDED, PathTree, SlowCalls, SlowService, Ticket};
use crate::model::{HeapSize, Stamp, TreeRules};
use crate::sources::profiler::dictionary::Dictionary;
use crate::sources::profiler::limits::{PATIENCE, TREE_CALLS};
use crate::sources::profiler::metrics::{self as m, ns};
use crate::sources::profiler::streams::record::{BigValue, Call, Pointer, Reference};

/// Nodes that took less are not shown: times are in milliseconds.
const LEAST: i64 = 1_000_000;
/// The parameter with a statement.
const SQL: &str = "sql";

/// A root that was among the slowest when it ended.
#[derive(Debug)]
struct Root {
    ticket: Ticket,
    /// Until then it waits for what belongs to it.
    until: Duration,
    pointer: Pointer,
    method: u32,
    begin_ms: i64,
    end_ms: i64,
    events: Kept,
    call: Option<Box<PendingCall>>,
}

/// The trees of one connection.
#[derive(Debug)]
pub(crate) struct Trees {
    /// Roots that begin are kept.
    pub(crate) on: bool,
    /// Shortest root that is kept, in milliseconds; of no use while nobody reads.
    pub(crate) least_ms: i64,
    /// Time of the present call of the session.
    pub(crate) now: Duration,
    rules: TreeRules,
    bytes: Arc<PodBytes>,
    shared: Arc<SlowCalls>,
    service: Option<Arc<SlowService>>,
    roots: Vec<Root>,
    /// Slow calls without a root yet, and when they came: agents flush the trace first, but for what is open then.
    calls: VecDeque<(Duration, PendingCall)>,
    values: Values,
}

impl HeapSize for Trees {
    /// The events are charged by [`PodBytes`].
    fn heap_size(&self) -> usize {
        let call = |root: &Root| root.call.as_ref().map_or(0, HeapSize::heap_size);
        let calls = self.calls.iter().map(|(_, call)| call.heap_size());
        let roots = self.roots.iter().map(call);
        self.roots.heap_size()
            + self.calls.heap_size()
            + self.values.heap_size()
            + roots.chain(calls).sum::<usize>()
    }
}

impl Default for Trees {
    fn default() -> Self {
        Self::new(Arc::new(SlowCalls::new(&Arc::default())))
    }
}

impl Trees {
    pub(crate) fn new(shared: Arc<SlowCalls>) -> Self {
        Self {
            on: false,
            least_ms: i64::MAX,
            now: Duration::ZERO,
            rules: TreeRules::default(),
            bytes: Arc::new(PodBytes::new(Arc::clone(&shared))),
            shared,
            service: None,
            roots: Vec::new(),
            calls: VecDeque::new(),
            values: Values::default(),
        }
    }

    /// A value of the stream `sql`.
    pub(crate) fn sql(&mut self, value: &BigValue<'_>) {
        if self.on {
            self.values.push(value);
        }
    }

    /// The peer is one of this service. From now on it has a stream, to which a reader can come.
    pub(crate) fn join(&mut self, service: &str, peer: &mut Peer) {
        self.service = self.shared.of(service);
        peer.append(m::TREE, &mut Batch::default());
    }

    /// Looks whether somebody reads trees; `true`: nobody does any more.
    pub(crate) fn watch(&mut self, peer: &Peer) -> bool {
        self.rules = self.shared.rules();
        let before = self.on;
        self.on = self.service.is_some() && (self.rules.always || peer.is_watched(m::TREE));
        let least = self.rules.least.as_millis();
        self.least_ms = if self.on { i64::try_from(least).unwrap_or(i64::MAX) } else { i64::MAX };
        if before && !self.on {
            self.values.clear();
        }
        before && !self.on
    }

    /// Bytes that are charged to all connections together.
    pub(crate) fn charged(&self) -> usize {
        self.bytes.charged()
    }

    /// What the bytes of open roots are charged to.
    pub(crate) const fn bytes(&self) -> &Arc<PodBytes> {
        &self.bytes
    }

    /// A root has ended that took [`Self::least_ms`] at least. `events`: the last ones, and the time before them.
    #[cold]
    #[inline(never)]
    pub(crate) fn offer(&mut self, thread: &mut Thread, method: u32, events: (&[u8], i64)) {
        let (begin_ms, end_ms) = (thread.root_ms, thread.time_ms);
        let took = u64::try_from(end_ms.saturating_sub(begin_ms)).unwrap_or_default();
        let ticket = self.service.as_ref().and_then(|s| s.offer(self.now, took, self.rules.count));
        let Some(ticket) = ticket else { return };
        thread.kept.append(&self.bytes, events.0, events.1, end_ms);
        if self.roots.len() >= 2 * self.rules.count {
            self.prune();
        }
        let of_root = |(_, call): &(_, PendingCall)| call.numbers.pointer == thread.pointer;
        let early = self.calls.iter().position(of_root).and_then(|at| self.calls.remove(at));
        self.roots.push(Root {
            ticket,
            until: self.now + PATIENCE,
            pointer: thread.pointer,
            method,
            begin_ms,
            end_ms,
            events: thread.kept.take(),
            call: early.map(|(_, call)| Box::new(call)),
        });
    }

    /// Drops roots whose places others have taken.
    fn prune(&mut self) {
        let Self { roots, service, .. } = self;
        roots.retain(|root| service.as_ref().is_some_and(|service| service.holds(root.ticket)));
    }

    /// The record of a call: it may be that of a root.
    #[inline]
    pub(crate) fn call(&mut self, call: &Call<'_>) {
        if call.duration_ms >= self.least_ms.cast_unsigned() {
            self.find_root(call);
        }
    }

    fn find_root(&mut self, call: &Call<'_>) {
        let Self { roots, calls, service, rules, now, .. } = self;
        let root = roots.iter_mut().find(|root| root.pointer == call.pointer);
        // Its root may still come.
        let early = root.is_none()
            && service.as_ref().is_some_and(|s| s.wants(*now, call.duration_ms, rules.count));
        let mut own = PendingCall::default();
        if let Some(root) = root.filter(|root| root.call.is_none()) {
            own.take(call);
            root.call = Some(Box::new(own));
        } else if early {
            own.take(call);
            if calls.len() >= TREE_CALLS {
                calls.pop_front();
            }
            calls.push_back((*now, own));
        }
    }

    /// The dictionary was reset: what waits has lost its names.
    pub(crate) fn reset_dictionary(&mut self, peer: &mut Peer) {
        self.prune();
        peer.add(m::TREES_DROPPED, self.roots.len() as u64);
        (self.roots, self.calls) = (Vec::new(), VecDeque::new());
    }

    /// Makes the records of roots that are decided and complete, or have waited for long enough; of all at the
    /// `end` of the connection.
    pub(crate) fn report(
        &mut self,
        now: Duration,
        known: (&Dictionary, &Pauses, &mut ParamRoles),
        peer: &mut Peer,
        end: bool,
    ) {
        self.tell(now, known, peer, end);
        self.bytes.settle();
    }

    fn tell(
        &mut self,
        now: Duration,
        (words, pauses, roles): (&Dictionary, &Pauses, &mut ParamRoles),
        peer: &mut Peer,
        end: bool,
    ) {
        self.calls.retain(|(came, _)| *came + PATIENCE > now);
        if self.roots.is_empty() {
            return;
        }
        self.prune();
        let (size, values) = (self.rules.size, &self.values);
        self.roots.retain(|root| {
            if !end && now < root.ticket.decided() {
                return true;
            }
            if !end && now < root.until && !root.is_known(words, pauses) {
                return true;
            }
            let (tree, statements) = root.tree(pauses, words);
            let text = tree.text(size, LEAST, true, |method| match words.get(method) {
                Some(word) => method_part(word).to_owned(),
                None => nameless(method),
            });
            peer.add(m::TREES, 1);
            peer.add(m::TREES_PARTIAL, root.events.partial.into());
            peer.record(m::TREE, Stamp::from_millis(root.begin_ms), POINT, |record| {
                record.text(m::P_TREE, &text.text);
                record.number(m::P_NODES, text.nodes as u64);
                record.positive(m::P_STATEMENTS, statements.count);
                record.text(m::P_SQL, &statements.text(values));
                root.describe(record, pauses, words, roles);
            });
            false
        });
        if self.roots.is_empty() {
            self.roots = Vec::new();
        }
    }
}

/// A method that is not over.
struct Open {
    node: u32,
    /// The nearest node that is not folded.
    known: u32,
    begin: i64,
    /// Its statement.
    sql: Option<Reference>,
}

impl Root {
    /// Its own record, the pauses behind it and all names have come.
    fn is_known(&self, words: &Dictionary, pauses: &Pauses) -> bool {
        pauses.reach(self.end_ms)
            && self.call.as_ref().is_some_and(|call| call.is_named(words))
            && words.get(self.method).is_some()
            && self.events.methods().all(|method| words.get(method).is_some())
    }

    /// The tree, and the statements.
    fn tree(&self, pauses: &Pauses, words: &Dictionary) -> (PathTree, Statements) {
        let mut tree = PathTree::new(self.method);
        let mut statements = Statements::default();
        let mut open = vec![Open { node: 0, known: 0, begin: self.begin_ms, sql: None }];
        let exit =
            |tree: &mut PathTree, open: &mut Vec<Open>, sqls: &mut Statements, at_ms: i64| {
                let Some(Open { node, known, begin, sql }) = open.pop() else { return };
                let took = at_ms.wrapping_sub(begin);
                sql.into_iter().for_each(|sql| sqls.took(sql, took));
                let took = took.saturating_mul(LEAST);
                if node != FOLDED {
                    tree.add(node, took, pauses.within(begin, at_ms).saturating_mul(LEAST), 1);
                } else if open.last().is_some_and(|outer| outer.node != FOLDED) {
                    tree.fold(known, took, 1);
                }
            };
        let last_ms = self.events.read(self.begin_ms, |at_ms, step| match step {
            Step::Enter(method) => {
                let (outer, known) = open.last().map_or((FOLDED, 0), |o| (o.node, o.known));
                let node = if outer == FOLDED { FOLDED } else { tree.child(outer, method) };
                let known = if node == FOLDED { known } else { node };
                open.push(Open { node, known, begin: at_ms, sql: None });
            }
            Step::Exit if open.len() > 1 => exit(&mut tree, &mut open, &mut statements, at_ms),
            Step::Exit => {}
            Step::Tag(param, Some(at)) if words.get(param).is_some_and(|w| &**w == SQL) => {
                statements.add(at);
                open.last_mut().into_iter().for_each(|open| open.sql = Some(at));
            }
            Step::Tag(..) => {}
        });
        // Methods that are not over took until then; of what came behind nothing is known.
        let known_ms = if self.events.partial { last_ms } else { self.end_ms };
        while open.len() > 1 {
            exit(&mut tree, &mut open, &mut statements, known_ms);
        }
        exit(&mut tree, &mut open, &mut statements, self.end_ms);
        let unknown = self.end_ms.saturating_sub(known_ms);
        if unknown > 0 {
            tree.fold(0, unknown.saturating_mul(LEAST), 0);
        }
        (tree, statements)
    }

    /// Adds what a tree's record has of its call.
    fn describe(
        &self,
        record: &mut Record<'_>,
        pauses: &Pauses,
        words: &Dictionary,
        roles: &mut ParamRoles,
    ) {
        record.positive(m::P_PARTIAL, self.events.partial.into());
        let name = words.get(self.method).map_or_else(|| nameless(self.method), |w| method_name(w));
        record.text(m::P_METHOD, &name);
        let took = u64::try_from(self.end_ms.saturating_sub(self.begin_ms)).unwrap_or_default();
        record.number(m::P_DURATION, ns(took));
        let stood = pauses.within(self.begin_ms, self.end_ms);
        record.positive(m::P_SUSPENDED, ns(stood.unsigned_abs()));
        record.positive(m::P_TRACE_FILE, self.pointer.file.into());
        record.positive(m::P_TRACE_OFFSET, self.pointer.offset.into());
        record.positive(m::P_TRACE_INDEX, self.pointer.index.into());
        let Some(own) = &self.call else { return };
        let call = own.call();
        if let Some(thread) = call.thread_name {
            record.text(m::P_THREAD, thread);
        }
        record.positive(m::P_CPU, ns(call.cpu_ms));
        record.positive(m::P_WAIT, ns(call.wait_ms));
        record.positive(m::P_NESTED, call.calls.into());
        record.positive(m::P_ERROR, Marks::of(call.method, own.ids(), words).error.into());
        for (id, value) in own.params() {
            if let ParamRole::Own(ParamId::Item(item)) = roles.role(id, words)
                && [m::P_TITLE, m::P_TRACE_ID, m::P_REQUEST_ID].contains(&item)
            {
                record.text(item, value);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test")]
#[path = "../tests/trees.rs"]
mod tests;
