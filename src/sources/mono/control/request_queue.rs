//! Requests to one agent: those that wait, those that were sent, and which of them an answer
//! belongs to.
//!
//! Agents answer in the order of requests, with Samples in between, and an answer does not say to
//! what (docs/protocols/mono-counters.md section 2): so the oldest request of its kind that is
//! outstanding must be the oldest of all.

use std::collections::VecDeque;

use bytes::BytesMut;

use crate::read::Order;
use crate::sources::mono::limits;
use crate::sources::mono::meter::counters::Counters;
use crate::sources::mono::proto::requests::{Agent, Permitted, Refusal, Request, Rules, Sampled};
use mono_counters::numbers::category_of_2014;

/// On whose behalf something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// To find out which numbers the agent understands.
    Numbering,
    /// The configured selection.
    Selection,
    /// A user's control request.
    User(u32),
}

/// A request and on whose behalf it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) origin: Origin,
}

/// The requests of one connection.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    rules: Rules,
    order: Order,
    waiting: VecDeque<Asked>,
    asked: VecDeque<Asked>,
}

/// The counters and the requests under way, for the rules.
struct Knowledge<'a> {
    counters: &'a Counters,
    asked: &'a VecDeque<Asked>,
}

impl Knowledge<'_> {
    fn adds(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().filter_map(|a| {
            if let Request::Add { name, .. } = &a.request { Some(name.as_str()) } else { None }
        })
    }
}

impl Sampled for Knowledge<'_> {
    fn has_name(&self, name: &str) -> bool {
        self.counters.has_name(name) || self.adds().any(|asked| asked == name)
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
            asked: VecDeque::new(),
        }
    }

    /// Bytes allocated, about: names have 40 bytes as a rule.
    pub(crate) fn memory(&self) -> usize {
        (self.waiting.capacity() + self.asked.capacity()) * size_of::<Asked>()
            + (self.waiting.len() + self.asked.len()) * 64
    }

    pub(crate) const fn agent(&self) -> Agent {
        self.rules.agent
    }

    /// Requests can reach the agent.
    pub(crate) const fn two_way(&self) -> bool {
        !self.rules.one_way && !matches!(self.rules.agent, Agent::A)
    }

    /// An answer has shown which numbers the agent understands.
    pub(crate) const fn numbering(&mut self, agent: Agent) {
        self.rules.agent = agent;
    }

    /// Puts a request into the queue; `false` when that is full.
    pub(crate) fn ask(&mut self, request: Request, origin: Origin) -> bool {
        let room = self.waiting.len() < limits::WAITING;
        if room {
            self.waiting.push_back(Asked { request, origin });
        }
        room
    }

    /// Takes back what the selection asked and was not sent.
    pub(crate) fn forget_selection(&mut self) {
        self.waiting.retain(|a| a.origin != Origin::Selection);
    }

    /// Sends what may be sent now. Returns what may never be.
    pub(crate) fn send(
        &mut self,
        counters: &Counters,
        out: &mut BytesMut,
    ) -> Vec<(Asked, Refusal)> {
        let mut refused = Vec::new();
        while self.asked.len() < limits::OUTSTANDING {
            let unknown = self.rules.agent == Agent::Unknown && !self.rules.one_way;
            if unknown && !self.asked.is_empty() {
                // Whatever comes behind a List, an agent of 2014 would take it for the strings of
                // an Add.
                break;
            }
            let Some(Asked { mut request, origin }) = self.waiting.pop_front() else { break };
            if unknown && !matches!(request, Request::List | Request::Probe) {
                self.waiting.push_front(Asked { request, origin });
                self.waiting
                    .push_front(Asked { request: Request::List, origin: Origin::Numbering });
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
                    self.asked.push_back(Asked { request: permitted.into_request(), origin });
                }
                Err(refusal) => refused.push((Asked { request, origin }, refusal)),
            }
        }
        refused
    }

    fn permit(&self, request: Request, counters: &Counters) -> Result<Permitted, Refusal> {
        self.rules.permit(request, &Knowledge { counters, asked: &self.asked })
    }

    /// Says good-bye to those who understand it.
    pub(crate) fn good_bye(&self, counters: &Counters, out: &mut BytesMut) {
        if let Ok(permitted) = self.permit(Request::GoodBye, counters) {
            permitted.encode(self.order, out);
        }
    }

    /// A List response has come: what it answers, if anything.
    pub(crate) fn listed(&mut self) -> Option<Asked> {
        self.answered(|r| matches!(r, Request::List | Request::Probe))
    }

    /// A List response is on its way that was asked for.
    pub(crate) fn expects_list(&self) -> bool {
        self.asked.front().is_some_and(|a| matches!(a.request, Request::List | Request::Probe))
    }

    /// An Add response has come: what it answers, if anything. To agents of 2014 a probe is an Add.
    pub(crate) fn added(&mut self) -> Option<Asked> {
        self.answered(|r| matches!(r, Request::Add { .. } | Request::Probe))
    }

    /// A Remove response has come: what it answers, if anything.
    pub(crate) fn removed(&mut self) -> Option<Asked> {
        self.answered(|r| matches!(r, Request::Remove { .. }))
    }

    fn answered(&mut self, fits: impl Fn(&Request) -> bool) -> Option<Asked> {
        if fits(&self.asked.front()?.request) { self.asked.pop_front() } else { None }
    }
}

#[cfg(test)]
#[path = "request_queue_tests.rs"]
mod tests;
