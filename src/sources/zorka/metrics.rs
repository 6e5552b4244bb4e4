//! The metrics, tables, events and parameters of Zorka agents (docs/metrics.md, apm.zorka.*).

use crate::catalogue::{InDomDef, TableDef};
use crate::model::TableCell::{Long, Milliseconds, Others, Param, Peer, Status};
use crate::model::{EventKind, EventKindId, EventTable, RowItem, TableId};
use crate::{event_params, listed, peer_metrics, row_metrics};

/// First PMID cluster of this source: its static metrics.
pub(super) const CLUSTER: u16 = 256;

peer_metrics! {
    TRACES 0 "trace.count" U64 Counter Count Cell "Traces received" "Bodies of /agent/submit/trc that were accepted, without those that the agent had sent before (duplicate.count). An agent sends a trace when its outermost span ends, if that took tracer.min.trace.time (1 s unless configured) or longer.";
    TRACE_IDS 1 "trace.ids" U64 Counter Count Cell "Different trace ids" "Trace ids of requests that were not among the 64 before. Agents with tracer.distributed = yes give one id to all requests of a distributed trace; others make a new id for each request.";
    LAST_TRACE 2 "trace.last" I64 Discrete Milliseconds Cell "Time of the last trace" "Milliseconds since 1970-01-01 00:00 UTC at which the last trace arrived. An idle agent sends nothing: silence does not mean that it is gone.";
    SKEW 3 "skew" I64 Instant Nanoseconds Cell "Age of the last trace at its arrival" "Time of arrival less the end of the trace by the agent's clock. A large value means that traces wait in the agent's queue or that the clocks differ; a negative one that the agent's clock is ahead.";
    DIALECT 4 "dialect" Text Discrete None Text "What the agent speaks" "modern (zorka 1.90.7 to 2.0.3), legacy (1.90.6), legacy_base64 (1.90.1 to 1.90.5), interim (snapshots of 2019) or note (the public note's form); chosen by the bytes of the last trace.";
    SPANS 5 "span.count" U64 Counter Count Cell "Spans, each counted once" "A span is a traced operation: an HTTP request, a SQL statement, a job. Local tracers send a span within another one twice, alone and in the tree of the outer one; the second is a copy and not counted. Spans without an end are not counted.";
    SPANS_RECEIVED 6 "span.received" U64 Counter Count Cell "Spans received, copies included" "Begins of spans in all trace bodies.";
    SPAN_ERRORS 7 "span.errors" U64 Counter Count Cell "Spans that failed" "Spans, each counted once, with the agent's error mark or with an exception in their own record.";
    SPAN_TIME 8 "span.time" U64 Counter Nanoseconds Cell "Time that spans took" "Sum of the durations of spans, each counted once. A span within another one counts beside it: the sum may exceed the time of the outermost ones. Agents before 1.90.7 measure in ticks of 65,536 ns.";
    RECORDS 9 "record.count" U64 Counter Count Cell "Records, each counted once" "A record is one reported call of a method. Agents leave out calls shorter than tracer.min.method.time (250 us unless configured). Records of copies of spans are not counted.";
    RECORDS_RECEIVED 10 "record.received" U64 Counter Count Cell "Records received, copies included" "Starts of records in all trace bodies.";
    RECORDS_MODERN 11 "record.modern" U64 Counter Count Cell "Records of zorka 1.90.7 and later" "Records in the modern form, copies included; times in ns.";
    RECORDS_LEGACY 12 "record.legacy" U64 Counter Count Cell "Records of zorka before 1.90.7" "Records in the forms of 1.90.1 to 1.90.6 and of the snapshots of 2019, copies included; times in ticks of 65,536 ns.";
    RECORDS_OTHER 13 "record.other" U64 Counter Count Cell "Records in other forms" "Records in the order of the public note or with the streaming tracer's header, which no released agent sends; copies included.";
    CALLS 14 "call.count" U64 Counter Count Cell "Instrumented calls" "Calls within outermost spans as the agent counts them: also those that were too short to be reported. The agent's author advises to instrument less when one trace exceeds 1,000,000.";
    EXCEPTIONS 15 "exception.count" U64 Counter Count Cell "Reports of exceptions, each counted once" "Reports in records that are counted. Not throws: a frame does not report an exception that its last child has reported, the next frame outwards does, so an exception that leaves n reported frames is reported (n + 1) / 2 times.";
    EXCEPTIONS_RECEIVED 16 "exception.received" U64 Counter Count Cell "Reports of exceptions, copies included" "In all trace bodies. References to exceptions sent before are not counted.";
    OVERFLOWS 17 "overflow.count" U64 Counter Count Cell "Incomplete spans" "Spans, each counted once, of which the agent dropped records because there were more than tracer.max.trace.records (4096 unless configured): times of their methods are too small.";
    UNCLOSED 18 "unclosed.count" U64 Counter Count Cell "Records without an end" "Streaming tracers send methods that still run, and the end of a long trace only. They count as records, but have no time and are not counted for methods.";
    UNRESOLVED 19 "unresolved.count" U64 Counter Count Cell "References to what the agent has not defined" "Methods, types, names of attributes, classes of exceptions and the symbols of first stack frames, in records that are counted. They are shown as # and their number. zorka 1.90.7 and 1.90.8 do not define the symbols of exceptions.";
    UNKNOWN 20 "unknown.count" U64 Counter Count Cell "Items that were skipped" "Items of trace bodies with a tag that no known agent sends.";
    RESETS 21 "reset.count" U64 Counter Count Cell "Times that the agent defined everything anew" "Once after its start, then after each request that failed: a growing value means lost requests or error answers.";
    SYMBOLS 22 "symbols" U64 Instant Count Cell "Symbols known" "Names that the agent's current session has defined.";
    METHODS_KNOWN 23 "methods" U64 Instant Count Cell "Methods known" "Methods that the agent's current session has defined.";
    SYMBOLS_DEFINED 24 "definition.symbols" U64 Counter Count Cell "Definitions of symbols received" "Repeated definitions included.";
    METHODS_DEFINED 25 "definition.methods" U64 Counter Count Cell "Definitions of methods received" "Repeated definitions included: streaming tracers repeat them.";
    REQUESTS_AGD 26 "request.agd.count" U64 Counter Count Cell "Requests with definitions" "POST /agent/submit/agd, answered with success.";
    REQUESTS_TRC 27 "request.trc.count" U64 Counter Count Cell "Requests with traces" "POST /agent/submit/trc, answered with success; duplicates included.";
    REQUESTS_REGISTER 28 "request.register.count" U64 Counter Count Cell "Registrations" "POST /agent/register, answered with success. Only agents before 1.90.7 register.";
    REQUESTS_SESSION 29 "request.session.count" U64 Counter Count Cell "Sessions opened" "POST /agent/session, answered with success. Agents before 1.90.7 open a session after their start and after each failed request.";
    REQUESTS_REJECTED 30 "request.rejected" U64 Counter Count Cell "Requests answered with an error" "Requests of unknown sessions or with undefined methods, by which the agent is asked for all definitions, and others that were refused.";
    BYTES_AGD 31 "request.agd.bytes" U64 Counter Bytes Cell "Bytes of bodies with definitions" "As they came, before base64 or compression is undone; of requests answered with success.";
    BYTES_TRC 32 "request.trc.bytes" U64 Counter Bytes Cell "Bytes of bodies with traces" "As they came, before base64 or compression is undone; of requests answered with success.";
    BYTES_REGISTER 33 "request.register.bytes" U64 Counter Bytes Cell "Bytes of registrations" "Bodies of requests answered with success.";
    BYTES_SESSION 34 "request.session.bytes" U64 Counter Bytes Cell "Bytes of requests for sessions" "Bodies of requests answered with success.";
    BYTES_UNWRAPPED 35 "request.unwrapped" U64 Counter Bytes Cell "Bytes of definitions and traces, unwrapped" "After base64 and compression are undone.";
    DUPLICATES 36 "duplicate.count" U64 Counter Count Cell "Traces that the agent sent again" "Answered with success and not counted otherwise. An agent that does not get an answer sends the trace again, with new ids.";
    DECODE_ERRORS 37 "decode_errors" U64 Counter Count Cell "Bodies that could not be read to their end" "What was read before counts. Kinds are in apm.zorka.request.errors.";
    DROPPED 38 "dropped.count" U64 Counter Count Cell "Bodies dropped because of limits" "Longer than zorka accepts, or limits.memory left no room. Answered with success, since the agent could only send them again.";
    SESSIONS 40 "sessions" U64 Instant Count Cell "Sessions known" "Sessions of the agent that the PMDA still accepts. One is in use.";
    STRAY 41 "stray.count" U64 Counter Count Cell "Items without a place" "Items of trace bodies outside of any record, and attributes for a type of spans that is not around them. They are not counted otherwise.";
    BACKWARDS 42 "backwards.count" U64 Counter Count Cell "Records that end before they start" "The agent's clock went backwards; their duration is 0.";
    SKIPPED 43 "skipped.bytes" U64 Counter Bytes Cell "Bytes at the start of traces that were skipped" "zorka 1.90.6 sends only the last 64 KiB of a long trace of its streaming tracer, which may begin in the middle of an item.";
    TREES 44 "tree.kept" U64 Counter Count Cell "Records of event.tree" "Spans that were among the slowest of their service in a window of 30 s, while somebody read event.tree or with trees.always.";
    TREES_PARTIAL 45 "tree.partial" U64 Counter Count Cell "Trees of which the agent dropped records" "Counted when their span comes, also if slower ones then take its place.";
    TREES_DROPPED 46 "tree.dropped" U64 Counter Count Cell "Trees for which there was no memory" "At most 16 MiB of all agents wait for the end of their window.";
    RESTARTS 39 "restarts" U64 Counter Count Cell "New JVMs under this name" "Grows when a new session takes over the name of one that has ended.";
}

