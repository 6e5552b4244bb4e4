"""The columns of services and of runtimes, of `pcp apm services` and `runtimes` and of the page: clients/page/build.py puts them into it.

All figures are those of the common trees apm.service and apm.runtime (docs/metrics.md).
"""

from typing import NamedTuple

SECOND, MILLI, MEGA = 1e9, 1e6, float(1 << 20)
PERCENT = SECOND / 100


class Column(NamedTuple):
    """A column: what it is made of, and how a terminal and the page show it."""

    # pcp apm: heading, key in lines of JSON, digits.
    heading: str
    key: str
    digits: int
    # rate: what a counter gains a second; ratio: what one counter gains for each of another; now: the value; part: one in percent of another.
    how: str
    leaves: list
    # pcp apm divides by it.
    scale: float
    # The page: field of a row, title, format (core/columns.js), hint.
    id: str
    title: str
    format: str
    hint: str = ""


CALLS = [Column("CALLS/S", "calls_per_s", 1, "rate", ["calls.count"], 1, "calls", "Calls", "rate", "Calls, requests or spans a second"),
         Column("ERRORS/S", "errors_per_s", 2, "rate", ["calls.errors"], 1, "errors", "Errors", "rate", "Calls that failed"),
         Column("AVG MS", "average_ms", 1, "ratio", ["calls.time", "calls.count"], MILLI, "mean", "Mean", "time", "Mean duration since the last look")]
LATENCY = [Column(f"{name.upper()} MS", f"{name}_ms", 1, "now", [f"latency.{name}"], MILLI, name, title, "time", hint)
           for name, title, hint in (("p50", "p50", "Median of the last minute"), ("p95", "p95", "95th percentile of the last minute"),
                                     ("p99", "p99", "99th percentile of the last minute"), ("max", "Longest", "Longest call of the last minute"))]
CPU = [Column("CPU %", "cpu_percent", 1, "rate", ["cpu.time"], PERCENT, "cpu", "CPU", "cores", "Processors in use")]
PAUSED = [Column("PAUSED %", "paused_percent", 2, "rate", ["gc.pause.time"], PERCENT, "paused", "Paused", "share", "Share of time in pauses for collections"),
          Column("GCS/S", "collections_per_s", 1, "rate", ["gc.count"], 1, "collections", "GCs", "rate", "Garbage collections of all generations")]
PAUSE_MAX = [Column("PAUSE MAX", "pause_max_ms", 1, "now", ["gc.pause.max"], MILLI, "pause_max", "Longest pause", "time", "Of the last minute")]
PAUSE_P95 = [Column("PAUSE P95", "pause_p95_ms", 1, "now", ["gc.pause.p95"], MILLI, "pause_p95", "Pause p95", "time", "95th percentile of pauses of the last minute")]
HEAP = [Column("HEAP MB", "heap_mb", 1, "now", ["heap.used"], MEGA, "heap", "Heap", "bytes", "Memory of objects on the managed heap"),
        Column("OF MB", "heap_committed_mb", 1, "now", ["heap.committed"], MEGA, "committed", "Heap, all", "bytes", "What the heap has of the system, used or not"),
        Column("HEAP %", "heap_percent", 1, "part", ["heap.used", "heap.limit"], 1, "heap_part", "Of limit", "percent", "Heap in use, of what it may grow to")]
MEMORY = [Column("RSS MB", "resident_mb", 1, "now", ["memory.resident"], MEGA, "resident", "Resident", "bytes", "Resident memory"),
          Column("RSS %", "resident_percent", 1, "part", ["memory.resident", "memory.limit"], 1, "resident_part", "Of the container", "percent", "Resident memory, of the container's limit")]
TROUBLE = [Column("THROWN/S", "exceptions_per_s", 1, "rate", ["exceptions.count"], 1, "exceptions", "Exceptions", "rate", "Exceptions thrown, also those that are caught"),
           Column("WAITS/S", "waits_per_s", 1, "rate", ["lock.count"], 1, "waits", "Lock waits", "rate", "Times that a thread had to wait for a lock"),
           Column("WAITING", "threads_waiting", 2, "rate", ["lock.time"], SECOND, "waiting", "Waiting", "cores", "Threads that wait for locks, on average"),
           Column("ALLOC MB/S", "alloc_mb_per_s", 2, "rate", ["alloc.bytes"], MEGA, "allocated", "Allocated", "byteRate", "On the managed heap"),
           Column("JIT %", "jit_percent", 1, "rate", ["jit.time"], PERCENT, "compiling", "Compiling", "share", "Time to compile methods, of one thread")]
RESTARTS = [Column("RESTARTS", "restarts", 0, "now", ["restarts"], 1, "restarts", "Restarts", "whole", "New processes under this name")]
RUNNING = [Column("RUNNING", "running", 0, "now", ["instances"], 1, "up", "Up", "whole", "Pods, agents or processes that are connected")]
OF_SERVICES = [*RUNNING, *CALLS, *LATENCY, *CPU, *PAUSED, *PAUSE_P95, *PAUSE_MAX, *TROUBLE, *RESTARTS]
OF_RUNTIMES = [*CPU, *PAUSED, *PAUSE_MAX, *HEAP, *MEMORY, *TROUBLE, *CALLS, *RESTARTS]


def leaves(columns):
    """Each leaf once, in its order."""
    return list(dict.fromkeys(leaf for column in columns for leaf in column.leaves))


def of_page():
    """What the page has of them."""
    return {name: [{field: getattr(column, field) for field in ("id", "title", "hint", "how", "leaves", "format")} for column in columns]
            for name, columns in (("service", OF_SERVICES), ("runtime", OF_RUNTIMES))}
