#!/usr/bin/env python3
"""Are the tables of event records those of the records? usage: tables.py KIND RECORDS TABLES [SLOWEST]

KIND is mono.event.sample; RECORDS the output of `pmevent -s 1` with TZ=UTC for its highres_records, TABLES and SLOWEST that of
`pminfo -f` for its tables. Each table is split with Python's csv and by the rules of Grafana's PCP data source. Prints what is
wrong, else the number of streams. Standard library only.
"""

import csv
import io
import re
import sys

RECORDS, LINES, CELL = 50, 200, 4096
# What ends a line or turns its direction.
TURNS = "\u2028\u2029\ufeff\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

# The columns after the time: a parameter, ("ms", parameter), and so on.
PEER, OK, LINE = ("peer",), ("ok", "error"), ("line",)
COLUMNS = {
    "mono.event.sample": LINE,
    "profiler.event.call": [("pod", PEER), ("duration_ms", ("ms", "duration")), ("method", "method"), ("title", "title"), ("status", OK),
                            ("thread", "thread"), ("cpu_ms", ("ms", "cpu")), ("wait_ms", ("ms", "wait")), ("trace_id", "trace.id"),
                            ("request_id", "request_id"), ("fields", ("others", 0))],
    "profiler.event.pause": [("pod", PEER), ("duration_ms", ("ms", "duration"))],
    "profiler.event.chunk": [("pod", PEER), ("stream", "stream"), ("sequence", "sequence"), ("offset", "offset"), ("size", "size")],
    "zorka.event.span": [("agent", PEER), ("duration_ms", ("ms", "duration")), ("service", "service"), ("type", "type"), ("method", "method"),
                         ("status", OK), ("thread", "thread"), ("calls", "calls"), ("trace", "trace"), ("span", "span"), ("parent", "parent"),
                         ("fields", ("others", 0))],
    "zorka.event.exception": [("agent", PEER), ("class", "exception.class"), ("message", "exception.message"), ("method", "method"),
                              ("frame", "exception.frame"), ("service", "service"), ("trace", "trace"), ("span", "span"),
                              ("fields", ("others", 0))],
    "lttng.event.record": [("event", "event"), ("cpu", "cpu"), ("procname", "ctx.procname"), ("fields", ("others", 2))],
    "dotnet.event.gc": [("process", PEER), ("pause_ms", ("ms", "pause")), ("duration_ms", ("ms", "duration")), ("number", "number"),
                        ("generation", "generation"), ("type", "type"), ("reason", "reason"), ("before", "before"), ("after", "after"),
                        ("promoted", "promoted"), ("fields", ("others", 0))],
    "dotnet.event.exception": [("process", PEER), ("type", "type"), ("message", "message"), ("hresult", "hresult"), ("thread", "thread"),
                               ("stack", "stack"), ("fields", ("others", 0))],
    "dotnet.event.contention": [("process", PEER), ("duration_ms", ("ms", "duration")), ("lock", "lock"), ("lock_owner", "lock_owner"),
                                ("thread", "thread"), ("stack", "stack"), ("fields", ("others", 0))],
    "dotnet.event.pool": [("process", PEER), ("reason", "reason"), ("target", "target"), ("throughput", "throughput"), ("fields", ("others", 0))],
}
RANK = {"dotnet.event.gc": "pause"}


def grafana(text):
    """Rows as Grafana's data source finds them: lines first, then commas outside of single or double quotes, no escapes, and
    no cell at the end of a line if it is empty."""
    rows = []
    for line in text.split("\n"):
        line = line.strip("\ufeff" + "".join(chr(c) for c in range(0x3001) if chr(c).isspace() and c not in (0x1c, 0x1d, 0x1e, 0x1f, 0x85)))
        cells, cell, quote = [], "", None
        for c in line:
            if quote is not None:
                if c == quote:
                    quote = None
                else:
                    cell += c
            elif c in "\"'":
                quote = c
            elif c == ",":
                cells.append(cell)
                cell = ""
            else:
                cell += c
        if cell:
            cells.append(cell)
        if line:
            rows.append(cells)
    return rows


def rows(text):
    """The rows of a table, on which both readers agree."""
    found = grafana(text)
    assert found == list(csv.reader(io.StringIO(text, newline=""))), "Python and Grafana find other cells"
    bad = [row for row in found if len(row) != len(found[0]) or "" in row]
    assert not bad, f"not {len(found[0])} cells: {bad[0]}"
    return found


def shown(text):
    """A text as a cell has it."""
    data = text.encode("utf-8", "replace")
    cut = data[:CELL].decode("utf-8", "ignore")
    more = "…" if len(data) > CELL else ""
    cut = "".join(" " if ord(c) < 32 or 127 <= ord(c) < 160 or c in TURNS else c for c in cut).strip()
    formula = "’" if cut[:1] in ("=", "+", "-", "@") and cut != "-" else ""
    return (formula + cut.replace("'", "’").replace('"', "”") + more) if cut else "-"


def milliseconds(ns):
    whole, rest = divmod(int(ns), 1_000_000)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


