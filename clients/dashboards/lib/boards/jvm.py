"""JVMs by their performance data: services, pauses, collections, heap, memory, processors, threads."""
from ..model import Board, Choice, Panel, Query, Row

N, S = "apm.jvm.", "apm.jvm.service."

BOARD = Board(
    "jvm",
    "JVM",
    "Every HotSpot JVM of the host: pauses, collections, heap, metaspace, safepoints, memory and its limits, threads, classes, JIT.",
    [
        Panel("Services", "table", "table", [
            Query(S + "gc.pause.total", "paused", "is"), Query(S + "gc.pause.count", "pauses/s", "is"),
            Query(S + "gc.count", "collections/s", "is"), Query(S + "safepoint.time", "stopped", "is"),
            Query(S + "cpu.time", "CPU", "is"), Query(S + "class.loaded", "classes/s", "is"),
            Query(S + "starts", "starts/s", "is"), Query(S + "processes", "processes", "is")],
            "All processes of a service together.", w=24, h=7),
        Panel("Processes", "table", "table", [
            Query(N + "session.reason", "cannot be read"), Query(N + "process.version", "Java"),
            Query(N + "process.collector", "collector"), Query(N + "gc.last_cause", "last cause"),
            Query(N + "gc.heap.total", "heap"), Query(N + "gc.heap.max", "limit"),
            Query(N + "memory.working_set", "resident"), Query(N + "threads.count", "threads")],
            "All of the host. A process that cannot be read has the reason.", w=24, h=7, only=("vector",)),
        Row("Pauses and collections"),
        Panel("Pauses: share of time", "timeseries", "percentunit", [Query(N + "gc.pause.total", "", "process")]),
        Panel("Longest pause", "timeseries", "ns", [Query(N + "gc.pause.max", "", "process")], "Of the last minute; a lower bound."),
        Panel("Collections by collector", "timeseries", "cps", [Query(N + "gc.count", "", "process")],
              "Full ones mean that the heap is too small, or asked for by System.gc()."),
        Panel("Time in collections by collector", "timeseries", "percentunit", [Query(N + "gc.time", "", "process")]),
        Panel("Safepoints: share of time", "timeseries", "percentunit", [
            Query(N + "safepoint.time", "stopped", "process"), Query(N + "safepoint.sync_time", "stopping", "process")],
            "All stops, collections too; stopping is the time until all threads stand, which is in no pause."),
        Panel("Processor time of collectors", "timeseries", "percentunit", [Query(N + "gc.cpu.time", "", "process")],
              "1 is one core. From JDK 22 on."),
        Row("Memory"),
        Panel("Heap", "timeseries", "bytes", [
            Query(N + "gc.heap.total", "used", "process"), Query(N + "gc.heap.committed", "committed", "process"),
            Query(N + "gc.heap.max", "limit", "process")],
            "With ZGC, and with Serial and Parallel from JDK 25 on, used is that after the last collection."),
        Panel("Pools", "timeseries", "bytes", [Query(N + "memory.pool.used", "", "process")],
              "A pool old that grows over days is a leak; metaspace that does is one of classes."),
        Panel("Resident memory", "timeseries", "bytes", [
            Query(N + "memory.working_set", "resident", "process"), Query(N + "memory.swap", "swap", "process")]),
        Panel("Container", "timeseries", "bytes", [
            Query(N + "memory.limit", "limit", "process"), Query(N + "memory.usage", "in use", "process")],
            "The limit must be above that of the heap, by a quarter at least."),
        Row("Process"),
        Panel("Use of processors", "timeseries", "percentunit", [Query(N + "cpu.time", "", "process")], "1 is one core."),
        Panel("Threads", "timeseries", "short", [
            Query(N + "threads.count", "Java", "process"), Query(N + "threads.native", "all", "process")]),
        Panel("Threads started a second", "timeseries", "cps", [Query(N + "threads.created", "", "process")],
              "Many: there is no pool."),
        Panel("Open files", "timeseries", "short", [
            Query(N + "files.open", "open", "process"), Query(N + "files.limit", "limit", "process")]),
        Panel("Classes", "timeseries", "short", [Query(N + "classes", "", "process")]),
        Panel("Share of time in the JIT", "timeseries", "percentunit", [Query(N + "jit.time", "", "process")]),
    ],
    Choice("Service", "jvm", N + "session.state", r"(.+?):\d+.*", parts="process"),
)
