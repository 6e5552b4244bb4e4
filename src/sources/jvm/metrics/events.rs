//! Event streams, their parameters, and what can be asked of a JVM.

use std::time::Duration;

use super::CLUSTER;
use crate::catalogue::ControlDef;
use crate::model::TableCell::{Milliseconds, Others, Param, Peer};
use crate::model::{ControlId, EventKind, EventKindId, EventTable, InDom};
use crate::{event_params, listed};

listed! {
    /// Kinds of events.
    EVENT_KINDS: EventKind as EventKindId;
    /// One collection of a recording.
    GC = EventKind {
        name: "gc",
        cluster: CLUSTER + 10,
        what: "one garbage collection of a recording",
        help: "The time is that of its end. Recordings are made on request (control.profile).",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("pause_ms", Milliseconds(P_PAUSE)),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("number", Param(P_NUMBER)),
                ("type", Param(P_TYPE)),
                ("reason", Param(P_REASON)),
                ("phases", Param(P_PHASES)),
                ("fields", Others(0)),
            ],
            duration: Some(P_PAUSE),
        },
    };
    /// One exception of a recording.
    EXCEPTION = EventKind {
        name: "exception",
        cluster: CLUSTER + 11,
        what: "one exception thrown during a recording",
        help: "Made, whether it was caught or not. At most 1000 of each recording. Messages are personal data.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("type", Param(P_TYPE)),
                ("message", Param(P_MESSAGE)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// One wait of a recording.
    CONTENTION = EventKind {
        name: "contention",
        cluster: CLUSTER + 12,
        what: "one wait for a monitor during a recording that took 10 ms or longer",
        help: "Of synchronized only. The time is that of its end. At most 1000 of each recording.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("lock", Param(P_LOCK)),
                ("lock_owner", Param(P_LOCK_OWNER)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
}

event_params! {
    P_NUMBER 1 "number" U64 None "number of the collection";
    P_TYPE 2 "type" Text None "collector, or class of the exception";
    P_REASON 3 "reason" Text None "why it was collected";
    P_PAUSE 4 "pause" U64 Nanoseconds "time that the program stood still";
    P_LONGEST 5 "longest_pause" U64 Nanoseconds "the longest pause of the collection";
    P_DURATION 6 "duration" U64 Nanoseconds "how long it took";
    P_PHASES 7 "phases" Text None "pauses of the collection with their lengths";
    P_MESSAGE 8 "message" Text None "message of the exception, cut if it is long";
    P_THREAD 9 "thread" Text None "name of the thread";
    P_STACK 10 "stack" Text None "stack, outermost method first";
    P_LOCK 11 "lock" Text None "class of the object that was waited for";
    P_LOCK_OWNER 12 "lock_owner" Text None "thread that had the monitor before";
}

/// A control of processes.
const fn control(
    item: u16,
    name: &'static str,
    takes: fn(&str) -> bool,
    oneline: &'static str,
    help: &'static str,
) -> ControlDef {
    let (cluster, indom, storable, needs_text) = (CLUSTER + 5, InDom::Peers, true, false);
    ControlDef { name, cluster, item, indom, storable, needs_text, takes, oneline, help }
}

listed! {
    /// Controls.
    CONTROLS: ControlDef as ControlId;
    /// Which classes take the memory?
    HISTOGRAM = control(0, "control.histogram", |text| Request::parse(HISTOGRAM, text).is_ok(),
        "Count the objects of the process by class (storable)",
        "Only with jvm.attach = true. No text: all objects, also those that nobody refers to; the program stands still while they are \
         counted, about a second for 2 GB. The text live: those that are referred to, after a full collection. The value is the state of the last request; \
         the rows are histogram.bytes and histogram.objects."
    );
    /// What do threads do?
    DUMP = control(1, "control.threads", |text| Request::parse(DUMP, text).is_ok(),
        "Look at the threads of the process (storable)",
        "Only with jvm.attach = true. No text. The program stands still while its stacks are walked, some milliseconds for 1000 threads. The \
         value is the state of the last request, with the threads that wait for each other for ever; the rows are threads.by_state."
    );
    /// Where does the time go?
    PROFILE = control(2, "control.profile", |text| Request::parse(PROFILE, text).is_ok(),
        "Record the process with Flight Recorder (storable)",
        "Only with jvm.attach = true, and of JDK 17 and later. Seconds, 1 to 60. The first recording of a process takes up to some seconds of its \
         processor time and 25 to 45 MB of its memory, which stay. The text reset takes the rows of the process in profile.stacks, \
         profile.methods.self and profile.methods.total away. The value is the state of the last recording."
    );
}

/// Seconds of the longest recording.
pub(crate) const LONGEST: u64 = 60;

/// What a process is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Classes by the memory of their objects; `true`: after a full collection.
    Histogram(bool),
    /// The states of threads, and deadlocks.
    Threads,
    /// A recording.
    Profile(Duration),
    /// What recordings have brought is forgotten.
    Reset,
}

impl Request {
    /// The request of a text.
    ///
    /// # Errors
    /// What is wrong, in words for the answer.
    pub(crate) fn parse(control: ControlId, text: &str) -> Result<Self, String> {
        let text = text.trim();
        match (control, text) {
            (HISTOGRAM, "") => Ok(Self::Histogram(false)),
            (HISTOGRAM, "live") => Ok(Self::Histogram(true)),
            (HISTOGRAM | PROFILE, "reset") => Ok(Self::Reset),
            (HISTOGRAM, _) => Err("refused: no text, live or reset is needed".to_owned()),
            (DUMP, "") => Ok(Self::Threads),
            (DUMP, _) => Err("refused: it takes no text".to_owned()),
            _ => match text.strip_suffix('s').unwrap_or(text).trim_end().parse() {
                Ok(seconds) if (1..=LONGEST).contains(&seconds) => {
                    Ok(Self::Profile(Duration::from_secs(seconds)))
                }
                _ => Err(format!("refused: seconds, 1 to {LONGEST}, or reset are needed")),
            },
        }
    }
}
