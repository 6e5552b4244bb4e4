"""Mono: programs, collections and pauses, exceptions, locks, heap, JIT, CPU."""
from ..model import Board, Choice, Panel, Query, Row

C, M, N = "apm.mono.counter.", "apm.mono.program.", "apm.mono."

BOARD = Board(
    "mono",
    "Mono",
    "Programs and processes of Mono: collections and pauses, exceptions, locks, heap, JIT, CPU profile.",
    [
        Panel("Programs", "table", "table", [
            Query(M + "processes", "processes", "is"), Query(M + "starts", "starts/s", "is"),
            Query(M + "gc.count", "collections/s", "is"), Query(M + "exceptions.count", "exceptions/s", "is"),
            Query(M + "gc.pause.total", "paused", "is"), Query(M + "lock.contention.count", "contended locks/s", "is")],
            "Counters of a program go on over restarts.", w=12, h=8),
        Panel("Processes", "timeseries", "short", [Query(M + "processes", "", "is")]),
        Row("Garbage collection"),
        Panel("Share of time in collections", "timeseries", "percentunit", [
            Query(C + "gc.minor_gc_time", "minor", "process"), Query(C + "gc.major_gc_time", "major", "process")]),
        Panel("Collections a second", "timeseries", "cps", [
            Query(N + "runtime.gc_collections0", "gen0", "process"), Query(N + "runtime.gc_collections1", "gen1", "process"),
            Query(C + "gc.minor_gc_collections", "minor", "process"), Query(C + "gc.major_gc_collections", "major", "process")],
              "gen0 and gen1 of the shared area, minor and major of the module's counters."),
        Panel("Heap", "timeseries", "bytes", [
            Query(C + "gc.memgov_alloc", "", "process"), Query(C + "runtime.valloc_sgen_los", "large objects", "process")]),
        Panel("World stopped", "timeseries", "percentunit", [Query(C + "gc.world_stop", "", "process")],
              "Share of time that it took to stop all threads."),
        Row("Log profiler"),
        Panel("Pauses: share of time", "timeseries", "percentunit", [Query(N + "gc.pause.total", "", "process")],
              "By kind of pause. Needs the log profiler with gc, as all of its figures of collections."),
        Panel("Pauses", "timeseries", "ns", [
            Query(N + "gc.pause.max", "max", "process"), Query(N + "gc.pause.last", "last", "process")],
              "The longest of the last minute, and the last one."),
        Panel("Pauses by length", "heatmap", "µs", [Query(N + "gc.pause.histogram")],
              "Pauses a second in each range of lengths, of all processes."),
        Panel("Exceptions a second", "timeseries", "cps", [Query(N + "exceptions.count", "", "process")]),
        Panel("Exceptions by the method that throws", "bars", "cps", [Query(N + "exceptions.by_site", "", "process")]),
        Panel("Waiting for locks", "timeseries", "percentunit", [Query(N + "lock.contention.time", "", "process")],
              "Seconds a second that threads wait for contended locks."),
        Panel("Waiting for locks by method", "bars", "percentunit", [Query(N + "lock.top.time", "", "process")]),
        Panel("Threads", "timeseries", "short", [
            Query(N + "threads.count", "threads", "process"), Query(N + "pool.threads", "pool", "process")]),
        Panel("CPU profile", "flamegraph", "ns", [Query(M + "stack.time", "", "stack")],
              "Processor time by stack, of programs whose log profiler samples; the first frame is the program.", w=24, h=14),
        Row("Process"),
        Panel("Resident memory", "timeseries", "bytes", [Query(C + "system.working_set", "", "process")]),
        Panel("CPU", "timeseries", "percentunit", [
            Query(C + "system.user_time", "user", "process"), Query(C + "system.system_time", "system", "process")], "1 is one core."),
        Panel("Share of time in the JIT", "timeseries", "percentunit", [Query(C + "jit.total_time_spent_jitting", "", "process")]),
        Panel("Methods compiled a second", "timeseries", "cps", [Query(C + "jit.compiled_methods", "", "process")]),
        Row("Records", only=("vector",)),
        Panel("Slowest pauses", "csv", "table", [Query(N + "event.gc.slowest")], "Of the last five minutes.", w=24, h=8),
        Panel("Newest exceptions", "csv", "table", [Query(N + "event.exception.table")], w=24, h=8),
        Panel("Longest waits for locks", "csv", "table", [Query(N + "event.contention.slowest")],
              "Of the last five minutes.", w=24, h=8),
        Panel("Newest samples", "csv", "table", [Query(N + "event.sample.table")], w=24, h=9),
    ],
    Choice("Program", "mono", "apm.mono.session.state", r"(.+?):\d+.*", parts="process"),
)
