"""Java by the profiler's agent: pods, calls, pauses, methods, stacks."""
from ..model import Board, Choice, Panel, Query, Row

P = "apm.profiler."

BOARD = Board(
    "profiler",
    "Java",
    "Pods of the Java profiler: calls, latency, pauses, CPU and memory of calls, root methods, stacks.",
    [
        Panel("Services", "table", "table", [
            Query(P + "service.count", "calls/s", "is"), Query(P + "service.errors", "errors/s", "is"),
            Query(P + "service.latency.p50", "p50", "is"), Query(P + "service.latency.p95", "p95", "is"),
            Query(P + "service.latency.p99", "p99", "is"), Query(P + "service.cpu", "CPU", "is"),
            Query(P + "service.suspend.time", "paused", "is"), Query(P + "service.pods", "pods", "is")],
            "A click on a service opens its board.", w=24, h=7, link={"instance": "service"}),
        Row("Pods"),
        Panel("Calls a second", "timeseries", "cps", [Query(P + "call.count", "", "path")]),
        Panel("Errors a second", "timeseries", "cps", [Query(P + "call.errors", "", "path")]),
        Panel("Latency p99", "timeseries", "ns", [Query(P + "call.latency.p99", "", "path")], "Of the last minute."),
        Panel("Latency p50 and p95", "timeseries", "ns", [
            Query(P + "call.latency.p50", "p50", "path"), Query(P + "call.latency.p95", "p95", "path")], "Of the last minute."),
        Panel("JVM paused", "timeseries", "percentunit", [
            Query(P + "suspend.time", "stood still", "path"), Query(P + "gc.time", "GC", "path")],
            "Share of time that the JVM stood still, and that its collector's log has as pauses."),
        Panel("CPU of calls", "timeseries", "percentunit", [Query(P + "call.cpu", "", "path")], "1 is one core."),
        Panel("Memory allocated by calls", "timeseries", "binBps", [Query(P + "call.memory", "", "path")]),
        Panel("Time that calls waited", "timeseries", "percentunit", [
            Query(P + "call.wait", "monitors", "path"), Query(P + "call.queue_wait", "queue", "path")]),
        Row("All pods"),
        Panel("Calls by duration", "heatmap", "ms", [Query(P + "call.histogram")], "Calls a second in each range of durations."),
        Panel("Root methods", "table", "table", [
            Query(P + "method.time", "time"), Query(P + "method.cpu", "CPU"), Query(P + "method.count", "calls/s"),
            Query(P + "method.errors", "errors/s"), Query(P + "method.memory", "allocated/s")],
            "Time and CPU are seconds a second."),
        Panel("Where the time goes", "flamegraph", "ns", [Query(P + "service.stack.time", "", "stack")],
              "Time in each stack during the time of the board; the first frame is the service.", w=24, h=14),
        Row("Records", only=("vector",)),
        Panel("Slowest calls", "csv", "table", [Query(P + "event.call.slowest")],
              "Of the last five minutes.", w=24, h=9),
        Panel("Newest calls", "csv", "table", [Query(P + "event.call.table")], w=24, h=9),
    ],
    Choice("Service", "profiler", P + "service.count", parts="pod"),
)
