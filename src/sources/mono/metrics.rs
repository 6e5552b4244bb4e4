//! The metrics that every Mono process has, whatever its counters are.

use super::super::define::peer_metrics;
use crate::model::{Area, ControlVerb, EventKind, MetricDef, Origin, Semantics, Units, ValueType};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 64;
const CONTROL_ADD: u16 = 5;
const CONTROL_REMOVE: u16 = 6;
const CONTROL_LIST: u16 = 7;

/// Position of the one kind of events in [`EVENTS`].
pub(super) const SAMPLE: u8 = 0;
/// Kinds of events.
pub(super) const EVENTS: &[EventKind] = &[EventKind {
    name: "sample",
    cluster: CLUSTER + 1,
    what: "one Sampling message of a Mono process: the counters that changed",
    help: "A record has one parameter for each counter in the message, named and typed like apm.mono.counter.*, with the value \
           that the counter had then. An agent sends a counter only when it has changed, so a record may have few parameters \
           or none. The time is that of arrival; apm.mono.skew tells how far the agent's own clock is off.",
}];

/// One line and the help text of the instance domain.
pub(super) const INDOM_HELP: (&str, &str) = (
    "Mono processes",
    "One instance for each Mono process that sends counters, called PROGRAM:PID, with @ADDRESS behind it when it is on another \
     host. A process whose agent does not say who it is has the address of its connection or the name of its file instead. An \
     instance stays for a while after its process has gone (limits.forget).",
);

peer_metrics! {
    CLUSTER;
    COUNTERS 0 "counters" U32 Instant Count Cell
        "Counters that the process samples now"
        "Counters announced and added, without those removed. Mono 6.8 has 188, all of which its agent sends unless it is told \
            otherwise. Each that matches mono.select is a metric below apm.mono.counter.";
    SAMPLES 1 "samples" U64 Counter Count Cell
        "Sampling messages read"
        "Sampling messages read from this process. Its rate is the sampling rate; 0 while the process is up \
            means that it hangs or is stopped. Goes on when the process connects again.";
    SKEW 2 "skew" I64 Instant Nanoseconds Cell
        "Arrival of the newest sample minus the time that the agent put on it"
        "The difference of the two clocks plus the way. On one host it is the delay of the sample: much more than a few \
            milliseconds means that this PMDA or the process cannot keep up. A large value that stays the same is a clock that \
            is wrong. No value for agents of the oldest dialect, whose times count from the start of their machine.";
    INTERVAL 3 "interval" U64 Instant Nanoseconds Cell
        "Time between the newest two samples, by the agent's clock"
        "The agent's interval option plus the time that it takes to sample. An interval far above the usual one means that the \
            process was held up: a long collection, a stopped container, a machine without processor time.";
    DIALECT 4 "dialect" Text Discrete None Text
        "Which dialect of the counters-agent protocol the process speaks"
        "note: the public protocol, spoken by the apm agent module. 2014-A, 2014-B, 2014-C: agents of Mono's source in March \
            2014, of which A takes no requests and no request is sent to any that could harm its process. Then the byte order.";
}

/// The static metrics, and the controls.
pub(super) fn metrics() -> Vec<MetricDef> {
    let control =
        |name: &str, item, verb, (oneline, help): (&'static str, &'static str)| MetricDef {
            name: name.to_owned(),
            cluster: CLUSTER,
            item,
            ty: ValueType::Text,
            sem: Semantics::Discrete,
            units: Units::None,
            area: Area::Source,
            origin: Origin::Control(verb),
            oneline: oneline.into(),
            help: help.into(),
        };
    #[rustfmt::skip]
    let controls = [
        control("control.add", CONTROL_ADD, ControlVerb::Add, (
            "Store CATEGORY/NAME here to sample more counters",
            "pmstore -i PROGRAM:PID apm.mono.control.add \"GC/Minor GC collections\". Several are separated by semicolons; * stands \
             for any text. A counter that is added is shown whatever mono.select says. The value is the answer to the last \
             request: OK, EXISTING, NOTFOUND or why it is not possible, for each counter.")),
        control("control.remove", CONTROL_REMOVE, ControlVerb::Remove, (
            "Store CATEGORY/NAME here to sample fewer counters",
            "As control.add. An agent of 2014 could crash its process on this request, and a file takes none: there the counter goes \
             on being sampled and is only not shown any more. The value is the answer to the last request.")),
        control("control.list", CONTROL_LIST, ControlVerb::List, (
            "Store anything here to ask which counters the process has",
            "The value is the answer to the last request: CATEGORY/NAME of all counters of the process, sampled or not, separated by \
             semicolons.")),
    ];
    own_metrics().chain(controls).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_positions_and_every_metric_has_help() {
        for (item, m) in (0u16..).zip(metrics()) {
            assert_eq!(m.item, item, "{}", m.name);
            assert!(
                (10..80).contains(&m.oneline.len())
                    && m.help.len() > 80
                    && !m.oneline.ends_with('.'),
                "{}",
                m.name
            );
        }
    }
}
