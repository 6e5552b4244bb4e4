"""Mono: programs, collections, heap, JIT, CPU."""
from ..model import Board, Choice, Panel, Query, Row

C, M = "apm.mono.counter.", "apm.mono.program."

BOARD = Board(
    "mono",
    "Mono",
    "Programs and processes of Mono: collections, heap, JIT, stops of the world, CPU.",
    [
        Panel("Programs", "table", "table", [
            Query(M + "processes", "processes", "is"), Query(M + "starts", "starts/s", "is"),
            Query(M + "samples", "samples/s", "is")], "Counters of a program go on over restarts.", w=12, h=8),
        Panel("Processes", "timeseries", "short", [Query(M + "processes", "", "is")]),
        Row("Garbage collection"),
        Panel("Share of time in collections", "timeseries", "percentunit", [
            Query(C + "gc.minor_gc_time", "minor", "process"), Query(C + "gc.major_gc_time", "major", "process")]),
        Panel("Collections a second", "timeseries", "cps", [
            Query(C + "gc.minor_gc_collections", "minor", "process"), Query(C + "gc.major_gc_collections", "major", "process")]),
        Panel("Heap", "timeseries", "bytes", [
            Query(C + "gc.memgov_alloc", "", "process"), Query(C + "runtime.valloc_sgen_los", "large objects", "process")]),
        Panel("World stopped", "timeseries", "percentunit", [Query(C + "gc.world_stop", "", "process")],
              "Share of time that it took to stop all threads."),
        Row("Process"),
        Panel("Resident memory", "timeseries", "bytes", [Query(C + "system.working_set", "", "process")]),
        Panel("CPU", "timeseries", "percentunit", [
            Query(C + "system.user_time", "user", "process"), Query(C + "system.system_time", "system", "process")], "1 is one core."),
        Panel("Share of time in the JIT", "timeseries", "percentunit", [Query(C + "jit.total_time_spent_jitting", "", "process")]),
        Panel("Methods compiled a second", "timeseries", "cps", [Query(C + "jit.compiled_methods", "", "process")]),
        Row("Records", only=("vector",)),
        Panel("Newest samples", "csv", "table", [Query("apm.mono.event.sample.table")], w=24, h=9),
    ],
    Choice("Program", "mono", "apm.mono.samples", r"(.+?):\d+.*", parts="process"),
)
