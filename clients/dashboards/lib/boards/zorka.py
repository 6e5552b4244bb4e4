"""Zorka: services, agents, types of spans, SQL, exceptions, methods, stacks."""
from ..model import Board, Choice, Panel, Query, Row

Z = "apm.zorka."

BOARD = Board(
    "zorka",
    "Zorka",
    "Services and agents of Zorka: spans, latency by type, SQL statements, exceptions, methods, stacks.",
    [
        Panel("Services", "table", "table", [
            Query(Z + "service.count", "spans/s"), Query(Z + "service.errors", "errors/s"),
            Query(Z + "service.latency.p50", "p50"), Query(Z + "service.latency.p95", "p95"),
            Query(Z + "service.latency.p99", "p99"), Query(Z + "service.exceptions", "exceptions/s"),
            Query(Z + "service.agents", "agents")], "All agents of a service together. A click on one opens its board.", w=24, h=7,
            link={"instance": "zorka-service"}),
        Panel("Latency of services", "timeseries", "ns", [
            Query(Z + "service.latency.p50", "p50"), Query(Z + "service.latency.p99", "p99")], "Of the last minute."),
        Panel("Spans by duration", "heatmap", "µs", [Query(Z + "type.histogram")], "Spans a second in each range of durations, all agents."),
        Row("Agents"),
        Panel("Spans a second", "timeseries", "cps", [Query(Z + "span.count", "", "path")]),
        Panel("Failed spans a second", "timeseries", "cps", [Query(Z + "span.errors", "", "path")]),
        Panel("Traces a second", "timeseries", "cps", [Query(Z + "trace.count", "", "path")]),
        Panel("Exceptions a second", "timeseries", "cps", [Query(Z + "exception.count", "", "path")]),
        Row("Types of spans, databases, HTTP"),
        Panel("Spans by type", "timeseries", "cps", [Query(Z + "type.count", "", "paths")]),
        Panel("Latency p99 by type", "timeseries", "ns", [Query(Z + "type.latency.p99", "", "paths")], "Of the last minute."),
        Panel("Spans by class of HTTP status", "timeseries", "cps", [Query(Z + "http.status")], stacked=True),
        Panel("Databases", "timeseries", "cps", [Query(Z + "db.count")]),
        Panel("SQL statements", "table", "table", [
            Query(Z + "statement.time", "time"), Query(Z + "statement.count", "calls/s"),
            Query(Z + "statement.errors", "errors/s")], "Time is seconds a second.", w=24, h=9),
        Panel("Exceptions by class", "bars", "cps", [Query(Z + "exception.class.count")]),
        Row("Where the time goes"),
        Panel("Hot methods", "table", "table", [
            Query(Z + "service.method.self_time", "self time"), Query(Z + "service.method.time", "time"),
            Query(Z + "service.method.count", "calls/s"), Query(Z + "service.method.errors", "errors/s")],
            "Times are seconds a second.", w=24, h=9),
        Panel("Stacks", "flamegraph", "ns", [Query(Z + "service.stack.time")],
              "Time in each stack during the time of the board; the first frame is the service.", w=24, h=14),
        Row("Records", only=("vector",)),
        Panel("Slowest spans", "csv", "table", [Query(Z + "event.span.slowest")],
              "Of the last five minutes.", w=24, h=9),
        Panel("Newest spans", "csv", "table", [Query(Z + "event.span.table")], w=24, h=9),
    ],
    Choice("Application", "zorka", Z + "trace.count", r"([^/]+)(?:/.*)?", parts="agent", agents=r"^zorka::([^/]+)(?:\/.*)?$"),
)