def quoted(value):
    return value[1:-1] if value[:1] == '"' else value


def records(path, source):
    """Instance -> [(time of day, {parameter: value})], oldest first; a parameter's value is text."""
    streams, now = {}, None
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := re.match(r"apm\.\S+?\[(.*)\]: ", line):
                now = streams.setdefault(match[1], [])
            elif match := re.match(r"  ([\d:.]+) --- event record \[\d+\]", line):
                now.append((match[1], {}))
            elif match := re.match(rf"    apm\.{source}\.param\.(\S+) (.*)$", line):
                now[-1][1][match[1]] = quoted(match[2])
            else:
                assert "missed event records" not in line, line
    return streams


def texts(path):
    """Instance -> table."""
    with open(path, encoding="utf-8", errors="replace") as file:
        parts = re.split(r'^    inst \[\d+ or "(.*)"\] value "', file.read(), flags=re.M)[1:]
    return {name: text.rstrip("\n").removesuffix('"') for name, text in zip(parts[::2], parts[1::2])}


def cells(columns, peer, time, params):
    """A record's line."""
    own = {of if isinstance(of, str) else of[-1] for _, of in columns if of not in (PEER, OK)}
    if any(of is OK for _, of in columns):
        own.add("error")
    line = [time]
    for _, of in columns:
        if of is PEER:
            line.append(shown(peer))
        elif of is OK:
            line.append("error" if params.get("error", "0") != "0" else "ok")
        elif of[0] == "ms":
            line.append(milliseconds(params[of[1]]) if of[1] in params else "-")
        elif of[0] == "others":
            short = lambda name: name.split(".", of[1])[-1] if name.count(".") >= of[1] else name
            line.append(shown(" ".join(f"{short(n)}={v}" for n, v in params.items() if n not in own)))
        else:
            line.append(shown(params[of]) if of in params else "-")
    return line


def by_parameter(stream):
    """The lines of a table with a line for each parameter, and how many records they are of."""
    blocks, before = [], {}
    for time, params in stream[-2 * RECORDS:]:
        block = []
        for name, value in params.items():
            try:
                delta = str(int(value) - int(before[name])) if name in before else "-"
            except ValueError:
                delta = "-"
            block.append([time, name, shown(value), delta])
            before[name] = value
        blocks.insert(0, block)
    lines, count = [], 0
    for block in blocks[:RECORDS]:
        if count and len(lines) + len(block) > LINES:
            break
        lines, count = lines + block, count + 1
    return lines


def same(got, expected, what):
    """Cell by cell; pmevent prints six digits of a floating number."""
    assert len(got) == len(expected), f"{what}: {len(got)} lines, not {len(expected)}"
    for a, b in zip(got, expected):
        for x, y in zip(a, b):
            if x != y:
                try:
                    assert abs(float(x) - float(y)) <= 1e-5 * abs(float(y))
                except (ValueError, AssertionError):
                    raise AssertionError(f"{what}: {x!r} is not {y!r} in {a}") from None


def clock(row):
    """Time of day instead of date and time."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", row[0]), row[0]
    return [row[0][11:-1]] + row[1:]


def main(kind, path, newest, slowest=None):
    columns, source = COLUMNS[kind], kind.split(".")[0]
    streams, tables = records(path, source), texts(newest)
    assert streams and set(streams) == set(tables), f"{sorted(streams)} are not {sorted(tables)}"
    # A peer that had no such event has its stream from the start, too.
    for peer in [peer for peer, stream in streams.items() if not stream]:
        assert len(rows(tables[peer])) == 1, f"{peer}: no records"
        del streams[peer]
    titles = ["counter", "value", "delta"] if columns is LINE else [title for title, _ in columns]
    for peer, stream in streams.items():
        head, *got = rows(tables[peer])
        assert head == ["time"] + titles, head
        if columns is LINE:
            expected = by_parameter(stream)
        else:
            expected = [cells(columns, peer, *record) for record in reversed(stream[-RECORDS:])]
        assert expected, f"{peer}: no records"
        same([clock(row) for row in got], expected, f"{peer}, newest")
    if slowest:
        tables, rank = texts(slowest), RANK.get(kind, "duration")
        assert set(streams) <= set(tables), f"{sorted(streams)} are not {sorted(tables)}"
        for peer, stream in streams.items():
            head, *got = rows(tables[peer])
            assert head == ["time"] + titles, head
            # Of equally slow records any may be there.
            ranked = sorted((record for record in stream if rank in record[1]), key=lambda r: -int(r[1][rank]))
            at = head.index(rank + "_ms")
            same([[row[at]] for row in got], [[milliseconds(params[rank])] for _, params in ranked[:RECORDS]], f"{peer}, slowest")
            lines = [cells(columns, peer, *record) for record in ranked]
            for row in map(clock, got):
                assert row in lines, f"{peer}, slowest: {row} is no record"
                lines.remove(row)
    print(f"{len(streams)} streams")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AssertionError as error:
        print(error)
        sys.exit(1)
