//! Event streams, their parameters, and controls.

use super::CLUSTER;
use crate::catalogue::ControlDef;
use crate::model::TableCell::{Counter, Delta, Milliseconds, Others, Param, Peer, Value};
use crate::model::{ControlId, EventKind, EventKindId, EventTable, InDom};
use crate::{event_params, listed};

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
    /// One pause for garbage collection.
    GC = EventKind {
        name: "gc",
        cluster: CLUSTER + 3,
        what: "one pause for garbage collection",
        help: "The time is that of its end. A concurrent major collection has two pauses: major_start and major_finish. Needs the log \
               profiler with gc.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("pause_ms", Milliseconds(P_PAUSE)),
                ("suspension_ms", Milliseconds(P_SUSPENSION)),
                ("kind", Param(P_KIND)),
                ("generation", Param(P_GENERATION)),
                ("after", Param(P_AFTER)),
                ("fields", Others(0)),
            ],
            duration: Some(P_PAUSE),
        },
    };
    /// One exception thrown.
    EXCEPTION = EventKind {
        name: "exception",
        cluster: CLUSTER + 4,
        what: "one exception thrown, or thrown again",
        help: "At most 1,000 a second of each process; the rest is counted in records.missed. The log profiler does not say what was \
               thrown, only where: the class is known only if it has gcalloc and gcmove too. Needs the log profiler with exception.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("site", Param(P_SITE)),
                ("type", Param(P_TYPE)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// One wait for a lock that took 10 ms or longer.
    CONTENTION = EventKind {
        name: "contention",
        cluster: CLUSTER + 5,
        what: "one wait for a lock that took 10 ms or longer",
        help: "The time is that of its end. Needs the log profiler with monitor.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("site", Param(P_SITE)),
                ("lock", Param(P_LOCK)),
                ("result", Param(P_RESULT)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
}

event_params! {
    P_THREAD 1 "thread_id" U64 None "thread id, as the process sees it";
    P_THREAD_NAME 2 "thread_name" Text None "name of the thread";
    P_KIND 3 "kind" Text None "kind of pause: minor, major, major_start, major_finish or other";
    P_GENERATION 4 "generation" U32 None "generation that was collected: 0 minor, 1 major";
    P_PAUSE 5 "pause" U64 Nanoseconds "time that the program stood still";
    P_SUSPENSION 6 "suspension" U64 Nanoseconds "time until all threads stood still";
    P_AFTER 7 "after" U64 Bytes "size of the heap after the pause";
    P_SITE 8 "site" Text None "method that threw, or that waited";
    P_TYPE 9 "type" Text None "class of the exception or of the lock, if it is known";
    P_STACK 10 "stack" Text None "stack, outermost method first";
    P_DURATION 11 "duration" U64 Nanoseconds "how long it took";
    P_LOCK 12 "lock" Text None "address of the lock";
    P_RESULT 13 "result" Text None "done or failed";
}

const fn control(
    item: u16,
    name: &'static str,
    needs_text: bool,
    (oneline, help): (&'static str, &'static str),
) -> ControlDef {
    let (cluster, indom, storable) = (CLUSTER, InDom::Peers, true);
    let takes = |_: &str| true;
    ControlDef { name, cluster, item, indom, storable, needs_text, takes, oneline, help }
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
