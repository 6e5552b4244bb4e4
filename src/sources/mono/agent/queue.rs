//! What waits for one agent: requests that are not sent or not answered, the request that a response
//! belongs to, and the controls of users that it answers.
//!
//! Agents respond in the order of requests, with Samples in between, and a response does not name
//! its request (docs/protocols/mono-counters.md section 2). So the request of a response must be
//! the oldest outstanding one. A control can name many counters, whose results arrive one by one;
//! its answer is reported with the last of them.

use std::collections::VecDeque;

use bytes::BytesMut;
use mono_counters::numbers::category_of_2014;

use super::requests::{Agent, Permitted, Refusal, Request, Rules, Sampled};
use crate::heap_size;
use crate::model::{ControlId, HeapSize};
use crate::read::Order;
use crate::sources::mono::counters::Counters;
use crate::sources::mono::counters::pattern::Pattern;
use crate::sources::mono::limits;

/// The cause of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Detection of the agent's number space.
    Numbering,
    /// The configured selection.
    Selection,
    /// A user's control request.
    User(u32),
}

/// A request and its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueuedRequest {
    pub(crate) request: Request,
    pub(crate) origin: Origin,
}

/// The requests of one connection.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    rules: Rules,
    order: Order,
    waiting: VecDeque<QueuedRequest>,
    outstanding: VecDeque<QueuedRequest>,
}

impl HeapSize for RequestQueue {
    /// Names usually have 40 bytes.
    fn heap_size(&self) -> usize {
        let requests = self.waiting.len() + self.outstanding.len();
        self.waiting.heap_size() + self.outstanding.heap_size() + requests * 64
    }
}

/// The counters and the outstanding requests, as the rules need them.
struct Knowledge<'a> {
    counters: &'a Counters,
    outstanding: &'a VecDeque<QueuedRequest>,
}

impl Knowledge<'_> {
    fn adds(&self) -> impl Iterator<Item = &str> {
        self.outstanding.iter().filter_map(|a| {
            if let Request::Add { name, .. } = &a.request { Some(name.as_str()) } else { None }
        })
    }
}

impl Sampled for Knowledge<'_> {
    fn has_name(&self, name: &str) -> bool {
        self.counters.has_name(name) || self.adds().any(|outstanding| outstanding == name)
    }

    fn identifies(&self, index: u16) -> Option<bool> {
        self.counters.identifies(index)
    }

    fn indexes_used(&self) -> usize {
        self.counters.indexes_used() + self.adds().count()
    }
}

impl RequestQueue {
    pub(crate) const fn new(agent: Agent, one_way: bool, order: Order) -> Self {
        Self {
            rules: Rules { agent, one_way },
            order,
            waiting: VecDeque::new(),
            outstanding: VecDeque::new(),
        }
    }

    pub(crate) const fn agent(&self) -> Agent {
        self.rules.agent
    }

    /// Whether requests can reach the agent.
    pub(crate) const fn two_way(&self) -> bool {
        !self.rules.one_way && !matches!(self.rules.agent, Agent::A)
    }

    /// A response has shown the agent's number space.
    pub(crate) const fn numbering(&mut self, agent: Agent) {
        self.rules.agent = agent;
    }

    /// Queues a request; `false`: the queue is full.
    pub(crate) fn push(&mut self, request: Request, origin: Origin) -> bool {
        let room = self.waiting.len() < limits::WAITING;
        if room {
            self.waiting.push_back(QueuedRequest { request, origin });
        }
        room
    }

    /// Removes the requests of the selection that are not sent yet.
    pub(crate) fn forget_selection(&mut self) {
        self.waiting.retain(|a| a.origin != Origin::Selection);
    }

    /// Sends the requests that may be sent now. Returns those that are refused for good.
    pub(crate) fn send(
        &mut self,
        counters: &Counters,
        out: &mut BytesMut,
    ) -> Vec<(QueuedRequest, Refusal)> {
        let mut refused = Vec::new();
        while self.outstanding.len() < limits::OUTSTANDING {
            let unknown = self.rules.agent == Agent::Unknown && !self.rules.one_way;
            if unknown && !self.outstanding.is_empty() {
                // An agent of 2014 would parse any bytes behind a List as the strings of an
                // Add.
                break;
            }
            let Some(QueuedRequest { mut request, origin }) = self.waiting.pop_front() else {
                break;
            };
            if unknown && !matches!(request, Request::List | Request::Probe) {
                self.waiting.push_front(QueuedRequest { request, origin });
                self.waiting.push_front(QueuedRequest {
                    request: Request::List,
                    origin: Origin::Numbering,
                });
                continue;
            }
            if let (Agent::B | Agent::C, Request::Add { category, .. }) =
                (self.rules.agent, &mut request)
            {
                *category = category_of_2014(category);
            }
            match self.permit(request.clone(), counters) {
                Ok(permitted) => {
                    permitted.encode(self.order, out);
                    self.outstanding
                        .push_back(QueuedRequest { request: permitted.into_request(), origin });
                }
                Err(refusal) => refused.push((QueuedRequest { request, origin }, refusal)),
            }
        }
        refused
    }

    fn permit(&self, request: Request, counters: &Counters) -> Result<Permitted, Refusal> {
        self.rules.permit(request, &Knowledge { counters, outstanding: &self.outstanding })
    }

