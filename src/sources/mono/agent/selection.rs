//! Requests to an agent for the configured selection and for users, and the effects of its
//! responses.
//!
//! | agent | selection | user adds | user removes |
//! |---|---|---|---|
//! | note | List, then Add and Remove until it samples the selection | Add; a glob by List | Remove |
//! | C | List, then Add missing counters; the rest is not shown | as the note, never twice | not shown |
//! | B | Add missing counters by full name; the rest is not shown | Add by full name | not shown |
//! | A, file | not shown | not possible | not shown |

use std::collections::{BTreeSet, HashSet};

use bytes::BytesMut;
use mono_counters::message::Status;
use mono_counters::numbers::{bare_category, category_of_note};

use super::queue::{Answer, Origin, PendingRequests, QueuedRequest, RequestQueue, items};
use super::requests::{Agent, Refusal, Request};
use crate::contract::Peer;
use crate::model::{ControlId, HeapSize};
use crate::sources::mono::counters::pattern::Pattern;
use crate::sources::mono::counters::{Counters, listed};
use crate::sources::mono::limits;
use crate::sources::mono::metrics::{ADD, LIST, REMOVE};

/// The two outputs of a session: bytes to the agent, and what is said of it.
pub(crate) struct Io<'a> {
    pub(crate) out: &'a mut BytesMut,
    pub(crate) peer: &'a mut Peer,
}

/// Overhead of a pair of strings in bytes, and the length of a usual pair.
const PAIR: usize = 2 * size_of::<String>() + 32;
const USUAL: usize = 40;

/// The requests of one connection.
#[derive(Debug)]
pub(crate) struct Selection {
    queue: RequestQueue,
    pending: PendingRequests,
    /// The open List response: category and name of each counter so far.
    listing: Option<Vec<(String, String)>>,
    /// Bytes of the open List response.
    listed: usize,
    /// Announced counters that the selection has removed; an empty selection adds them again.
    removed: BTreeSet<(String, String)>,
}

impl HeapSize for Selection {
    fn heap_size(&self) -> usize {
        let removed = self.removed.len() * (PAIR + USUAL);
        self.queue.heap_size() + self.pending.heap_size() + self.listed + removed
    }
}

impl Selection {
    pub(crate) fn new(queue: RequestQueue) -> Self {
        Self {
            queue,
            pending: PendingRequests::default(),
            listing: None,
            listed: 0,
            removed: BTreeSet::new(),
        }
    }

    pub(crate) const fn agent(&self) -> Agent {
        self.queue.agent()
    }

    /// Hello is complete: requests the counters of the selection.
    pub(crate) fn begin(&mut self, probe: bool, counters: &mut Counters, io: &mut Io<'_>) {
        if probe && self.agent() == Agent::Unknown && self.queue.two_way() {
            self.queue.push(Request::Probe, Origin::Numbering);
        }
        self.request_selection(counters);
        self.send(counters, io);
    }

    fn request_selection(&mut self, counters: &Counters) {
        if counters.selection().is_empty() || !self.queue.two_way() {
            return;
        }
        if self.agent() != Agent::B {
            self.queue.push(Request::List, Origin::Selection);
            return;
        }
        for (category, name) in counters
            .selection()
            .iter()
            .filter(|p| counters.matching(p).is_empty())
            .filter_map(Pattern::literal)
        {
            self.select_one(category, name);
        }
    }

    /// Requests a counter of the selection.
    fn select_one(&mut self, category: &str, name: &str) {
        let request = Request::Add { category: category.into(), name: name.into() };
        self.queue.push(request, Origin::Selection);
    }

    /// Another selection is configured.
    pub(crate) fn select(
        &mut self,
        patterns: Vec<Pattern>,
        counters: &mut Counters,
        io: &mut Io<'_>,
    ) {
        if patterns == counters.selection() {
            return;
        }
        counters.select(patterns);
        self.queue.forget_selection();
        if counters.selection().is_empty() {
            for (category, name) in std::mem::take(&mut self.removed) {
                self.select_one(&category, &name);
            }
        }
        self.request_selection(counters);
        self.send(counters, io);
    }

