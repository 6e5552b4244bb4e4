""".NET: programs, collections, pauses, exceptions, locks, thread pool, JIT, CPU profile."""
from ..model import Board, Choice, Panel, Query, Row

N, S = "apm.dotnet.", "apm.dotnet.service."

BOARD = Board(
    "dotnet",
    ".NET",
    "Programs and processes of .NET: collections and pauses, exceptions, locks, thread pool, JIT, CPU profile.",
    [
        Panel("Programs", "table", "table", [
            Query(S + "gc.pause.total", "paused", "is"), Query(S + "gc.pause.p50", "p50 pause", "is"),
            Query(S + "gc.pause.p99", "p99 pause", "is"), Query(S + "gc.count", "collections/s", "is"),
            Query(S + "alloc.bytes", "allocated/s", "is"), Query(S + "exceptions.count", "exceptions/s", "is"),
            Query(S + "lock.contention.count", "contended locks/s", "is"), Query(S + "processes", "processes", "is")],
            "All processes of a program together.", w=24, h=7),
        Row("Garbage collection"),
        Panel("Pauses: share of time", "timeseries", "percentunit", [Query(N + "gc.pause.total", "", "process")]),
        Panel("Pauses", "timeseries", "ns", [
            Query(S + "gc.pause.p50", "p50", "is"), Query(S + "gc.pause.p95", "p95", "is"), Query(S + "gc.pause.p99", "p99", "is"),
            Query(S + "gc.pause.max", "max", "is")], "Of the last minute, over all processes of a program."),
        Panel("Pauses by length", "heatmap", "µs", [Query(S + "gc.pause.histogram", "", "row")],
              "Pauses a second in each range of lengths. Choose one program."),
        Panel("Collections by generation", "timeseries", "cps", [Query(N + "gc.count", "", "process")]),
        Panel("Heap", "timeseries", "bytes", [
            Query(N + "gc.heap.total", "", "process"), Query(N + "gc.heap.committed", "committed", "process")]),
        Panel("Heap by generation", "timeseries", "bytes", [Query(N + "gc.heap.size", "", "process")]),
        Panel("Allocated a second", "timeseries", "binBps", [Query(N + "alloc.bytes", "", "process")]),
        Panel("Collections by reason", "timeseries", "cps", [Query(N + "gc.by_reason", "", "process")]),
        Row("Exceptions and waiting"),
        Panel("Exceptions a second", "timeseries", "cps", [Query(N + "exceptions.count", "", "process")]),
        Panel("Exceptions by type", "bars", "cps", [Query(S + "exceptions.by_type", "", "row")]),
        Panel("Waiting for locks", "timeseries", "percentunit", [Query(N + "lock.contention.time", "", "process")],
              "Seconds a second that threads wait for contended locks."),
        Panel("Work items that wait", "timeseries", "short", [
            Query(N + "pool.queue", "queue", "process"), Query(N + "pool.threads", "threads", "process")], "Of the thread pool."),
        Row("Process"),
        Panel("Use of processors", "timeseries", "percent", [Query(N + "cpu.usage", "", "process")], "100 % are all processors."),
        Panel("Working set", "timeseries", "bytes", [Query(N + "memory.working_set", "", "process")]),
        Panel("Methods compiled a second", "timeseries", "cps", [Query(N + "jit.methods", "", "process")]),
        Panel("Share of time in the JIT", "timeseries", "percentunit", [Query(N + "jit.time", "", "process")]),
        Panel("CPU profile", "flamegraph", "ns", [Query(S + "stack.time", "", "stack")],
              "Processor time by stack, from the bursts that dotnet.profile_every asks for; the first frame is the program.", w=24, h=14),
        Row("Records", only=("vector",)),
        Panel("Slowest collections", "csv", "table", [Query(N + "event.gc.slowest")],
              "Of the last five minutes.", w=24, h=8),
        Panel("Newest exceptions", "csv", "table", [Query(N + "event.exception.table")], w=24, h=8),
    ],
    Choice("Program", "dotnet", "apm.dotnet.session.events", r"(.+?):\d+.*", parts="process"),
)
