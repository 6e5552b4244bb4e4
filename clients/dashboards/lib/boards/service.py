"""One service over all its pods or agents: how fast, how many, what is slow, where the time goes."""
from ..model import Board, Choice, Panel, Query, Row


def board(uid, title, prefix, calls, extra, records, heat_unit, choice):
    """The board of a source's services; extra: panels that only this source can fill."""

    def of(name, legend="", match="is"):
        return Query(prefix + name, legend, match)

    methods = [of("method.time", "time", "row"), of("method.count", "calls/s", "row"), of("method.errors", "errors/s", "row")]
    if records.endswith("span"):
        methods.insert(0, of("method.self_time", "self time", "row"))
    return Board(
        uid,
        title,
        f"One service over all its {choice.parts}s: rate, errors, latency, hot methods, where the time goes.",
        [
            Panel(f"{calls} a second", "timeseries", "cps", [of("count", calls.lower()), of("errors", "errors")]),
            Panel("Latency", "timeseries", "ns", [of(f"latency.{p}", p) for p in ("p50", "p95", "p99")],
                  f"Percentiles of the last minute over all {choice.parts}s, from merged histograms."),
            Panel(f"{calls} by duration", "heatmap", heat_unit, [of("histogram", "", "row")], "A second, in each range of durations."),
            Panel(f"Longest {calls.lower().rstrip('s')}", "timeseries", "ns", [of("latency.max", "max")], "Of the last minute."),
            *extra(of),
            Row("Methods and stacks"),
            Panel("Hot methods", "table", "table", methods, "Times are seconds a second.", w=24, h=9),
            Panel("Where the time goes", "flamegraph", "ns", [of("stack.time", "", "stack")],
                  "Time in each stack during the time of the board; the first frame is the service.", w=24, h=14),
            Row("Records", only=("vector",)),
            Panel(f"Slowest {calls.lower()}", "csv", "table", [Query(f"{records}.slowest")],
                  "Of the last five minutes.", w=24, h=9),
            Panel(f"Newest {calls.lower()}", "csv", "table", [Query(f"{records}.table")], w=24, h=9),
        ],
        choice,
    )


def java(of):
    """What the Java profiler knows of a service."""
    return [
        Panel("Work of calls", "timeseries", "percentunit", [
            of("time", "duration"), of("cpu", "CPU"), of("wait", "monitors"), of("suspend.time", "JVM paused"), of("gc.time", "GC")],
            "Seconds a second: 2 of duration are two calls at work all the time."),
        Panel("Memory allocated by calls", "timeseries", "binBps", [of("memory")]),
        Panel("Pauses a second", "timeseries", "cps", [of("suspend.count", "stood still"), of("gc.count", "GC")]),
        Panel("Pods", "timeseries", "short", [of("pods")], "Connected pods."),
    ]


def zorka(of):
    """What Zorka knows of a service."""
    return [
        Panel("Work of spans", "timeseries", "percentunit", [of("time", "duration")],
              "Seconds a second: 2 are two spans at work all the time."),
        Panel("Exceptions a second", "timeseries", "cps", [of("exceptions")]),
        Panel("Agents", "timeseries", "short", [of("agents")], "Agents that are there.", w=24),
    ]


JAVA = board(
    "service", "Java service", "apm.profiler.service.", "Calls", java, "apm.profiler.event.call", "ms",
    Choice("Service", "profiler", "apm.profiler.service.count", parts="pod", one=True),
)
ZORKA = board(
    "zorka-service", "Zorka service", "apm.zorka.service.", "Spans", zorka, "apm.zorka.event.span", "µs",
    Choice("Service", "zorka", "apm.zorka.service.count", parts="agent", one=True),
)
