//! The metrics, tables, events and parameters of Java profiler agents (docs/metrics.md, apm.profiler.*),
//! and what they are called in every source.

use crate::catalogue::{
    InDomDef, Part, RollUp, ServiceOf, ServiceRows, ServiceSum, Services, TableDef,
};
use crate::model::TableCell::{Long, Milliseconds, Others, Param, Peer, Status};
use crate::model::{EventKind, EventKindId, EventTable, Leaf, ParamItem, RowItem, TableId};
use crate::{event_params, listed, peer_metrics, row_metrics};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 128;

/// Milliseconds to nanoseconds.
pub(super) const fn ns(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

peer_metrics! {
    CALLS 0 "call.count" U64 Counter Count Cell "Finished root calls" "Outermost instrumented calls that have finished. The agent leaves out those of one method that took 20 ms or less.";
    ERRORS 1 "call.errors" U64 Counter Count Cell "Calls that failed" "Calls with the parameter call.red.";
    IDLE 2 "call.idle" U64 Counter Count Cell "Calls that only waited" "Calls with the parameter call.idle: threads that wait for work.";
    TIME 3 "call.time" U64 Counter Nanoseconds Cell "Time that calls took" "Sum of the durations of finished calls; of millisecond resolution. Divide its rate by that of call.count for the mean.";
    CPU 4 "call.cpu" U64 Counter Nanoseconds Cell "CPU time of calls" "The agent samples it at most every 100 ms for each thread: sums are right, the part of a short call is not.";
    WAIT 5 "call.wait" U64 Counter Nanoseconds Cell "Time that calls waited for monitors" "0 unless the agent has THREAD_WAIT_MONITORING=true.";
    QUEUE_WAIT 6 "call.queue_wait" U64 Counter Nanoseconds Cell "Time that calls waited before they began" "Time in queues of thread pools, where the agent knows it.";
    MEMORY 7 "call.memory" U64 Counter Bytes Cell "Memory allocated by calls" "Bytes allocated by the calling thread.";
    NESTED 8 "call.nested" U64 Counter Count Cell "Instrumented methods entered by calls" "The roots included.";
    TRANSACTIONS 9 "call.transactions" U64 Counter Count Cell "Transactions of calls" "As the agent counts them.";
    FILE_READ 10 "call.io.file_read" U64 Counter Bytes Cell "Bytes that calls read from files" "Through instrumented streams, on the calling thread.";
    FILE_WRITTEN 11 "call.io.file_written" U64 Counter Bytes Cell "Bytes that calls wrote to files" "Through instrumented streams, on the calling thread.";
    NET_READ 12 "call.io.net_read" U64 Counter Bytes Cell "Bytes that calls read from sockets" "Through instrumented streams, on the calling thread.";
    NET_WRITTEN 13 "call.io.net_written" U64 Counter Bytes Cell "Bytes that calls wrote to sockets" "Through instrumented streams, on the calling thread.";
    LOG_WRITTEN 14 "call.log.written" U64 Counter Count Cell "Characters that calls logged" "Characters, not bytes.";
    LOG_GENERATED 15 "call.log.generated" U64 Counter Count Cell "Characters that calls made for logs" "With those that a log level suppressed.";
    P50 16 "call.latency.p50" U64 Instant Nanoseconds Recent "Median duration of calls in the last minute" "Of calls whose records came within the last minute, with their whole duration: one that began long before counts when it ends. No value if there were none. Of two significant digits.";
    P95 17 "call.latency.p95" U64 Instant Nanoseconds Recent "95th percentile of the duration of calls in the last minute" "Of calls whose records came within the last minute, with their whole duration: one that began long before counts when it ends. No value if there were none. Of two significant digits.";
    P99 18 "call.latency.p99" U64 Instant Nanoseconds Recent "99th percentile of the duration of calls in the last minute" "Of calls whose records came within the last minute, with their whole duration: one that began long before counts when it ends. No value if there were none. Of two significant digits.";
    MAX 19 "call.latency.max" U64 Instant Nanoseconds Recent "Longest call in the last minute" "Of calls whose records came within the last minute, with their whole duration: one that began long before counts when it ends. No value if there were none. Of two significant digits.";
    SUSPENDS 20 "suspend.count" U64 Counter Count Cell "Times that the JVM stood still" "Pauses that the agent's timer thread noticed: garbage collection, safepoints, want of CPU, swapping.";
    SUSPEND_TIME 21 "suspend.time" U64 Counter Nanoseconds Cell "Time that the JVM stood still" "Its rate is the share of time.";
    SUSPEND_MAX 22 "suspend.max" U64 Instant Nanoseconds Cell "Longest pause so far" "Of this connection.";
    WORDS 23 "dictionary.words" U64 Instant Count Cell "Words in the dictionary" "Names of methods and parameters that the agent has sent.";
    CORRUPTED 24 "corrupted" U64 Counter Count Cell "Calls that the agent lost" "As it says itself (calls.corrupted), once a minute. The call by which it says so is not among the calls.";
    TRACE_EVENTS 25 "trace.events" U64 Counter Count Cell "Events in the trace" "ENTER, EXIT and TAG.";
    TRACE_BLOCKS 26 "trace.blocks" U64 Counter Count Cell "Blocks in the trace" "Buffers of one thread's events.";
    TRACE_ENTERS 27 "trace.enters" U64 Counter Count Cell "Methods entered in the trace" "Events of the kind ENTER.";
    TRACE_EXITS 28 "trace.exits" U64 Counter Count Cell "Methods left in the trace" "Events of the kind EXIT.";
    TRACE_TAGS 29 "trace.tags" U64 Counter Count Cell "Parameters in the trace" "Events of the kind TAG.";
    SQL_VALUES 30 "value.sql" U64 Counter Count Cell "Values of the stream sql" "Big values that occur often: statements, but also node.name and java.thread.";
    XML_VALUES 31 "value.xml" U64 Counter Count Cell "Values of the stream xml" "Big values: binds, exceptions.";
    GC_COUNT 32 "gc.count" U64 Counter Count Cell "Pauses in the garbage collector's log" "Lines of the JVM's unified log with a pause; agents before 3.1.4, and only with ESC_HARVEST_GCLOG=true.";
    GC_TIME 33 "gc.time" U64 Counter Nanoseconds Cell "Time of pauses in the garbage collector's log" "Of the pauses that gc.count counts, with the milliseconds of the log.";
    RESTARTS 34 "restarts" U64 Counter Count Cell "New JVMs under this name" "Grows when an agent of the same namespace, service and server connects whose JVM was started at another time.";
    START_TIME 35 "start_time" I64 Discrete Milliseconds Cell "Start of the JVM" "Milliseconds since 1970-01-01 00:00 UTC, as the name of the pod tells.";
    FLUSHES 36 "flushes" U64 Counter Count Cell "Requests to acknowledge" "Six or seven every 5 s, or every 10 s from some agents whose application is idle: the heartbeat.";
    TRUNCATED 37 "dictionary.refused" U64 Instant Count Cell "Words refused because of limits" "What uses them is shown as # and their number. Of this connection.";
    NAMELESS 38 "call.nameless" U64 Counter Count Cell "Records of calls without all names" "Records of event.call with # and a number in place of a name, because it did not come within 11 s or before the connection ended, or because no more calls could wait for names: 64 MiB of one pod, 128 MiB of all.";
    ERROR_CORRUPT 40 "error.corrupt" U64 Counter Count Cell "Files of streams that could not be read to their end" "The rest of the file was counted and passed over; the next rotation mends it.";
    ERROR_TORN 41 "error.torn" U64 Counter Count Cell "Files of streams that ended within a record" "As it happens when a connection breaks.";
    ERROR_PROTOCOL 42 "error.protocol" U64 Counter Count Cell "Connections closed because of what the agent sent" "Unknown commands or handles, fields that are too long. The log says more.";
    ERROR_DICTIONARY 43 "error.dictionary" U64 Counter Count Cell "Connections closed because they had calls but no dictionary" "An agent that loses its connection during a rotation comes back at once and does not send its dictionary again. After a restart of the PMDA nobody knows it: the agent is told to start anew, which takes it 10 s.";
    TREES 44 "tree.kept" U64 Counter Count Cell "Records of event.tree" "Calls that were among the slowest of their service in a window of 30 s, while somebody read event.tree or with trees.always.";
    TREES_PARTIAL 45 "tree.partial" U64 Counter Count Cell "Trees that lack the end of their call" "Those of tree.kept of whose calls not all was kept: more than 64 KiB of the trace of one call, 1 MiB of the open calls of one pod, 16 MiB of all. What is not known is in others.";
    TREES_DROPPED 46 "tree.dropped" U64 Counter Count Cell "Trees that were not made" "Calls that were among the slowest when the agent began its dictionary anew, so that their methods had no names any more.";
    SUSPENDED 47 "call.suspended" U64 Counter Nanoseconds Cell "Time of calls in which the JVM stood still" "The part of the durations of finished calls that pauses (apm.profiler.suspend) fell into: of several calls at once a pause counts in each. A pause is known with the next one, and counts then in the newest 4096 calls of the pod that ended behind the last known pause: of more, what the oldest would get is not counted; nor what calls below 100 ms would get of a pod that has been silent for 15 s, or calls from before its clock was set back. A pause that ends more than an hour in the future is in no call.";
}

/// Lower bounds of the duration buckets in ms, in steps of 1-2-5.
pub(super) const EDGES: [u64; 17] =
    [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

listed! {
    /// The tables. Archives contain their ids, so these never change.
    TABLES: TableDef as TableId;
    /// Rows `namespace/service/pod::stream`.
    STREAMS = TableDef {
        name: "stream",
        cluster: CLUSTER + 4,
        indom: InDomDef {
            serial: 20,
            oneline: "Streams of Java profiler agents",
            help: "One instance for each stream of each pod: NAMESPACE/SERVICE/POD::STREAM. The streams are dictionary, params, calls, \
             suspend, trace, sql, xml and gc.",
        },
        of_peer: true,
        max: 16_384,
        per_peer: 0,
        score: STREAM_BYTES,
        initial: Vec::new,
    };
    /// Rows `lo-hi` in ms.
    BUCKETS = TableDef {
        name: "bucket",
        cluster: CLUSTER + 5,
        indom: InDomDef {
            serial: 21,
            oneline: "Durations of Java calls",
            help: "One instance for each range of durations: LO-HI in ms, LO included.",
        },
        of_peer: false,
        max: EDGES.len() + 1,
        per_peer: 0,
        score: BUCKET_CALLS,
        initial: buckets,
    };
    /// Rows `package.Class.method`.
    METHODS = TableDef {
        name: "method",
        cluster: CLUSTER + 6,
        indom: InDomDef {
            serial: 22,
            oneline: "Root methods of Java calls",
            help: "One instance for each method that was the root of calls, of all pods: PACKAGE.CLASS.METHOD, without the types of \
             its arguments. Those that took most time in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 200,
        per_peer: 0,
        score: METHOD_TIME,
        initial: Vec::new,
    };
    /// Rows `Outer.method,Inner.method`.
    STACKS = TableDef {
        name: "stack",
        cluster: CLUSTER + 7,
        indom: InDomDef {
            serial: 23,
            oneline: "Stacks of Java methods",
            help: "One instance for each stack of instrumented methods, of all pods: CLASS.METHOD of each frame, outermost first, parted \
             by commas, as flame graphs want it. Those with most time of their own in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 500,
        per_peer: 0,
        score: STACK_TIME,
        initial: Vec::new,
    };
    /// Rows `namespace/service`.
    SERVICES = TableDef {
        name: "service",
        cluster: CLUSTER + 8,
        indom: InDomDef {
            serial: 24,
            oneline: "Services of Java pods",
            help: "One instance for each service: NAMESPACE/SERVICE, the pods of which are the instances NAMESPACE/SERVICE/POD of other \
             metrics. It stays when its pods have gone. Those whose calls took most time in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 500,
        per_peer: 0,
        score: SERVICE_TIME,
        initial: Vec::new,
    };
    /// Rows `namespace/service::lo-hi` in ms.
    SERVICE_BUCKETS = TableDef {
        name: "service_bucket",
        cluster: CLUSTER + 9,
        indom: InDomDef {
            serial: 25,
            oneline: "Durations of calls of Java services",
            help: "One instance for each range of durations of each service: NAMESPACE/SERVICE::LO-HI in ms, LO included.",
        },
        of_peer: false,
        max: 500 * EDGES.len(),
        per_peer: 0,
        score: SERVICE_HISTOGRAM,
        initial: Vec::new,
    };
    /// Rows `namespace/service::package.Class.method`.
    SERVICE_METHODS = TableDef {
        name: "service_method",
        cluster: CLUSTER + 10,
        indom: InDomDef {
            serial: 26,
            oneline: "Root methods of calls of Java services",
            help: "One instance for each method that was the root of calls of a service: NAMESPACE/SERVICE::PACKAGE.CLASS.METHOD, without \
             the types of its arguments. Those that took most time in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 2000,
        per_peer: 0,
        score: SERVICE_METHOD_TIME,
        initial: Vec::new,
    };
    /// Rows `namespace/service,Outer.method,Inner.method`.
    SERVICE_STACKS = TableDef {
        name: "service_stack",
        cluster: CLUSTER + 11,
        indom: InDomDef {
            serial: 27,
            oneline: "Stacks of methods of Java services",
            help: "One instance for each stack of instrumented methods of a service: NAMESPACE/SERVICE, then CLASS.METHOD of each frame, \
             outermost first, parted by commas: the service is the outermost frame of a flame graph. Those with most time of their own \
             in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 2000,
        per_peer: 0,
        score: SERVICE_STACK_TIME,
        initial: Vec::new,
    };
}

/// The metrics of a stream, in the order of their items.
pub(super) const STREAM_ITEMS: [RowItem; 4] =
    [STREAM_BYTES, STREAM_CHUNKS, STREAM_ROTATIONS, STREAM_ERRORS];
/// The metrics of a root method; that which ranks rows is the first, as wherever several are reported: a
/// method that gets a row by it has the others of the same report there too.
pub(super) const METHOD_ITEMS: [RowItem; 5] =
    [METHOD_TIME, METHOD_COUNT, METHOD_ERRORS, METHOD_CPU, METHOD_MEMORY];

/// The instances of the histogram.
pub(super) fn buckets() -> Vec<String> {
    crate::meter::bucket_names(&EDGES)
}

row_metrics! {
    STREAM_BYTES STREAMS 0 "stream.bytes" U64 Counter Bytes "Bytes of a stream" "Payload of RCV_DATA.";
    STREAM_CHUNKS STREAMS 1 "stream.chunks" U64 Counter Count "Pieces of a stream" "RCV_DATA commands, of 1024 bytes at most.";
    STREAM_ROTATIONS STREAMS 2 "stream.rotations" U64 Counter Count "Times that a stream was opened again" "By size or period (profiler.rotation_size, profiler.rotation_period). The first opening is not counted.";
    STREAM_ERRORS STREAMS 3 "stream.errors" U64 Counter Count "Faults of a stream" "Files that could not be read to their end.";
    BUCKET_CALLS BUCKETS 0 "call.histogram" U64 Counter Count "Calls by duration" "Calls of all pods whose duration in ms is in the range.";
    METHOD_COUNT METHODS 0 "method.count" U64 Counter Count "Calls of a root method" "Calls of all pods whose first method it is.";
    METHOD_ERRORS METHODS 1 "method.errors" U64 Counter Count "Calls of a root method that failed" "Calls with the parameter call.red.";
    METHOD_TIME METHODS 2 "method.time" U64 Counter Nanoseconds "Time of calls of a root method" "Sum of their durations.";
    METHOD_CPU METHODS 3 "method.cpu" U64 Counter Nanoseconds "CPU time of calls of a root method" "Of all pods; the agent samples it at most every 100 ms for each thread.";
    STACK_TIME STACKS 0 "stack.time" U64 Counter Nanoseconds "Time in the last method of a stack, without what it called" "From the trace; of millisecond resolution. Roots of which the agent has lost a part are left out; the others count when they end, or after 10 s. For flame graphs; profiler.stacks = false turns it off.";
    METHOD_MEMORY METHODS 4 "method.memory" U64 Counter Bytes "Memory allocated by calls of a root method" "Of all pods: bytes allocated by the calling thread.";
    SERVICE_COUNT SERVICES 0 "service.count" U64 Counter Count "Finished root calls of the service" "Of all its pods: what apm.profiler.call.count counts, at most a second later. Goes on when a pod goes or comes back.";
    SERVICE_ERRORS SERVICES 1 "service.errors" U64 Counter Count "Calls of the service that failed" "Of all its pods, as apm.profiler.call.errors.";
    SERVICE_TIME SERVICES 2 "service.time" U64 Counter Nanoseconds "Time that calls of the service took" "Of all its pods, as apm.profiler.call.time. Divide its rate by that of service.count for the mean.";
    SERVICE_CPU SERVICES 3 "service.cpu" U64 Counter Nanoseconds "CPU time of calls of the service" "Of all its pods, as apm.profiler.call.cpu.";
    SERVICE_WAIT SERVICES 4 "service.wait" U64 Counter Nanoseconds "Time that calls of the service waited for monitors" "Of all its pods, as apm.profiler.call.wait.";
    SERVICE_SUSPENDED SERVICES 17 "service.suspended" U64 Counter Nanoseconds "Time of calls of the service in which the JVM stood still" "Of all its pods, as apm.profiler.call.suspended.";
    SERVICE_MEMORY SERVICES 5 "service.memory" U64 Counter Bytes "Memory allocated by calls of the service" "Of all its pods, as apm.profiler.call.memory.";
    SERVICE_SUSPENDS SERVICES 6 "service.suspend.count" U64 Counter Count "Times that JVMs of the service stood still" "Of all its pods, as apm.profiler.suspend.count.";
    SERVICE_SUSPEND_TIME SERVICES 7 "service.suspend.time" U64 Counter Nanoseconds "Time that JVMs of the service stood still" "Of all its pods, as apm.profiler.suspend.time: its rate is the share of time, summed over the pods.";
    SERVICE_GC_COUNT SERVICES 8 "service.gc.count" U64 Counter Count "Pauses in the garbage collectors' logs of the service" "Of all its pods, as apm.profiler.gc.count.";
    SERVICE_GC_TIME SERVICES 9 "service.gc.time" U64 Counter Nanoseconds "Time of pauses in the garbage collectors' logs of the service" "Of all its pods, as apm.profiler.gc.time.";
    SERVICE_GC_ALONE_COUNT SERVICES 15 "service.gc.alone.count" U64 Counter Count "Pauses of service.gc.count that no other source counts" "Of pods whose JVM is no instance of apm.jvm, or is not read there: its own service counts the others in apm.service. At most 15 s later than service.gc.count.";
    SERVICE_GC_ALONE_TIME SERVICES 16 "service.gc.alone.time" U64 Counter Nanoseconds "Time of service.gc.time that no other source counts" "As apm.profiler.service.gc.alone.count.";
    SERVICE_PODS SERVICES 10 "service.pods" U64 Instant Count Members "Connected pods of the service" "0 when all have gone.";
    SERVICE_P50 SERVICES 11 "service.latency.p50" U64 Instant Nanoseconds Recent "Median duration of calls of the service in the last minute" "Of calls of all pods of the service, as apm.profiler.call.latency.p50: made from their histograms, not from their percentiles. No value if there were none, or if no pod is connected. Of two significant digits.";
    SERVICE_P95 SERVICES 12 "service.latency.p95" U64 Instant Nanoseconds Recent "95th percentile of the duration of calls of the service in the last minute" "Of calls of all pods of the service, as apm.profiler.call.latency.p50: made from their histograms, not from their percentiles. No value if there were none, or if no pod is connected. Of two significant digits.";
    SERVICE_P99 SERVICES 13 "service.latency.p99" U64 Instant Nanoseconds Recent "99th percentile of the duration of calls of the service in the last minute" "Of calls of all pods of the service, as apm.profiler.call.latency.p50: made from their histograms, not from their percentiles. No value if there were none, or if no pod is connected. Of two significant digits.";
    SERVICE_MAX SERVICES 14 "service.latency.max" U64 Instant Nanoseconds Recent "Longest call of the service in the last minute" "Of calls of all pods of the service, as apm.profiler.call.latency.p50: made from their histograms, not from their percentiles. No value if there were none, or if no pod is connected. Of two significant digits.";
    SERVICE_HISTOGRAM SERVICE_BUCKETS 0 "service.histogram" U64 Counter Count "Calls of the service by duration" "Calls of all its pods whose duration in ms is in the range.";
    SERVICE_METHOD_COUNT SERVICE_METHODS 0 "service.method.count" U64 Counter Count "Calls of a root method of the service" "Calls of all its pods whose first method it is.";
    SERVICE_METHOD_ERRORS SERVICE_METHODS 1 "service.method.errors" U64 Counter Count "Calls of a root method of the service that failed" "Calls with the parameter call.red.";
    SERVICE_METHOD_TIME SERVICE_METHODS 2 "service.method.time" U64 Counter Nanoseconds "Time of calls of a root method of the service" "Sum of their durations.";
    SERVICE_STACK_TIME SERVICE_STACKS 0 "service.stack.time" U64 Counter Nanoseconds "Time in the last method of a stack of the service, without what it called" "As apm.profiler.stack.time, by service.";
}

listed! {
    /// Kinds of events.
    EVENTS: EventKind as EventKindId;
    /// Finished root calls.
    CALL = EventKind {
        name: "call",
        cluster: CLUSTER + 1,
        what: "one finished root call of a JVM",
        help: "The time is that of the call's start; records come within 10 s after its end, in no order of time. Parameters that are \
               0 or empty are left out, but for duration. A method or parameter whose name the agent has not sent is # and its number.",
        table: EventTable {
            columns: &[
                ("pod", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("method", Param(P_METHOD)),
                ("title", Param(P_TITLE)),
                ("status", Status(P_ERROR)),
                ("thread", Param(P_THREAD)),
                ("cpu_ms", Milliseconds(P_CPU)),
                ("wait_ms", Milliseconds(P_WAIT)),
                ("trace_id", Param(P_TRACE_ID)),
                ("request_id", Param(P_REQUEST_ID)),
                ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
    /// Pauses of the JVM.
    PAUSE = EventKind {
        name: "pause",
        cluster: CLUSTER + 2,
        what: "one pause of a JVM",
        help: "The time is that of the pause's end. The agent holds the last one back until the next.",
        table: EventTable {
            columns: &[
                ("pod", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
            ],
            duration: Some(P_DURATION),
        },
    };
    /// Payloads of streams.
    CHUNK = EventKind {
        name: "chunk",
        cluster: CLUSTER + 3,
        what: "one RCV_DATA command",
        help: "For those who watch the protocol: the time is that of arrival.",
        table: EventTable {
            columns: &[
                ("pod", Peer),
                ("stream", Param(P_STREAM)),
                ("sequence", Param(P_SEQUENCE)),
                ("offset", Param(P_OFFSET)),
                ("size", Param(P_SIZE)),
            ],
            duration: None,
        },
    };
    /// Trees of calls.
    TREE = EventKind {
        name: "tree",
        cluster: CLUSTER + 12,
        what: "the tree of methods of one slow call",
        help: "Of the slowest calls of each service in 30 s ([trees] in the configuration); the records come when these are over. The time is that of the \
               call's start. The parameter tree has the nodes, parted by blanks, each parent before its children, those with most time first: \
               DEPTH,TOTAL,SELF,STOPPED,EXECUTIONS,CLASS.METHOD, times in microseconds. In STOPPED the JVM stood still. A node with the name others \
               sums up what is too small to be shown; it has no SELF and no STOPPED. Trees are made only while somebody reads them, as records or as a table. \
               trace.file, trace.offset and trace.index are those of the call's own record.",
        table: EventTable {
            columns: &[
                ("pod", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("method", Param(P_METHOD)),
                ("title", Param(P_TITLE)),
                ("status", Status(P_ERROR)),
                ("suspended_ms", Milliseconds(P_SUSPENDED)),
                ("nodes", Param(P_NODES)),
                ("thread", Param(P_THREAD)),
                ("trace_id", Param(P_TRACE_ID)),
                ("request_id", Param(P_REQUEST_ID)),
                ("tree", Long(P_TREE)),
                ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
}

event_params! {
    P_DURATION 1 "duration" U64 Nanoseconds "how long the call or pause took";
    P_METHOD 2 "method" Text None "root method of the call";
    P_THREAD 3 "thread" Text None "name of the thread";
    P_ERROR 4 "error" U32 None "1: the call failed";
    P_CPU 5 "cpu" U64 Nanoseconds "CPU time of the call";
    P_WAIT 6 "wait" U64 Nanoseconds "time that the call waited for monitors";
    P_QUEUE_WAIT 7 "queue_wait" U64 Nanoseconds "time that the call waited before it began";
    P_MEMORY 8 "memory" U64 Bytes "memory that the call allocated";
    P_NESTED 9 "nested" U32 Count "instrumented methods that the call entered";
    P_FILE_READ 10 "file_read" U64 Bytes "bytes read from files";
    P_FILE_WRITTEN 11 "file_written" U64 Bytes "bytes written to files";
    P_NET_READ 12 "net_read" U64 Bytes "bytes read from sockets";
    P_NET_WRITTEN 13 "net_written" U64 Bytes "bytes written to sockets";
    P_TRANSACTIONS 14 "transactions" U64 Count "transactions of the call";
    P_TRACE_FILE 15 "trace.file" U32 None "number of the trace file where the call is";
    P_TRACE_OFFSET 16 "trace.offset" U32 Bytes "offset of its block there";
    P_TRACE_INDEX 17 "trace.index" U32 None "number of its ENTER in the block";
    P_TITLE 18 "title" Text None "what the agent calls the call (profiler.title)";
    P_URL 19 "web.url" Text None "URL of the request";
    P_WEB_METHOD 20 "web.method" Text None "HTTP method of the request";
    P_QUERY 21 "web.query" Text None "query string of the request";
    P_REMOTE 22 "web.remote_addr" Text None "address of the client";
    P_TRACE_ID 23 "trace.id" Text None "id of the distributed trace (trace.id, brave.trace_id, end.to.end.id)";
    P_REQUEST_ID 24 "request_id" Text None "id of the request (x-request-id)";
    P_PARAMETERS 25 "parameters" Text None "other indexed parameters, name=value";
    P_STREAM 26 "stream" Text None "name of the stream";
    P_SEQUENCE 27 "sequence" I32 None "sequence of the stream's file";
    P_SIZE 28 "size" U32 Bytes "size of the piece";
    P_OFFSET 29 "offset" U64 Bytes "bytes of the file before it";
    P_SUSPENDED 30 "suspended" U64 Nanoseconds "part of the call in which the JVM stood still";
    P_TREE 31 "tree" Text None "methods of the call: DEPTH,TOTAL,SELF,STOPPED,EXECUTIONS,CLASS.METHOD in us";
    P_NODES 32 "nodes" U32 Count "nodes of the tree, at most 512, those in others included";
    P_PARTIAL 33 "partial" U32 None "1: the end of the call is missing in the tree";
    P_STATEMENTS 34 "statements" U32 Count "SQL statements of the call";
    P_SQL 35 "sql" Text None "SQL statements of the call: EXECUTIONS,MICROSECONDS,TEXT, one a line";
}

/// Indexed parameters of calls with a predefined event parameter.
pub(super) const KNOWN: &[(&str, ParamItem)] = &[
    ("profiler.title", P_TITLE),
    ("web.url", P_URL),
    ("web.method", P_WEB_METHOD),
    ("web.query", P_QUERY),
    ("web.remote.addr", P_REMOTE),
    ("trace.id", P_TRACE_ID),
    ("brave.trace_id", P_TRACE_ID),
    ("end.to.end.id", P_TRACE_ID),
    ("x-request-id", P_REQUEST_ID),
];

/// The instance domain of pods.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 2,
    oneline: "Pods with a Java profiler agent",
    help: "One instance for each pod that sends calls, called NAMESPACE/SERVICE/POD without the start of the JVM, which is in the label \
     started and in apm.profiler.start_time: a pod that is restarted keeps its instance (apm.profiler.restarts). An instance stays \
     for a while after its pod has gone (limits.forget).",
};

/// `apm.runtime`.
pub(super) const RUNTIME: &[RollUp] = &[
    RollUp { leaf: Leaf::Restarts, parts: &[Part::Metrics(&[RESTARTS])] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Metrics(&[GC_COUNT])] },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Metrics(&[GC_TIME])] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Metrics(&[GC_COUNT])] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Metrics(&[GC_TIME])] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Metrics(&[WAIT])] },
    RollUp { leaf: Leaf::Calls, parts: &[Part::Metrics(&[CALLS])] },
    RollUp { leaf: Leaf::CallErrors, parts: &[Part::Metrics(&[ERRORS])] },
    RollUp { leaf: Leaf::CallTime, parts: &[Part::Metrics(&[TIME])] },
];

/// `apm.service`.
pub(super) const SERVICE: Option<Services> = Some(Services {
    table: SERVICES,
    of_peer: ServiceOf::Label("service"),
    leaves: LEAVES,
    sums: SUMS,
    rows: ROWS,
});

const SUMS: &[ServiceSum] = &[
    ServiceSum::Of(TIME, SERVICE_TIME),
    ServiceSum::Of(CALLS, SERVICE_COUNT),
    ServiceSum::Of(ERRORS, SERVICE_ERRORS),
    ServiceSum::Of(CPU, SERVICE_CPU),
    ServiceSum::Of(WAIT, SERVICE_WAIT),
    ServiceSum::Of(SUSPENDED, SERVICE_SUSPENDED),
    ServiceSum::Of(MEMORY, SERVICE_MEMORY),
    ServiceSum::Of(SUSPENDS, SERVICE_SUSPENDS),
    ServiceSum::Of(SUSPEND_TIME, SERVICE_SUSPEND_TIME),
    ServiceSum::Of(GC_COUNT, SERVICE_GC_COUNT),
    ServiceSum::Of(GC_TIME, SERVICE_GC_TIME),
    ServiceSum::Alone(GC_COUNT, SERVICE_GC_ALONE_COUNT),
    ServiceSum::Alone(GC_TIME, SERVICE_GC_ALONE_TIME),
];

const ROWS: &[ServiceRows] = &[
    ServiceRows { sums: &[(BUCKET_CALLS, SERVICE_HISTOGRAM)], label: Some("bucket") },
    ServiceRows {
        sums: &[
            (METHOD_TIME, SERVICE_METHOD_TIME),
            (METHOD_COUNT, SERVICE_METHOD_COUNT),
            (METHOD_ERRORS, SERVICE_METHOD_ERRORS),
        ],
        label: Some("method"),
    },
    ServiceRows { sums: &[(STACK_TIME, SERVICE_STACK_TIME)], label: None },
];

const LEAVES: &[RollUp] = &[
    RollUp { leaf: Leaf::Instances, parts: &[Part::Members] },
    RollUp { leaf: Leaf::GcCount, parts: &[Part::Rows(SERVICE_GC_ALONE_COUNT)] },
    RollUp { leaf: Leaf::GcTime, parts: &[Part::Rows(SERVICE_GC_TIME)] },
    RollUp { leaf: Leaf::PauseCount, parts: &[Part::Rows(SERVICE_GC_ALONE_COUNT)] },
    RollUp { leaf: Leaf::PauseTime, parts: &[Part::Rows(SERVICE_GC_ALONE_TIME)] },
    RollUp { leaf: Leaf::LockTime, parts: &[Part::Rows(SERVICE_WAIT)] },
    RollUp { leaf: Leaf::Calls, parts: &[Part::Rows(SERVICE_COUNT)] },
    RollUp { leaf: Leaf::CallErrors, parts: &[Part::Rows(SERVICE_ERRORS)] },
    RollUp { leaf: Leaf::CallTime, parts: &[Part::Rows(SERVICE_TIME)] },
    RollUp { leaf: Leaf::LatencyP50, parts: &[Part::Rows(SERVICE_P50)] },
    RollUp { leaf: Leaf::LatencyP95, parts: &[Part::Rows(SERVICE_P95)] },
    RollUp { leaf: Leaf::LatencyP99, parts: &[Part::Rows(SERVICE_P99)] },
    RollUp { leaf: Leaf::LatencyMax, parts: &[Part::Rows(SERVICE_MAX)] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_has_its_lower_end() {
        assert_eq!(
            (buckets().first().map(String::as_str), buckets().len()),
            (Some("0-1"), EDGES.len())
        );
    }
}