/// Nanoseconds in a microsecond.
pub(super) const US: u64 = 1000;

/// Lower bounds of the duration buckets in us, in steps of 1-2-5.
pub(super) const EDGES: [u64; 20] = [
    0,
    100,
    200,
    500,
    1000,
    2000,
    5000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
];

listed! {
    /// The tables. Archives contain their ids, so these never change.
    TABLES: TableDef as TableId;
    /// Rows `agent::type`.
    TYPES = TableDef {
        name: "type",
        cluster: CLUSTER + 3,
        indom: InDomDef {
            serial: 40,
            oneline: "Types of spans of Zorka agents",
            help: "One instance for each type of spans of each agent: AGENT::TYPE. Types are names that the agent's configuration gives: \
             http, db, job. An agent's types beyond 100 are together in AGENT::other.",
        },
        of_peer: true,
        max: 16_384,
        per_peer: 0,
        score: TYPE_COUNT,
        initial: Vec::new,
    };
    /// Rows `lo-hi` in us.
    BUCKETS = TableDef {
        name: "bucket",
        cluster: CLUSTER + 4,
        indom: InDomDef {
            serial: 41,
            oneline: "Durations of spans",
            help: "One instance for each range of durations: LO-HI in us, LO included.",
        },
        of_peer: false,
        max: EDGES.len() + 1,
        per_peer: 0,
        score: TYPE_HISTOGRAM,
        initial: buckets,
    };
    /// Rows `package.Class.method`.
    METHODS = TableDef {
        name: "method",
        cluster: CLUSTER + 5,
        indom: InDomDef {
            serial: 42,
            oneline: "Methods in Zorka traces",
            help: "One instance for each method of which agents have sent records, of all agents: PACKAGE.CLASS.METHOD, without the types of \
             its arguments unless zorka.signatures is true. Those with most time of their own in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 500,
        per_peer: 0,
        score: METHOD_SELF_TIME,
        initial: Vec::new,
    };
    /// Rows: classes of exceptions.
    EXCEPTION_CLASSES = TableDef {
        name: "class",
        cluster: CLUSTER + 6,
        indom: InDomDef {
            serial: 43,
            oneline: "Classes of exceptions in Zorka traces",
            help: "One instance for each class of exceptions that agents have reported, of all agents: PACKAGE.CLASS. Those reported most \
             often in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 200,
        per_peer: 0,
        score: CLASS_COUNT,
        initial: Vec::new,
    };
    /// Rows `agent::2xx`.
    HTTP = TableDef {
        name: "http",
        cluster: CLUSTER + 7,
        indom: InDomDef {
            serial: 44,
            oneline: "Classes of HTTP status codes of Zorka agents",
            help: "One instance for each class of status codes of each agent: AGENT::1xx to AGENT::5xx.",
        },
        of_peer: true,
        max: 8192,
        per_peer: 0,
        score: HTTP_STATUS,
        initial: Vec::new,
    };
    /// Rows `agent::db.type`.
    DB = TableDef {
        name: "db",
        cluster: CLUSTER + 8,
        indom: InDomDef {
            serial: 45,
            oneline: "Kinds of databases that Zorka agents use",
            help: "One instance for each value of the attribute db.type of each agent: AGENT::KIND. An agent's kinds beyond 20 are together \
             in AGENT::other.",
        },
        of_peer: true,
        max: 8192,
        per_peer: 0,
        score: DB_COUNT,
        initial: Vec::new,
    };
    /// Rows `agent::statement`: SQL without literals.
    STATEMENTS = TableDef {
        name: "statement",
        cluster: CLUSTER + 9,
        indom: InDomDef {
            serial: 46,
            oneline: "SQL statements in Zorka traces",
            help: "One instance for each SQL statement (attribute db.statement) of each agent: AGENT::STATEMENT, with ? in place of literals, \
             without comments and with _ in place of blanks; the label statement has it with blanks. Long ones are cut and end in a \
             number that tells them apart. Those that took most time in the last minutes have instances, what the others add is in the instance other. \
             zorka.statements = false turns this off.",
        },
        of_peer: false,
        max: 200,
        per_peer: 0,
        score: STATEMENT_TIME,
        initial: Vec::new,
    };
    /// Rows `Outer.method,Inner.method`.
    STACKS = TableDef {
        name: "stack",
        cluster: CLUSTER + 10,
        indom: InDomDef {
            serial: 47,
            oneline: "Stacks of methods in Zorka traces",
            help: "One instance for each stack of reported methods, of all agents: CLASS.METHOD of each frame, outermost first, parted \
             by commas, as flame graphs want it. Those with most time of their own in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 500,
        per_peer: 0,
        score: STACK_TIME,
        initial: Vec::new,
    };
    /// Rows `endpoint::outcome`.
    REQUESTS = TableDef {
        name: "request",
        cluster: CLUSTER + 11,
        indom: InDomDef {
            serial: 48,
            oneline: "Requests to the Zorka collector by outcome",
            help: "One instance for each endpoint (register, session, agd, trc, other) and each outcome: ENDPOINT::OUTCOME.",
        },
        of_peer: false,
        max: 64,
        per_peer: 0,
        score: REQUEST_COUNT,
        initial: Vec::new,
    };
    /// Rows: kinds of faults of bodies.
    FAULTS = TableDef {
        name: "fault",
        cluster: CLUSTER + 12,
        indom: InDomDef {
            serial: 49,
            oneline: "Faults of bodies sent to the Zorka collector",
            help: "One instance for each kind of fault: base64, decompress, truncated, tag, nesting, size, malformed and others.",
        },
        of_peer: false,
        max: 32,
        per_peer: 0,
        score: REQUEST_ERRORS,
        initial: Vec::new,
    };
    /// Rows: names of services.
    SERVICES = TableDef {
        name: "service",
        cluster: CLUSTER + 13,
        indom: InDomDef {
            serial: 50,
            oneline: "Services of Zorka agents",
            help: "One instance for each service: the attribute local.service of traces, or the application that the agent registered. \
             It stays when its agents have gone. Those whose spans took most time in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 500,
        per_peer: 0,
        score: SERVICE_TIME,
        initial: Vec::new,
    };
    /// Rows `service::lo-hi` in us.
    SERVICE_BUCKETS = TableDef {
        name: "service_bucket",
        cluster: CLUSTER + 14,
        indom: InDomDef {
            serial: 51,
            oneline: "Durations of spans of services",
            help: "One instance for each range of durations of each service: SERVICE::LO-HI in us, LO included.",
        },
        of_peer: false,
        max: 500 * EDGES.len(),
        per_peer: 0,
        score: SERVICE_HISTOGRAM,
        initial: Vec::new,
    };
    /// Rows `service::package.Class.method`.
    SERVICE_METHODS = TableDef {
        name: "service_method",
        cluster: CLUSTER + 48,
        indom: InDomDef {
            serial: 52,
            oneline: "Methods in Zorka traces of services",
            help: "One instance for each method of which agents of a service have sent records: SERVICE::PACKAGE.CLASS.METHOD, as in \
             apm.zorka.method.count. Those with most time of their own in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 2000,
        per_peer: 0,
        score: SERVICE_METHOD_SELF_TIME,
        initial: Vec::new,
    };
    /// Rows `service,Outer.method,Inner.method`.
    SERVICE_STACKS = TableDef {
        name: "service_stack",
        cluster: CLUSTER + 49,
        indom: InDomDef {
            serial: 53,
            oneline: "Stacks of methods in Zorka traces of services",
            help: "One instance for each stack of reported methods of a service: SERVICE, then CLASS.METHOD of each frame, outermost \
             first, parted by commas: the service is the outermost frame of a flame graph. Those with most time of their own in the last minutes have instances, what the others add is in the instance other.",
        },
        of_peer: false,
        max: 2000,
        per_peer: 0,
        score: SERVICE_STACK_TIME,
        initial: Vec::new,
    };
}

/// The sums of a method; that which ranks rows is the first, as wherever several are reported: a method
/// that gets a row by it has the others of the same report there too.
pub(super) const METHOD_ITEMS: [RowItem; 5] =
    [METHOD_SELF_TIME, METHOD_COUNT, METHOD_ERRORS, METHOD_TIME, METHOD_TOTAL_TIME];

/// The instances of the histogram.
pub(super) fn buckets() -> Vec<String> {
    crate::meter::bucket_names(&EDGES)
}

row_metrics! {
    TYPE_COUNT TYPES 0 "type.count" U64 Counter Count "Spans of the type" "Each counted once, as in apm.zorka.span.count.";
    TYPE_ERRORS TYPES 1 "type.errors" U64 Counter Count "Spans of the type that failed" "With the agent's error mark or with an exception in their own record.";
    TYPE_TIME TYPES 2 "type.time" U64 Counter Nanoseconds "Time of spans of the type" "Sum of their durations. Divide its rate by that of type.count for the mean.";
    TYPE_CALLS TYPES 3 "type.calls" U64 Counter Count "Instrumented calls in spans of the type" "As the agent counts them: also those too short to be reported.";
    TYPE_OVERFLOW TYPES 4 "type.overflow" U64 Counter Count "Incomplete spans of the type" "Spans of which the agent dropped records.";
    TYPE_MAX TYPES 5 "type.max" U64 Instant Nanoseconds "Longest span of the type so far" "Each counted once, as in apm.zorka.span.count.";
    TYPE_P50 TYPES 6 "type.latency.p50" U64 Instant Nanoseconds Recent "Median duration of spans of the type in the last minute" "Of spans that came within the last minute, with their whole duration. No value if there were none. Of two significant digits.";
    TYPE_P95 TYPES 7 "type.latency.p95" U64 Instant Nanoseconds Recent "95th percentile of the duration of spans of the type in the last minute" "Of spans that came within the last minute, with their whole duration. No value if there were none. Of two significant digits.";
    TYPE_P99 TYPES 8 "type.latency.p99" U64 Instant Nanoseconds Recent "99th percentile of the duration of spans of the type in the last minute" "Of spans that came within the last minute, with their whole duration. No value if there were none. Of two significant digits.";
    TYPE_RECENT_MAX TYPES 9 "type.latency.max" U64 Instant Nanoseconds Recent "Longest span of the type in the last minute" "Of spans that came within the last minute, with their whole duration. No value if there were none. Of two significant digits.";
    TYPE_HISTOGRAM BUCKETS 0 "type.histogram" U64 Counter Count "Spans by duration" "Spans of all types and agents, each counted once, whose duration in us is in the range. Spans that are sent alone and are shorter than tracer.min.trace.time (1 s unless configured) never arrive.";
    METHOD_COUNT METHODS 0 "method.count" U64 Counter Count "Reported calls of the method" "Records with an end, each counted once. Calls shorter than tracer.min.method.time (250 us unless configured) are not reported; apm.zorka.call.count has all.";
    METHOD_ERRORS METHODS 1 "method.errors" U64 Counter Count "Calls of the method that report an exception" "Records with an exception, or a reference to one sent before, of their own.";
    METHOD_TIME METHODS 2 "method.time" U64 Counter Nanoseconds "Time in the method and in what it called" "Of a method that calls itself, directly or not, only the outermost call counts: no time counts twice.";
    METHOD_TOTAL_TIME METHODS 3 "method.total_time" U64 Counter Nanoseconds "Sum of the durations of the method's calls" "Every reported call counts: the time of a recursive method counts once for each level.";
    METHOD_SELF_TIME METHODS 4 "method.self_time" U64 Counter Nanoseconds "Time in the method itself" "The durations of its calls without those of the calls they made that were reported: time in calls that are too short to be reported or not instrumented, and pauses of the JVM, belong to it.";
    METHOD_MAX METHODS 5 "method.max" U64 Instant Nanoseconds "Longest reported call of the method so far" "With the calls that it made. The instance other has the longest of its methods.";
    CLASS_COUNT EXCEPTION_CLASSES 0 "exception.class.count" U64 Counter Count "Reports of exceptions of the class" "Each counted once, as in apm.zorka.exception.count: reports, not throws.";
    CLASS_RECEIVED EXCEPTION_CLASSES 1 "exception.class.received" U64 Counter Count "Reports of exceptions of the class, copies included" "In all trace bodies.";
    HTTP_STATUS HTTP 0 "http.status" U64 Counter Count "Spans by class of HTTP status" "Spans, each counted once, by the attribute http.status_code; values that are not three digits are left out. An agent may report 200 for a request that an exception ended, although its client saw 500: apm.zorka.type.errors counts that.";
    DB_COUNT DB 0 "db.count" U64 Counter Count "Spans by kind of database" "Spans with the attribute db.type, each counted once.";
    DB_ERRORS DB 1 "db.errors" U64 Counter Count "Failed spans by kind of database" "With the agent's error mark or with an exception in their own record.";
    DB_TIME DB 2 "db.time" U64 Counter Nanoseconds "Time of spans by kind of database" "Sum of their durations.";
    STATEMENT_COUNT STATEMENTS 0 "statement.count" U64 Counter Count "Spans with the statement" "Each counted once, as in apm.zorka.span.count.";
    STATEMENT_ERRORS STATEMENTS 1 "statement.errors" U64 Counter Count "Spans with the statement that failed" "With the agent's error mark or with an exception in their own record.";
    STATEMENT_TIME STATEMENTS 2 "statement.time" U64 Counter Nanoseconds "Time of spans with the statement" "Sum of their durations. Divide its rate by that of statement.count for the mean.";
    STACK_TIME STACKS 0 "stack.time" U64 Counter Nanoseconds "Time in the last method of a stack, without what it called" "From records counted once; calls that are not reported are no frames, and their time belongs to the frame that made them. For flame graphs; zorka.stacks = false turns it off.";
    REQUEST_COUNT REQUESTS 0 "collector.request.count" U64 Counter Count "Requests by endpoint and outcome" "Requests that were read and answered, of all agents.";
    REQUEST_ERRORS FAULTS 0 "request.errors" U64 Counter Count "Bodies with a fault" "They are answered with success, since the agent could only send them again; what was read before the fault counts.";
    SERVICE_COUNT SERVICES 0 "service.count" U64 Counter Count "Spans of the service, each counted once" "Of all its agents: what apm.zorka.span.count counts, at most a second later. Goes on when an agent goes or comes back.";
    SERVICE_ERRORS SERVICES 1 "service.errors" U64 Counter Count "Spans of the service that failed" "Of all its agents, as apm.zorka.span.errors.";
    SERVICE_TIME SERVICES 2 "service.time" U64 Counter Nanoseconds "Time that spans of the service took" "Of all its agents, as apm.zorka.span.time: a span within another one counts beside it. Divide its rate by that of service.count for the mean.";
    SERVICE_EXCEPTIONS SERVICES 3 "service.exceptions" U64 Counter Count "Reports of exceptions of the service, each counted once" "Of all its agents, as apm.zorka.exception.count.";
    SERVICE_AGENTS SERVICES 4 "service.agents" U64 Instant Count Members "Agents of the service that are there" "0 when all have gone.";
    SERVICE_P50 SERVICES 5 "service.latency.p50" U64 Instant Nanoseconds Recent "Median duration of spans of the service in the last minute" "Of spans of all agents and types of the service that came within the last minute, with their whole duration: made from histograms, not from percentiles. No value if there were none, or if no agent is connected. Of two significant digits.";
    SERVICE_P95 SERVICES 6 "service.latency.p95" U64 Instant Nanoseconds Recent "95th percentile of the duration of spans of the service in the last minute" "Of spans of all agents and types of the service that came within the last minute, with their whole duration: made from histograms, not from percentiles. No value if there were none, or if no agent is connected. Of two significant digits.";
    SERVICE_P99 SERVICES 7 "service.latency.p99" U64 Instant Nanoseconds Recent "99th percentile of the duration of spans of the service in the last minute" "Of spans of all agents and types of the service that came within the last minute, with their whole duration: made from histograms, not from percentiles. No value if there were none, or if no agent is connected. Of two significant digits.";
    SERVICE_MAX SERVICES 8 "service.latency.max" U64 Instant Nanoseconds Recent "Longest span of the service in the last minute" "Of spans of all agents and types of the service that came within the last minute, with their whole duration: made from histograms, not from percentiles. No value if there were none, or if no agent is connected. Of two significant digits.";
    SERVICE_HISTOGRAM SERVICE_BUCKETS 0 "service.histogram" U64 Counter Count "Spans of the service by duration" "Spans of all its agents and types, each counted once, whose duration in us is in the range.";
    SERVICE_METHOD_COUNT SERVICE_METHODS 0 "service.method.count" U64 Counter Count "Reported calls of the method in the service" "Of all its agents, as apm.zorka.method.count.";
    SERVICE_METHOD_ERRORS SERVICE_METHODS 1 "service.method.errors" U64 Counter Count "Calls of the method in the service that report an exception" "Of all its agents, as apm.zorka.method.errors.";
    SERVICE_METHOD_TIME SERVICE_METHODS 2 "service.method.time" U64 Counter Nanoseconds "Time in the method and in what it called, in the service" "Of all its agents, as apm.zorka.method.time.";
    SERVICE_METHOD_SELF_TIME SERVICE_METHODS 3 "service.method.self_time" U64 Counter Nanoseconds "Time in the method itself, in the service" "Of all its agents, as apm.zorka.method.self_time.";
    SERVICE_STACK_TIME SERVICE_STACKS 0 "service.stack.time" U64 Counter Nanoseconds "Time in the last method of a stack of the service, without what it called" "As apm.zorka.stack.time, by service.";
}

listed! {
    /// Kinds of events.
    EVENTS: EventKind as EventKindId;
    /// Spans.
    SPAN = EventKind {
        name: "span",
        cluster: CLUSTER + 1,
        what: "one span, counted once",
        help: "The time is that of the span's start by the agent's clock; records come after its end, in no order of time. The first parameters \
               are span id and parent id: together with trace they put a trace over several services together. Parameters without a value \
               are left out. Attributes have parameters only if zorka.attributes has their names; HTTP headers, cookies and parameters \
               are not among them unless asked for.",
        table: EventTable {
            columns: &[
                ("agent", Peer),
                ("duration_ms", Milliseconds(P_DURATION)),
                ("service", Param(P_SERVICE)),
                ("type", Param(P_TYPE)),
                ("method", Param(P_METHOD)),
                ("status", Status(P_ERROR)),
                ("thread", Param(P_THREAD)),
                ("calls", Param(P_CALLS)),
                ("trace", Param(P_TRACE)),
                ("span", Param(P_SPAN)),
                ("parent", Param(P_PARENT)),
                ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
    /// Exceptions.
    EXCEPTION = EventKind {
        name: "exception",
        cluster: CLUSTER + 2,
        what: "one exception in a record that is counted",
        help: "The time is that of the end of the call that reports it, by the agent's clock. The first parameter is the id of the span in which it \
               happened. An exception that leaves several calls may be reported by more than one of them (apm.zorka.exception.count).",
        table: EventTable {
            columns: &[
                ("agent", Peer),
                ("class", Param(P_EXCEPTION_CLASS)),
                ("message", Param(P_EXCEPTION_MESSAGE)),
                ("method", Param(P_METHOD)),
                ("frame", Param(P_EXCEPTION_FRAME)),
                ("service", Param(P_SERVICE)),
                ("trace", Param(P_TRACE)),
                ("span", Param(P_SPAN)),
                ("fields", Others(0)),
            ],
            duration: None,
        },
    };
    /// Trees of spans.
    TREE = EventKind {
        name: "tree",
        cluster: CLUSTER + 50,
        what: "the tree of methods of one slow span",
        help: "Of the slowest spans of each service in 30 s that are within no other span of their body ([trees] in the configuration); the records come \
               when these are over. The time is that of the span's start. The first parameter, parent, is the id of the span, which span has too: a tree is a child of its span. The parameter \
               tree has the nodes, parted by blanks, each parent before its children, those with most time first: DEPTH,TOTAL,SELF,,EXECUTIONS,CLASS.METHOD, times in microseconds. SELF can be below 0 by ticks of the agent's clock. A node with the name others sums up what is too small to be shown, and spans that were sent alone. Trees are made only while somebody reads them, as records or as a table.",
        table: EventTable {
            columns: &[
                ("agent", Peer), ("duration_ms", Milliseconds(P_DURATION)), ("service", Param(P_SERVICE)), ("type", Param(P_TYPE)),
                ("method", Param(P_METHOD)), ("status", Status(P_ERROR)), ("nodes", Param(P_NODES)), ("calls", Param(P_CALLS)),
                ("trace", Param(P_TRACE)), ("span", Param(P_SPAN)), ("tree", Long(P_TREE)), ("fields", Others(0)),
            ],
            duration: Some(P_DURATION),
        },
    };
}

event_params! {
    P_SPAN 1 "span" Text None "id of the span, 16 hexadecimal digits";
    P_PARENT 2 "parent" Text None "id of the span that caused it, 16 hexadecimal digits";
    P_TRACE 3 "trace" Text None "id of the trace, as the request's header has it";
    P_TYPE 4 "type" Text None "type of the span: http, db, job";
    P_SERVICE 5 "service" Text None "name of the service (local.service), or of the application";
    P_METHOD 6 "method" Text None "method of the span's or the exception's record";
    P_DURATION 7 "duration" U64 Nanoseconds "how long the span took";
    P_CALLS 8 "calls" U64 Count "instrumented calls in the span, also those too short to be reported";
    P_RECORDS 9 "records" U32 Count "records in the span";
    P_ERROR 10 "error" U32 None "1: the span failed";
    P_OVERFLOW 11 "overflow" U32 None "1: the agent dropped records of the span";
    P_NESTED 12 "nested" U32 None "1: the span came only within the tree of another one";
    P_DEPTH 13 "depth" U32 Count "reported calls around the span's record";
    P_THREAD 14 "thread" Text None "name of the thread (thread.name)";
    P_COMPONENT 15 "component" Text None "library or framework (component)";
    P_KIND 16 "kind" Text None "role of the span (span.kind): SERVER, CLIENT, PRODUCER, CONSUMER, JOB";
    P_HTTP_METHOD 17 "http.method" Text None "HTTP method (http.method)";
    P_HTTP_URL 18 "http.url" Text None "URL (http.url)";
    P_HTTP_STATUS 19 "http.status_code" Text None "HTTP status (http.status_code)";
    P_DB_TYPE 20 "db.type" Text None "kind of database (db.type)";
    P_DB_URL 21 "db.url" Text None "URL of the database (db.url)";
    P_DB_INSTANCE 22 "db.instance" Text None "name of the database (db.instance)";
    P_DB_STATEMENT 23 "db.statement" Text None "statement, cut if it is long (db.statement)";
    P_PEER_SERVICE 24 "peer.service" Text None "service at the other end (peer.service)";
    P_PEER_ADDRESS 25 "peer.address" Text None "address of the other end (peer.address, peer.hostname, peer.ipv4, peer.ipv6)";
    P_EXCEPTION_CLASS 26 "exception.class" Text None "class of the exception";
    P_EXCEPTION_MESSAGE 27 "exception.message" Text None "message of the exception, cut if it is long";
    P_EXCEPTION_FRAME 28 "exception.frame" Text None "first frame of the exception's stack: CLASS.METHOD(FILE:LINE)";
    P_EXCEPTION_FRAMES 29 "exception.frames" U32 Count "frames of the exception's stack";
    P_TOP 30 "top" Text None "the five methods with most time of their own: METHOD=NANOSECONDS, parted by blanks";
    P_ATTRIBUTES 31 "attributes" Text None "other attributes that zorka.attributes has, name=value";
    P_SIGNATURE 32 "signature" Text None "types of the method's arguments and result, as in class files";
    P_DIALECT 33 "dialect" Text None "what the agent speaks (apm.zorka.dialect)";
    P_TREE 34 "tree" Text None "methods of the span: DEPTH,TOTAL,SELF,,EXECUTIONS,CLASS.METHOD in us";
    P_NODES 35 "nodes" U32 Count "nodes of the tree, at most 512, those in others included";
    P_PARTIAL 36 "partial" U32 None "1: the agent has dropped records of the span";
}

/// The instance domain of agents.
pub(super) const INDOM: InDomDef = InDomDef {
    serial: 4,
    oneline: "Zorka agents",
    help: "One instance for each Zorka agent that sends traces: the name that the agent registered (before 1.90.7) or SERVICE/HOST from \
     the attributes local.service and local.host of its traces. A JVM that is restarted keeps its instance (apm.zorka.restarts). An \
     instance stays for a while after its agent has gone (limits.forget).",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_has_its_lower_end() {
        let all = buckets();
        assert_eq!((all.len(), all.first().map(String::as_str)), (EDGES.len(), Some("0-100")));
        assert_eq!(all.last().map(String::as_str), Some("100000000-inf"));
    }
}
