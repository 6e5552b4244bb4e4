"""LTTng: live sessions, classes of events, what was lost."""
from ..model import Board, Choice, Panel, Query, Row

L = "apm.lttng."

BOARD = Board(
    "lttng",
    "LTTng",
    "Live sessions of LTTng: events by class, how far reading is behind, what was discarded or lost.",
    [
        Panel("Sessions", "table", "table", [
            Query(L + "session.state", "state"), Query(L + "session.events", "events/s"),
            Query(L + "session.bytes", "bytes/s"), Query(L + "session.discarded", "discarded/s"),
            Query(L + "session.packets_lost", "packets lost/s"), Query(L + "session.latency", "behind"),
            Query(L + "session.streams", "streams")], w=24, h=6),
        Panel("Events by class", "timeseries", "cps", [Query(L + "class.count", "", "session")], w=24, h=9, stacked=True),
        Panel("Bytes by class", "timeseries", "binBps", [Query(L + "class.bytes", "", "session")]),
        Panel("Behind", "timeseries", "ns", [Query(L + "session.latency", "", "session")], "How far the newest packet was behind when it came."),
        Panel("Lost", "timeseries", "cps", [
            Query(L + "session.discarded", "discarded", "session"), Query(L + "session.packets_lost", "packets", "session"),
            Query(L + "event.record.lost", "records", "session")],
            "Events that the tracer discarded, packets that did not come, records that nobody fetched in time."),
        Panel("Events a second", "timeseries", "cps", [Query(L + "session.events", "", "session")]),
        Row("Records", only=("vector",)),
        Panel("Newest events", "csv", "table", [Query(L + "event.record.table")], w=24, h=12),
    ],
    Choice("Session", "lttng", "apm.lttng.session.events", parts="session", agents="^lttng::(.*)$"),
)
