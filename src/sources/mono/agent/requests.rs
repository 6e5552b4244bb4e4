//! Requests of the inspector: their encoding, and the rules that keep them from harming an agent
//! (docs/protocols/mono-counters.md section 2 and 2.1).
//!
//! | request | note | B | C | A |
//! |---|---|---|---|---|
//! | List | 01 | 00, but answers with the sampled counters | 00 | never reads |
//! | Add | 02 name category | 01 category name | 01 category name | |
//! | Remove | 03 index | **never**: use after free | **never**: use after free | |
//! | `GoodBye` | 7F | not known | 7F | |
//! | probe | 01 and 8 zero bytes: List | Add of two empty strings: 02 02 | as B | |
//!
//! An agent of 2014 runs inside the monitored program, and some requests crash it. So only a
//! [`Permitted`] request can be encoded, and only [`Rules::permit`] makes one.

use bytes::{BufMut, BytesMut};
use mono_counters::request;

use crate::read::Order;
use crate::sources::mono::limits;

/// The agent at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// Hello without headers: the note and C look alike, so only the note's List is safe
    /// (docs/protocols/mono-counters.md section 3.3).
    Unknown,
    /// As in the public note: our module, or another agent of today.
    Note,
    A,
    B,
    C,
}

/// One request to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    List,
    Add {
        category: String,
        name: String,
    },
    Remove {
        index: u16,
    },
    GoodBye,
    /// A List for agents of the note, harmless to those of 2014
    /// (docs/protocols/mono-counters.md section 3.3).
    Probe,
}

/// Why a request is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("not possible: a file is only read")]
    OneWay,
    #[error("not possible: a 2014-A agent reads no requests")]
    Deaf,
    #[error(
        "not possible: the agent announced no counters and has not answered a List, so it may be one of 2014"
    )]
    Unknown,
    #[error("not possible: a 2014 agent may crash its program on Remove")]
    Remove2014,
    #[error(
        "not possible: a 2014 agent hangs up when a counter is added twice, and it has one of this name"
    )]
    Add2014,
    #[error("not possible: a 2014-B agent lists only what it samples already")]
    ListB,
    #[error("not possible: a 2014 agent does not take a probe")]
    Probe2014,
    #[error("not possible: a 2014-B agent knows no good-bye")]
    GoodByeB,
    #[error("not possible: the name is empty or longer than {} bytes", limits::NAME)]
    Name,
    #[error("not possible: not a counter that the agent samples")]
    NotSampled,
    #[error("not possible: it tells which process this is")]
    Identity,
    #[error("not possible: the connection has used up its {} counter indexes", limits::COUNTERS)]
    IndexSpace,
}

/// The facts about the counters of a connection on which the rules depend.
pub(crate) trait Sampled {
    /// Whether a counter of this name, in any category, is sampled or requested.
    fn has_name(&self, name: &str) -> bool;
    /// `Some` if the agent samples the counter with this index; `Some(true)` if the counter
    /// identifies the process.
    fn identifies(&self, index: u16) -> Option<bool>;
    /// Indexes used on this connection, and outstanding Adds, which may use one each.
    fn indexes_used(&self) -> usize;
}

/// The rules of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) agent: Agent,
    /// The peer is a file: nothing can be sent.
    pub(crate) one_way: bool,
}

/// A request that cannot harm its agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Permitted {
    request: Request,
    agent: Agent,
}

impl Rules {
    /// Permits a request, or refuses it with a reason.
    pub(crate) fn permit(
        self,
        request: Request,
        sampled: &dyn Sampled,
    ) -> Result<Permitted, Refusal> {
        use Agent::{A, B, C, Note, Unknown};
        if self.one_way {
            return Err(Refusal::OneWay);
        }
        match (&request, self.agent) {
            (_, A) => return Err(Refusal::Deaf),
            (Request::List | Request::Probe, Unknown) => {}
            (_, Unknown) => return Err(Refusal::Unknown),
            (Request::List, Note | C) => {}
            (Request::List, B) => return Err(Refusal::ListB),
            (Request::Probe, _) => return Err(Refusal::Probe2014),
            (Request::GoodBye, Note | C) => {}
            (Request::GoodBye, B) => return Err(Refusal::GoodByeB),
            (Request::Remove { .. }, B | C) => return Err(Refusal::Remove2014),
            // By index only: a negative one would mean all.
            (Request::Remove { index }, Note) => match sampled.identifies(*index) {
                None => return Err(Refusal::NotSampled),
                Some(true) => return Err(Refusal::Identity),
                Some(false) => {}
            },
            (Request::Add { category, name }, Note | B | C) => {
                let sound = |s: &str| !s.is_empty() && s.len() <= limits::NAME;
                if !sound(category) || !sound(name) {
                    return Err(Refusal::Name);
                }
                if sampled.indexes_used() >= limits::COUNTERS {
                    return Err(Refusal::IndexSpace);
                }
                // By name alone: the categories of 2014 are ambiguous (E1 or E2).
                if self.agent != Note && sampled.has_name(name) {
                    return Err(Refusal::Add2014);
                }
            }
        }
        Ok(Permitted { request, agent: self.agent })
    }
}

impl Permitted {
    /// Writes the request in the agent's numbers and byte order.
    pub(crate) fn encode(&self, order: Order, out: &mut BytesMut) {
        // Agents of 2014 number requests from 0 on.
        let lower = u8::from(!matches!(self.agent, Agent::Note | Agent::Unknown));
        match &self.request {
            Request::List => out.put_u8(request::LIST - lower),
            Request::Add { category, name } => {
                out.put_u8(request::ADD - lower);
                let strings =
                    if self.agent == Agent::Note { [name, category] } else { [category, name] };
                strings.iter().for_each(|s| put_string(out, order, s));
            }
            Request::Remove { index } => {
                out.put_u8(request::REMOVE - lower);
                match order {
                    Order::Little => out.put_u16_le(*index),
                    Order::Big => out.put_u16(*index),
                }
            }
            Request::GoodBye => out.put_u8(request::GOOD_BYE),
            Request::Probe => out.put_slice(&[request::LIST, 0, 0, 0, 0, 0, 0, 0, 0]),
        }
    }

    /// The request, to be kept until its response.
    pub(crate) fn into_request(self) -> Request {
        self.request
    }
}

fn put_string(out: &mut BytesMut, order: Order, s: &str) {
    // At most 1024 bytes: `permit` has checked that.
    let length = i32::try_from(s.len()).unwrap_or(0);
    match order {
        Order::Little => out.put_i32_le(length),
        Order::Big => out.put_i32(length),
    }
    out.put_slice(s.as_bytes());
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