    /// A user's control request: `CATEGORY/NAME` or patterns, separated by `;`.
    pub(crate) fn request(
        &mut self,
        control: ControlId,
        text: &str,
        counters: &mut Counters,
        io: &mut Io<'_>,
    ) {
        let Some(id) = self.pending.begin(control) else {
            let text = "not possible: too many requests are waiting for the agent".to_owned();
            io.peer.answer(control, text);
            return;
        };
        match (control, items(text)) {
            (LIST, _) => self.request_for(id, Request::List, counters),
            (_, Err((what, why))) => self.pending.line(id, what, why),
            (ADD | REMOVE, Ok(items)) => {
                for item in items {
                    match (Pattern::parse(item), control) {
                        (Err(wrong), _) => self.pending.line(id, "not possible", wrong),
                        (Ok(pattern), REMOVE) => self.remove(id, &pattern, counters),
                        (Ok(pattern), _) => self.add(id, pattern, counters),
                    }
                }
                if self.pending.has_globs(id) {
                    self.request_for(id, Request::List, counters);
                }
            }
            // Controls of other sources never reach this session.
            _ => {}
        }
        self.send(counters, io);
        self.settle(id, io);
    }

    fn add(&mut self, id: u32, pattern: Pattern, counters: &mut Counters) {
        let Some((category, name)) = pattern.literal() else {
            self.pending.glob(id, pattern);
            return;
        };
        let known = counters.matching(&pattern);
        if known.is_empty() {
            let (category, name) = (category_of_note(category).to_owned(), name.to_owned());
            self.request_for(id, Request::Add { category, name }, counters);
        }
        known.into_iter().for_each(|index| self.show(id, index, counters));
    }

    /// Shows a counter that the agent samples already.
    fn show(&mut self, id: u32, index: u16, counters: &mut Counters) {
        let before = counters.shown(index);
        counters.force(index);
        self.pending.line(id, &counters.key(index), if before { "EXISTING" } else { "OK" });
    }

    fn remove(&mut self, id: u32, pattern: &Pattern, counters: &mut Counters) {
        let meant = counters.matching(pattern);
        if meant.is_empty() {
            self.pending.line(id, pattern.text(), "NOTFOUND");
        }
        for index in meant {
            if self.queue.two_way() && self.agent() == Agent::Note {
                self.request_for(id, Request::Remove { index }, counters);
            } else {
                counters.hide(index);
                self.pending.line(
                    id,
                    &counters.key(index),
                    "OK, not shown any more; the agent cannot be told",
                );
            }
        }
    }

    fn request_for(&mut self, id: u32, request: Request, counters: &Counters) {
        let what = subject(&request, counters);
        if self.queue.push(request, Origin::User(id)) {
            self.pending.expect(id);
        } else {
            self.pending.line(
                id,
                &what,
                "not possible: too many requests are waiting for the agent",
            );
        }
    }

    fn settle(&mut self, id: u32, io: &mut Io<'_>) {
        if let Some((control, text)) = self.pending.settle(id) {
            io.peer.answer(control, text);
        }
    }

    fn send(&mut self, counters: &Counters, io: &mut Io<'_>) {
        let mut reported = false;
        for (QueuedRequest { request, origin }, refusal) in self.queue.send(counters, io.out) {
            let what = subject(&request, counters);
            match origin {
                Origin::User(id) => {
                    self.pending.line(id, &what, refusal);
                    self.settle(id, io);
                }
                Origin::Selection | Origin::Numbering if !reported => {
                    reported = true;
                    io.peer.error(&format!("{what}: {refusal}"));
                    if refusal == Refusal::IndexSpace {
                        self.queue.forget_selection();
                    }
                }
                Origin::Selection | Origin::Numbering => {}
            }
        }
    }

    /// A List response begins.
    pub(crate) fn list_begins(&mut self) {
        self.listed = 0;
        self.listing = self.queue.expects_list().then(Vec::new);
    }

    /// One pair of a List response; `false`: more than an agent can have.
    pub(crate) fn list_pair(&mut self, first: &str, second: &str) -> bool {
        let Some(list) = &mut self.listing else { return true };
        let (category, name) =
            if self.queue.agent() == Agent::C { (first, second) } else { (second, first) };
        if !category.is_empty() && !name.is_empty() {
            self.listed += category.len() + name.len() + PAIR;
            list.push((category.to_owned(), name.to_owned()));
        }
        list.len() <= limits::COUNTERS
    }

