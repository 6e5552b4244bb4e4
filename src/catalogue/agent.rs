//! Metrics of every agent, independent of its protocol: `apm.agent.*`.

use std::borrow::Cow;

use super::entry::Entry;
use crate::model::{InDom, Semantics, Units, ValueSource, ValueType};

/// Serial number of the instance domain of all agents.
pub const AGENT_INDOM: u32 = 0;
/// PMID cluster of `apm.agent`.
const CLUSTER: u16 = 1;

/// Cells of `apm.agent.*`, by item number of that table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum AgentCell {
    /// 1 while connected
    Up = 0,
    /// connections ever
    Connects = 3,
    /// start of the newest connection, ms since 1970
    ConnectTime = 4,
    /// bytes read
    BytesIn = 6,
    /// bytes written
    BytesOut = 7,
    /// whole messages read
    Messages = 8,
    /// bad records and connections ended by a fault
    Errors = 9,
    /// event records
    Events = 10,
    /// connections that ended without a good-bye
    Lost = 13,
}

impl AgentCell {
    /// Item of the text `apm.agent.source`.
    pub const SOURCE: u16 = 1;
    /// Item of the text `apm.agent.peer`.
    pub const PEER: u16 = 2;
    /// Item of the text `apm.agent.state`.
    pub const STATE: u16 = 11;
    /// Item of the text `apm.agent.since`.
    pub const SINCE: u16 = 12;
    /// Item of the text `apm.agent.name`.
    pub const NAME: u16 = 14;
    /// Item of the text `apm.agent.service`.
    pub const SERVICE: u16 = 15;
}

/// All metrics of `apm.agent`. `sources`: help of `apm.agent.source`, a list of the protocols.
pub(super) fn entries(sources: Cow<'static, str>) -> Vec<Entry> {
    use AgentCell::{BytesIn, BytesOut, ConnectTime, Connects, Errors, Events, Lost, Messages, Up};
    use Semantics::{Counter, Discrete, Instant};
    use ValueType::{I64, Text, U32, U64};
    fn metric(
        name: &str,
        item: u16,
        (ty, sem, units): (ValueType, Semantics, Units),
        value: ValueSource,
        oneline: &'static str,
        help: impl Into<Cow<'static, str>>,
    ) -> Entry {
        Entry {
            name: format!("apm.agent.{name}"),
            source: None,
            cluster: CLUSTER,
            item,
            ty,
            sem,
            units,
            indom: InDom::Agents,
            value,
            oneline: oneline.into(),
            help: help.into(),
        }
    }
    let cell = |name, item: AgentCell, ty, sem, units, oneline, help: &'static str| {
        metric(name, item as u16, (ty, sem, units), ValueSource::Cell, oneline, help)
    };
    #[rustfmt::skip]
    let all = vec![
        cell("up", Up, U32, Instant, Units::None, "1 while the agent is connected, else 0",
            "Keeps its value when the agent has gone, so that a rule can watch it."),
        metric("source", AgentCell::SOURCE, (Text, Discrete, Units::None), ValueSource::Text, "Protocol of the agent",
            sources),
        metric("name", AgentCell::NAME, (Text, Discrete, Units::None), ValueSource::Text, "Name of the agent",
            "The name of its instance, as a value: Grafana's Vector data source fills the list of a variable from the values of a metric."),
        metric("service", AgentCell::SERVICE, (Text, Discrete, Units::None), ValueSource::Text, "Service or program of the agent",
            "SOURCE::NAME, where NAME is the instance of apm.SOURCE.service or apm.SOURCE.program that the agent counts for: a list to choose from, as apm.agent.name. No value until the agent belongs to one."),
        metric("peer", AgentCell::PEER, (Text, Discrete, Units::None), ValueSource::Text, "Where the agent is",
            "Address and port of the connection, or file: and the path of a file that is followed."),
        cell("connects", Connects, U64, Counter, Units::Count, "Connections of this agent",
            "Grows by one with each connection; a fast growth is an agent that cannot stay connected."),
        cell("connect_time", ConnectTime, I64, Discrete, Units::Milliseconds, "Start of the newest connection",
            "Milliseconds since 1970-01-01 00:00 UTC."),
        metric("idle", 5, (U64, Instant, Units::Nanoseconds), ValueSource::Idle, "Time since the last message of this agent",
            "Time since a whole message of this agent was read. More than a few sampling intervals means that the program hangs or is stopped, or that its host has gone without a word."),
        cell("bytes.in", BytesIn, U64, Counter, Units::Bytes, "Bytes read from this agent", "Bytes of its protocol, counted from when it said who it is."),
        cell("bytes.out", BytesOut, U64, Counter, Units::Bytes, "Bytes sent to this agent", "Requests and acknowledgements."),
        cell("messages", Messages, U64, Counter, Units::Count, "Messages read from this agent", "Whole messages of its protocol."),
        cell("errors", Errors, U64, Counter, Units::Count, "Faults of this agent",
            "Bad records, refused requests, and connections closed because of bad bytes. The log says more."),
        cell("events", Events, U64, Counter, Units::Count, "Event records of this agent", "Records appended to its event streams."),
        metric("state", AgentCell::STATE, (Text, Instant, Units::None), ValueSource::Text, "How the agent is, in words",
            "sending; connected, nothing sent yet; silent for 70 s; gone 3 min ago: connection reset; not read: and why; starting: and what is waited for; sending, but and what is missing. A connected agent is silent after three of its intervals and limits.stale without a message."),
        metric("since", AgentCell::SINCE, (Text, Discrete, Units::None), ValueSource::Text, "Since when the agent is connected, or gone",
            "Start of its newest connection, or the end of it, as ISO 8601 in UTC: 2026-11-22T12:43:16Z."),
        cell("lost", Lost, U64, Counter, Units::Count, "Connections that ended without a good-bye",
            "By a reset, by silence, by a fault, or in the middle of a stream; of protocols that have no good-bye a plain end counts as one. apm.agent.state has the reason of the last one. For rules: it grows when an agent crashes or its host goes, and not when a program ends as it should."),
    ];
    all
}
