//! Event streams, their parameters, and what can be asked of a process: CPU profiles.

use std::time::Duration;

use super::CLUSTER;
use crate::catalogue::ControlDef;
use crate::model::TableCell::{Milliseconds, Others, Param, Peer};
use crate::model::{ControlId, EventKind, EventKindId, EventTable, InDom};
use crate::{event_params, listed};

listed! {
    /// Kinds of events.
    EVENT_KINDS: EventKind as EventKindId;
    /// One garbage collection.
    GC = EventKind {
        name: "gc",
        cluster: CLUSTER + 1,
        what: "one garbage collection",
        help: "The time is that of its end. Made from the events of its start, end, pause and heap statistics.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("pause_ms", Milliseconds(P_PAUSE)),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("number", Param(P_NUMBER)),
                ("generation", Param(P_GENERATION)),
                ("type", Param(P_TYPE)),
                ("reason", Param(P_REASON)),
                ("before", Param(P_BEFORE)),
                ("after", Param(P_AFTER)),
                ("promoted", Param(P_PROMOTED)),
                ("fields", Others(0)),
            ],
            duration: Some(P_PAUSE),
        },
    };
    /// One exception thrown.
    EXCEPTION = EventKind {
        name: "exception",
        cluster: CLUSTER + 2,
        what: "one exception thrown",
        help: "At most dotnet.records_rate a second of each process; the rest is counted in records.missed. Messages are personal data.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("type", Param(P_TYPE)),
                ("message", Param(P_MESSAGE)),
                ("hresult", Param(P_HRESULT)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// One wait for a lock that took dotnet.contention_record or longer.
    CONTENTION = EventKind {
        name: "contention",
        cluster: CLUSTER + 3,
        what: "one wait for a lock that took dotnet.contention_record or longer",
        help: "The time is that of its end.",
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
    /// One adjustment of the thread pool for starvation or cooperative blocking.
    POOL = EventKind {
        name: "pool",
        cluster: CLUSTER + 4,
        what: "one adjustment of the thread pool for starvation or cooperative blocking",
        help: "Parameters: target, throughput and reason.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("reason", Param(P_REASON)),
                ("target", Param(P_TARGET)),
                ("throughput", Param(P_THROUGHPUT)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// One event of a provider in dotnet.providers.
    APPLICATION = EventKind {
        name: "application",
        cluster: CLUSTER + 5,
        what: "one event of a provider in dotnet.providers",
        help: "Parameters: the provider, event and thread, then the event's own fields (param.PROVIDER.EVENT.FIELD), typed. The flags START and END come from opcodes; the id is the activity id.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("provider", Param(P_PROVIDER)),
                ("event", Param(P_EVENT)),
                ("level", Param(P_LEVEL)),
                ("thread", Param(P_THREAD)),
                ("fields", Others(2)),
            ],
            duration: None,
        },
    };
    /// One report about reading a process.
    SESSION = EventKind {
        name: "session",
        cluster: CLUSTER + 6,
        what: "one report about reading a process",
        help: "Errors of the session, of meters, and of the process's event sources.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("message", Param(P_MESSAGE)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// One assembly loaded.
    ASSEMBLY = EventKind {
        name: "assembly",
        cluster: CLUSTER + 7,
        what: "one assembly loaded",
        help: "Only if dotnet.records has assembly.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("name", Param(P_NAME)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// One method compiled.
    METHOD = EventKind {
        name: "method",
        cluster: CLUSTER + 8,
        what: "one method compiled",
        help: "Only if dotnet.records has method.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("name", Param(P_NAME)),
                ("tier", Param(P_TIER)),
                ("il_bytes", Param(P_IL_BYTES)),
                ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
    /// One sample of allocations.
    ALLOCATION = EventKind {
        name: "allocation",
        cluster: CLUSTER + 9,
        what: "one sample of allocations",
        help: "Only if dotnet.records has allocation.",
        table: EventTable {
            columns: &[
                ("process", Peer),
                ("type", Param(P_TYPE)),
                ("bytes", Param(P_BYTES)),
                ("thread", Param(P_THREAD)),
                ("stack", Param(P_STACK)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
}

event_params! {
    P_ID 1 "id" Text None "activity id of the event";
    P_PARENT 2 "parent" Text None "related activity id";
    P_THREAD 3 "thread" U64 None "thread id, as the process sees it";
    P_THREAD_NAME 4 "thread_name" Text None "name of the thread";
    P_NUMBER 5 "number" U32 None "number of the collection";
    P_GENERATION 6 "generation" U32 None "generation that was collected";
    P_REASON 7 "reason" Text None "why it happened";
    P_TYPE 8 "type" Text None "kind of collection: blocking, background or foreground; or type of exception or object";
    P_PAUSE 9 "pause" U64 Nanoseconds "time that the program stood still";
    P_DURATION 10 "duration" U64 Nanoseconds "how long it took";
    P_BEFORE 11 "before" U64 Bytes "size of the heap after the collection before";
    P_AFTER 12 "after" U64 Bytes "size of the heap after the collection";
    P_PROMOTED 13 "promoted" U64 Bytes "bytes that survived";
    P_MESSAGE 14 "message" Text None "message of the exception or report, cut if it is long";
    P_HRESULT 15 "hresult" U32 None "HRESULT of the exception";
    P_FLAGS 16 "flags" U32 None "1 inner, 2 nested, 4 thrown again, 8 corrupted state, 16 CLS compliant";
    P_STACK 17 "stack" Text None "stack, outermost method first";
    P_LOCK 18 "lock" Text None "the lock";
    P_LOCK_OWNER 19 "lock_owner" U64 None "thread that held the lock when the wait began";
    P_TARGET 20 "target" U32 Count "threads that the pool wants";
    P_THROUGHPUT 21 "throughput" F64 CountPerSecond "work items completed a second";
    P_PROVIDER 22 "provider" Text None "provider of the event";
    P_EVENT 23 "event" Text None "name of the event";
    P_FIELDS 24 "fields" Text None "fields that have no parameter of their own, name=value";
    P_NAME 25 "name" Text None "assembly or method";
    P_IL_BYTES 26 "il_bytes" U32 Bytes "bytes of IL";
    P_TIER 27 "tier" Text None "tier of compilation";
    P_BYTES 28 "bytes" U64 Bytes "bytes allocated, or size of a payload that has no layout";
    P_LEVEL 29 "level" U32 None "level of the event: 1 critical to 5 verbose";
}

listed! {
    /// Controls.
    CONTROLS: ControlDef as ControlId;
    /// Take a burst of samples.
    PROFILE_RUN = ControlDef {
        name: "profile.run",
        cluster: CLUSTER + 57,
        item: 0,
        indom: InDom::Peers,
        storable: true,
        needs_text: false,
        takes: |text| Request::parse(text).is_ok(),
        oneline: "Sample the stacks of the process (storable)",
        help: "Seconds, 1 to 60; empty: as long as dotnet.profile_time. The runtime stops all threads for each sample, about each millisecond. \
               The text reset takes the rows of the process in profile.stacks, profile.methods.self and profile.methods.total away: the next burst \
               makes new ones that begin at 0. The value is the state of the last burst.",
    };
}

/// The longest burst.
const LONGEST: u64 = 60;

/// What `profile.run` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Take a burst, of this length or of the usual one.
    Burst(Option<Duration>),
    /// Forget what bursts have brought.
    Reset,
}

impl Request {
    /// The request of a text: `reset`, or whole seconds; empty: the usual length.
    ///
    /// # Errors
    /// What is wrong, in words for the answer.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::Burst(None));
        }
        if text == "reset" {
            return Ok(Self::Reset);
        }
        match text.strip_suffix('s').unwrap_or(text).trim_end().parse() {
            Ok(seconds) if (1..=LONGEST).contains(&seconds) => {
                Ok(Self::Burst(Some(Duration::from_secs(seconds))))
            }
            _ => Err(format!("refused: seconds, 1 to {LONGEST}, or reset are needed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn seconds_or_the_usual_length_or_a_reset() {
        assert_eq!(Request::parse(""), Ok(Request::Burst(None)));
        assert_eq!(Request::parse(" reset\n"), Ok(Request::Reset));
        for (text, seconds) in [("5", 5), (" 60 ", 60), ("1s", 1), ("7 s", 7)] {
            let burst = Request::Burst(Some(Duration::from_secs(seconds)));
            assert_eq!(Request::parse(text), Ok(burst), "{text}");
        }
        for text in ["0", "61", "-1", "1.5", "five", "Reset", "99999999999999999999"] {
            assert!(Request::parse(text).is_err(), "{text}");
        }
    }
}
