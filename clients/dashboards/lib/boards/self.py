"""pmdaapm itself: what it costs and what it loses."""
from ..model import Average, Board, Panel, Query, Row

S = "apm.self."

BOARD = Board(
    "self",
    "pmdaapm itself",
    "What the PMDA costs, how full it is, what it refuses and loses.",
    [
        Panel("CPU", "timeseries", "percentunit", [Query(S + "cpu.user", "user"), Query(S + "cpu.sys", "system")], "1 is one core.", stacked=True),
        Panel("Resident memory", "timeseries", "bytes", [Query(S + "memory.rss", "resident")]),
        Panel("Mean time of a fetch", "timeseries", "ns", [Average(S + "fetch.time", "fetch", per=S + "fetch.count")], only=("vector", "prometheus")),
        Panel("Time in fetches", "timeseries", "percentunit", [Query(S + "fetch.time", "fetches"), Query(S + "pdu.time", "all requests")]),
        Row("Load"),
        Panel("Bytes in", "timeseries", "binBps", [Query(S + "ingest.bytes", "in")]),
        Panel("Messages in", "timeseries", "cps", [Query(S + "ingest.messages", "in")]),
        Panel("Connections", "timeseries", "short", [Query(S + "connection.current", "open")]),
        Panel("Names and instances", "timeseries", "short", [
            Query(S + "names.registered", "dynamic metrics"), Query(S + "instances.registered", "instances")]),
        Row("Memory by use"),
        Panel("Memory that peers have caused", "timeseries", "bytes", [
            Query(S + "memory.events", "records"), Query(S + "memory.registry", "names and values"), Query(S + "memory.texts", "texts"),
            Query(S + "memory.dictionaries", "dictionaries"), Query(S + "memory.definitions", "connections"), Query(S + "memory.input", "input")],
            stacked=True),
        Panel("Bounds", "timeseries", "bytes", [
            Query(S + "memory.total", "used"), Query(S + "memory.total_limit", "limit"), Query(S + "memory.events", "records"),
            Query(S + "memory.limit", "limit of records")]),
        Row("Lost and refused"),
        Panel("Records lost", "timeseries", "cps", [
            Query("apm.mono.event.sample.lost", "Mono"), Query("apm.profiler.event.call.lost", "Java"),
            Query("apm.zorka.event.span.lost", "Zorka"), Query("apm.lttng.event.record.lost", "LTTng"),
            Query("apm.dotnet.event.gc.lost", ".NET")], "Records dropped before the slowest client had fetched them."),
        Panel("Refused", "timeseries", "cps", [
            Query(S + "names.rejected", "names"), Query(S + "instances.rejected", "instances"), Query(S + "access.denied", "access"),
            Query(S + "connection.refused", "connections"), Query(S + "memory.refused", "memory"), Query(S + "ingest.errors", "faults"),
            Query(S + "panics", "internal errors")]),
    ],
)
