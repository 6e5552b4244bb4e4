//! Requests to one agent: the waiting ones, the outstanding ones, and the request that a response
//! belongs to.
//!
//! Agents respond in the order of requests, with Samples in between, and a response does not name
//! its request (docs/protocols/mono-counters.md section 2). So the request of a response must be
//! the oldest outstanding one.

use std::collections::VecDeque;

use bytes::BytesMut;

use crate::read::Order;
use crate::sources::mono::limits;
use crate::sources::mono::meter::counters::Counters;
use crate::sources::mono::proto::requests::{Agent, Permitted, Refusal, Request, Rules, Sampled};
use mono_counters::numbers::category_of_2014;

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

    /// Estimate of the bytes allocated: names usually have 40 bytes.
    pub(crate) fn memory(&self) -> usize {
        (self.waiting.capacity() + self.outstanding.capacity()) * size_of::<QueuedRequest>()
            + (self.waiting.len() + self.outstanding.len()) * 64
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

#[cfg(test)]
#[path = "request_queue_tests.rs"]
mod tests;