    /// Sends GoodBye to an agent that knows it.
    pub(crate) fn goodbye(&self, counters: &Counters, out: &mut BytesMut) {
        if let Ok(permitted) = self.permit(Request::GoodBye, counters) {
            permitted.encode(self.order, out);
        }
    }

    /// The request that a List response belongs to, if any.
    pub(crate) fn listed(&mut self) -> Option<QueuedRequest> {
        self.answered(|r| matches!(r, Request::List | Request::Probe))
    }

    /// Whether the next response is to a List.
    pub(crate) fn expects_list(&self) -> bool {
        self.outstanding
            .front()
            .is_some_and(|a| matches!(a.request, Request::List | Request::Probe))
    }

    /// The request that an Add response belongs to, if any. To agents of 2014 a probe is an Add.
    pub(crate) fn added(&mut self) -> Option<QueuedRequest> {
        self.answered(|r| matches!(r, Request::Add { .. } | Request::Probe))
    }

    /// The request that a Remove response belongs to, if any.
    pub(crate) fn removed(&mut self) -> Option<QueuedRequest> {
        self.answered(|r| matches!(r, Request::Remove { .. }))
    }

    fn answered(&mut self, fits: impl Fn(&Request) -> bool) -> Option<QueuedRequest> {
        if fits(&self.outstanding.front()?.request) { self.outstanding.pop_front() } else { None }
    }
}

/// The items of a control request's text, separated by `;`. The error: what of it is not possible,
/// and what to do.
pub(crate) fn items(text: &str) -> Result<Vec<&str>, (&'static str, String)> {
    let items: Vec<_> = text.split(';').map(str::trim).filter(|item| !item.is_empty()).collect();
    match items.len() {
        0 => Err(("nothing", "store CATEGORY/NAME".to_owned())),
        1..=limits::ITEMS => Ok(items),
        _ => Err(("too long", format!("at most {} counters at once", limits::ITEMS))),
    }
}

/// One control request.
#[derive(Debug)]
struct PendingRequest {
    id: u32,
    control: ControlId,
    answer: Answer,
    /// Results that are outstanding.
    open: usize,
    /// Patterns to add once the agent has sent its list.
    globs: Vec<Pattern>,
}

heap_size!(PendingRequest { answer, each globs });

/// The text of an answer, cut when it is too long for a fetch.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    text: String,
    more: usize,
}

heap_size!(Answer { text });

impl Answer {
    /// Appends one item.
    pub(crate) fn item(&mut self, separator: &str, item: &str) {
        if self.more > 0 || self.text.len() + separator.len() + item.len() > limits::ANSWER {
            self.more += 1;
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(separator);
        }
        self.text.push_str(item);
    }

    /// The whole text.
    pub(crate) fn into_text(self) -> String {
        if self.more == 0 { self.text } else { format!("{} … {} more", self.text, self.more) }
    }
}

/// The control requests of one connection.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    open: Vec<PendingRequest>,
    next: u32,
}

heap_size!(PendingRequests { each open });

impl PendingRequests {
    /// Begins a request, with one result outstanding that the caller settles when all counters are
    /// requested. `None`: too many requests are in progress.
    pub(crate) fn begin(&mut self, control: ControlId) -> Option<u32> {
        if self.open.len() >= limits::PENDING_REQUESTS {
            return None;
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.open.push(PendingRequest {
            id,
            control,
            answer: Answer::default(),
            open: 1,
            globs: Vec::new(),
        });
        Some(id)
    }

    fn get(&mut self, id: u32) -> Option<&mut PendingRequest> {
        self.open.iter_mut().find(|b| b.id == id)
    }

    /// Expects one more result.
    pub(crate) fn expect(&mut self, id: u32) {
        if let Some(b) = self.get(id) {
            b.open += 1;
        }
    }

    /// Adds a pattern for the agent's list.
    pub(crate) fn glob(&mut self, id: u32, pattern: Pattern) {
        if let Some(b) = self.get(id) {
            b.globs.push(pattern);
        }
    }

    /// Whether the request waits for the agent's list.
    pub(crate) fn has_globs(&self, id: u32) -> bool {
        self.open.iter().any(|b| b.id == id && !b.globs.is_empty())
    }

    /// Takes the patterns for the agent's list.
    pub(crate) fn take_globs(&mut self, id: u32) -> Vec<Pattern> {
        self.get(id).map(|b| std::mem::take(&mut b.globs)).unwrap_or_default()
    }

    /// Adds an item to the answer.
    pub(crate) fn line(&mut self, id: u32, what: &str, result: impl std::fmt::Display) {
        if let Some(b) = self.get(id) {
            b.answer.item("; ", &format!("{what}: {result}"));
        }
    }

    /// Sets the whole answer.
    pub(crate) fn whole(&mut self, id: u32, answer: Answer) {
        if let Some(batch) = self.get(id) {
            batch.answer = answer;
        }
    }

    /// Counts one result; returns the answer if it is the last.
    #[must_use]
    pub(crate) fn settle(&mut self, id: u32) -> Option<(ControlId, String)> {
        let at = self.open.iter().position(|b| b.id == id)?;
        let batch = self.open.get_mut(at)?;
        batch.open = batch.open.saturating_sub(1);
        if batch.open > 0 {
            return None;
        }
        let batch = self.open.remove(at);
        Some((batch.control, batch.answer.into_text()))
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
