//! The metrics that every Mono process has, regardless of its counters.

use crate::catalogue::{ControlDef, InDomDef, TableDef};
use crate::model::TableCell::{Counter, Delta, Value};
use crate::model::{ControlId, EventKind, EventKindId, EventTable, InDom, TableId};
use crate::{listed, peer_metrics, row_metrics};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 64;

listed! {
    /// Kinds of events.
    EVENTS: EventKind as EventKindId;
    /// Samples.
    SAMPLE = EventKind {
        name: "sample",
        cluster: CLUSTER + 1,
        what: "one Sampling message of a Mono process: the counters that changed",
        help: "A record has one parameter for each counter in the message, named and typed like apm.mono.counter.*, with the value \
               that the counter had then. An agent sends a counter only when it has changed, so a record may have few parameters \
               or none. The time is that of arrival; apm.mono.skew tells how far the agent's own clock is off.",
        table: EventTable {
            columns: &[
                ("counter", Counter),
                ("value", Value),
                ("delta", Delta),
            ],
            duration: None,
        },
    };
}

/// The instance domain of processes.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 1,
    oneline: "Mono processes",
    help: "One instance for each Mono process that sends counters, called PROGRAM:PID, with @ADDRESS behind it when it is on another \
     host. A process whose agent does not say who it is has the address of its connection or the name of its file instead. An \
     instance stays for a while after its process has gone (limits.forget).",
};

peer_metrics! {
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

listed! {
    /// The tables.
    TABLES: TableDef as TableId;
    /// Rows: names of programs.
    PROGRAMS = TableDef {
        name: "program",
        cluster: CLUSTER + 2,
        indom: InDomDef {
            serial: 10,
            oneline: "Mono programs",
            help: "One instance for each program, the processes of which are the instances PROGRAM:PID of other metrics. It stays when its \
             processes have gone, so its counters go on over restarts of the program. Those with most samples have instances, the \
             others are together in the instance other.",
        },
        of_peer: false,
        max: 500,
        score: PROGRAM_SAMPLES,
        initial: Vec::new,
    };
}

row_metrics! {
    PROGRAM_PROCESSES PROGRAMS 0 "program.processes" U64 Instant Count Members
        "Processes of the program"
        "Those that are connected now; 0 when all have gone.";
    PROGRAM_STARTS PROGRAMS 1 "program.starts" U64 Counter Count
        "Processes of the program that came"
        "Processes that connected since this PMDA started; one that connects again does not count again. A fast growth is a \
            program that is restarted again and again.";
    PROGRAM_SAMPLES PROGRAMS 2 "program.samples" U64 Counter Count
        "Sampling messages read from processes of the program"
        "Of all its processes, as apm.mono.samples.";
}

const fn control(
    item: u16,
    name: &'static str,
    needs_text: bool,
    (oneline, help): (&'static str, &'static str),
) -> ControlDef {
    let (cluster, indom, storable) = (CLUSTER, InDom::Peers, true);
    ControlDef { name, cluster, item, indom, storable, needs_text, oneline, help }
}

listed! {
    /// Controls: requests to one process each.
    CONTROLS: ControlDef as ControlId;
    /// Sample more counters.
    ADD = control(5, "control.add", true, (
        "Store CATEGORY/NAME here to sample more counters",
        "pmstore -i PROGRAM:PID apm.mono.control.add \"GC/Minor GC collections\". Several are separated by semicolons; * stands \
             for any text. A counter that is added is shown whatever mono.select says. The value is the answer to the last \
             request: OK, EXISTING, NOTFOUND or why it is not possible, for each counter.",
    ));
    /// Sample fewer counters.
    REMOVE = control(6, "control.remove", true, (
        "Store CATEGORY/NAME here to sample fewer counters",
        "As control.add. An agent of 2014 could crash its process on this request, and a file takes none: there the counter goes \
             on being sampled and is only not shown any more. The value is the answer to the last request.",
    ));
    /// List the counters.
    LIST = control(7, "control.list", false, (
        "Store anything here to ask which counters the process has",
        "The value is the answer to the last request: CATEGORY/NAME of all counters of the process, sampled or not, separated by \
             semicolons.",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_positions_and_every_metric_has_help() {
        let metrics = METRICS.iter().map(|m| (m.item, m.name, m.oneline, m.help));
        let controls = CONTROLS.iter().map(|c| (c.item, c.name, c.oneline, c.help));
        for (at, (item, name, oneline, help)) in (0u16..).zip(metrics.chain(controls)) {
            assert_eq!(item, at, "{name}");
            assert!(
                (10..80).contains(&oneline.len()) && help.len() > 80 && !oneline.ends_with('.'),
                "{name}"
            );
        }
    }
}