    /// A List response is complete.
    pub(crate) fn list_ends(&mut self, counters: &mut Counters, io: &mut Io<'_>) {
        // A List that was sent after the response began gets another response.
        self.listed = 0;
        let Some((list, asked)) =
            self.listing.take().and_then(|list| Some((list, self.queue.listed()?)))
        else {
            unsolicited("List", io);
            return;
        };
        if self.agent() == Agent::Unknown {
            // Only agents of the note respond to a List, or to the probe, with a List.
            self.queue.numbering(Agent::Note);
        }
        match asked.origin {
            Origin::Numbering => {}
            Origin::Selection => self.select_from(&list, counters),
            Origin::User(id) => {
                if self.pending.has_globs(id) {
                    self.add_from(id, &list, counters);
                } else {
                    let mut answer = Answer::default();
                    list.iter().for_each(|(category, name)| {
                        answer.item(";", &format!("{}/{name}", bare_category(category)))
                    });
                    self.pending.whole(id, answer);
                }
                self.settle(id, io);
            }
        }
        self.send(counters, io);
    }

    fn select_from(&mut self, list: &[(String, String)], counters: &Counters) {
        if counters.selection().is_empty() {
            return;
        }
        let mut have = counters.as_listed();
        for (category, name) in list {
            if counters.selection().iter().any(|p| p.matches(category, name))
                && have.insert(listed(category, name))
            {
                self.select_one(category, name);
            }
        }
        if self.agent() == Agent::Note {
            for index in counters.unwanted() {
                self.queue.push(Request::Remove { index }, Origin::Selection);
            }
        }
    }

    fn add_from(&mut self, id: u32, list: &[(String, String)], counters: &mut Counters) {
        let mut have: HashSet<String> = counters.as_listed();
        for pattern in self.pending.take_globs(id) {
            let known = counters.matching(&pattern);
            let mut found = !known.is_empty();
            known.into_iter().for_each(|index| self.show(id, index, counters));
            for (category, name) in
                list.iter().filter(|(category, name)| pattern.matches(category, name))
            {
                found = true;
                if have.insert(listed(category, name)) {
                    let request = Request::Add { category: category.clone(), name: name.clone() };
                    self.request_for(id, request, counters);
                }
            }
            if !found {
                self.pending.line(id, pattern.text(), "NOTFOUND");
            }
        }
    }

    /// An Add response: its status, and the index if it is OK. The counter is announced already.
    pub(crate) fn added(
        &mut self,
        status: Status,
        index: Option<u16>,
        counters: &mut Counters,
        io: &mut Io<'_>,
    ) {
        let Some(QueuedRequest { request, origin }) = self.queue.added() else {
            unsolicited("Add", io);
            return;
        };
        if request == Request::Probe {
            // Only agents of 2014 parse the probe as an Add.
            self.queue.numbering(Agent::C);
        }
        let what = subject(&request, counters);
        if let (Some(_), Request::Add { category, name }) = (index, request) {
            self.removed.remove(&(category, name));
        }
        match origin {
            Origin::User(id) => {
                if let Some(index) = index {
                    counters.force(index);
                }
                self.pending.line(id, &what, status.name());
                self.settle(id, io);
            }
            Origin::Selection if matches!(status, Status::Nok | Status::NotFound) => {
                io.peer.error(&format!("{what}: {}", status.name()));
            }
            Origin::Selection | Origin::Numbering => {}
        }
        self.send(counters, io);
    }

    /// A Remove response.
    pub(crate) fn removed(&mut self, status: Status, counters: &mut Counters, io: &mut Io<'_>) {
        let Some(QueuedRequest { request, origin }) = self.queue.removed() else {
            unsolicited("Remove", io);
            return;
        };
        let what = subject(&request, counters);
        if let (Request::Remove { index }, Status::Ok | Status::NotFound) = (request, status) {
            if origin == Origin::Selection {
                self.removed.extend(counters.words(index));
            }
            counters.remove(index);
        }
        if let Origin::User(id) = origin {
            self.pending.line(id, &what, status.name());
            self.settle(id, io);
        }
        self.send(counters, io);
    }

    /// The connection ends.
    pub(crate) fn goodbye(&self, counters: &Counters, out: &mut BytesMut) {
        self.queue.goodbye(counters, out);
    }
}

/// The subject of a request, for answers and log lines.
fn subject(request: &Request, counters: &Counters) -> String {
    match request {
        Request::Add { category, name } => format!("{}/{name}", bare_category(category)),
        Request::Remove { index } => counters.key(*index),
        Request::List => "list".into(),
        Request::Probe => "probe".into(),
        Request::GoodBye => "good-bye".into(),
    }
}

fn unsolicited(kind: &str, io: &mut Io<'_>) {
    io.peer.error(&format!("unsolicited {kind} response"));
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
