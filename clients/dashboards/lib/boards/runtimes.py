"""Who is connected, and what each source brings: the first board to open."""
from ..model import Board, Panel, Query, Row

A, J, Z, D, V, M = "apm.agent.", "apm.profiler.service.", "apm.zorka.service.", "apm.dotnet.service.", "apm.jvm.service.", "apm.mono.program."


def services(title, prefix, board, queries, **more):
    """A table of services whose names lead to their board."""
    return Panel(title, "table", "table", [Query(prefix + name, legend) for name, legend in queries],
                 link={"instance": board}, **more)


BOARD = Board(
    "runtimes",
    "Runtimes",
    "Who is connected, who is silent or gone, and which services, programs and sessions there are.",
    [
        Panel("Agents", "table", "table", [
            Query(A + "source", "source"), Query(A + "state", "state"), Query(A + "since", "since"),
            Query(A + "up", "up"), Query(A + "idle", "idle"), Query(A + "messages", "messages/s"),
            Query(A + "bytes.in", "bytes in/s"), Query(A + "connects", "connects/s"), Query(A + "lost", "lost/s"),
            Query(A + "errors", "faults/s"), Query(A + "peer", "peer"),
        ], "Every runtime that is connected or has been until a few minutes ago (limits.forget). A click on the source opens its board.",
            w=24, h=10, link={"source": "${__data.fields.source}"}),
        Panel("Connected", "states", "bool", [Query(A + "up")], "1 while the agent is connected.", w=24, h=8,
              only=("vector", "valkey")),
        Row("Services and programs"),
        services("Java services", J, "service", [
            ("count", "calls/s"), ("errors", "errors/s"), ("latency.p50", "p50"), ("latency.p99", "p99"),
            ("suspend.time", "paused"), ("pods", "pods")], help="All pods of a service together."),
        services("Zorka services", Z, "zorka-service", [
            ("count", "spans/s"), ("errors", "errors/s"), ("latency.p50", "p50"), ("latency.p99", "p99"),
            ("exceptions", "exceptions/s"), ("agents", "agents")], help="All agents of a service together."),
        services(".NET programs", D, "dotnet", [
            ("gc.pause.total", "paused"), ("gc.pause.p99", "p99 pause"), ("alloc.bytes", "allocated/s"),
            ("exceptions.count", "exceptions/s"), ("lock.contention.count", "contended locks/s"),
            ("processes", "processes")], help="All processes of a program together."),
        services("JVM services", V, "jvm", [
            ("gc.pause.total", "paused"), ("gc.pause.count", "pauses/s"), ("safepoint.time", "stopped"),
            ("cpu.time", "CPU"), ("processes", "processes")], help="All processes of a service together."),
        services("Mono programs", M, "mono", [
            ("gc.count", "collections/s"), ("exceptions.count", "exceptions/s"), ("starts", "starts/s"), ("processes", "processes")],
            help="All processes of a program together; counters go on over restarts."),
        Row("Traffic"),
        Panel("Messages a second", "timeseries", "cps", [Query(A + "messages")]),
        Panel("Bytes a second", "timeseries", "binBps", [Query(A + "bytes.in")]),
        Panel("Silence", "timeseries", "ns", [Query(A + "idle")],
              "Time since the last message of each agent: a line that rises is a program that hangs or has gone."),
        Panel("Faults and lost connections", "timeseries", "cps", [Query(A + "errors", "faults"), Query(A + "lost", "lost")],
              "Bad messages, and connections that ended without a good-bye."),
    ],
)
