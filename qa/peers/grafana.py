"""What Grafana and its data sources do with a dashboard, as far as numbers go: variables, queries to
pmproxy and Prometheus, rates, transformations. Used by qa/085."""
import http.client
import json
import re
import time
import urllib.parse
from pathlib import Path


CONNECTIONS = {}


# Until who has crashed answers again (`kept` of qa/common.sh).
AGAIN = 60


def answered(parts, post, data):
    """(status, text) of an answer. The connection is kept: pmproxy 6 cuts long answers of those that close. One that is lost is made
    anew, as a board asks again some seconds later."""
    connection = CONNECTIONS.setdefault(parts.netloc, http.client.HTTPConnection(parts.netloc, timeout=300))
    until = time.monotonic() + AGAIN
    while True:
        try:
            if post:
                connection.request("POST", parts.path, data, {"Content-Type": "application/x-www-form-urlencoded"})
            else:
                connection.request("GET", f"{parts.path}?{data}")
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except (ConnectionError, http.client.HTTPException):
            connection.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def get(url, post=False, **params):
    """JSON of an answer."""
    parts = urllib.parse.urlsplit(url)
    data = urllib.parse.urlencode(params)
    status, text = answered(parts, post, data)
    if status != 200:
        raise RuntimeError(f"{parts.path}?{data[:200]}: {status} {text[:200]}")
    return json.loads(text)


def boards(folder):
    """The dashboards of a data source by name."""
    return {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in sorted(Path(folder).glob("*.json"))}


def panels(board):
    """The panels that have queries."""
    return [p for p in board["panels"] if p["type"] != "row"]


def js_regex(text):
    """A regular expression as variables and transformations have it."""
    return re.compile(text[1:-1])


class Variables(dict):
    """Values by name: a text, a list, or None for All."""

    def __init__(self, board):
        super().__init__()
        self.title = board["title"].partition(": ")[2]
        self.board = {v["name"]: v for v in board["templating"]["list"]}

    def formatted(self, name, form):
        """A value in Grafana's formats."""
        value, here = self[name], self.board[name]
        if value is None:
            return here["query"] if here["type"] == "textbox" else here["allValue"]
        many = value if isinstance(value, list) else [value]
        if form == "regex":
            many = [re.sub(r"[\\^$*+?.()|\[\]{}/]", r"\\\g<0>", v) for v in many]
            return many[0] if len(many) == 1 else "(" + "|".join(many) + ")"
        if form in ("pipe", "raw"):
            return "|".join(many)
        # Prometheus' data source: escaped for an expression in a string.
        if isinstance(value, list):
            return "(" + "|".join(re.sub(r"[\\^$*+?.()|\[\]{}]", r"\\\\\g<0>", v) for v in many) + ")"
        return value

    def replaced(self, text):
        """The text with the values of variables."""
        return re.sub(r"\$\{(\w+)(?::(\w+))?\}|\$(\w+)", lambda m: self.one(m), text)

    def one(self, match):
        """The value of a variable; what is none stays, as labels of legends do."""
        name = match[1] or match[3]
        return self.formatted(name, match[2]) if name in self else match[0]

    def listed(self, name, found):
        """The choices of a query variable among what its query has found."""
        regex = js_regex(self.board[name]["regex"]) if self.board[name]["regex"] else re.compile("(.*)")
        return sorted({m[1] for m in map(regex.search, found) if m})


def filled(values):
    """Whether any value is there."""
    return any(v is not None for v in values)


def rates(samples):
    """Growth a second of (ms, value) pairs; None where a counter has gone back."""
    found = []
    for (t0, v0), (t1, v1) in zip(samples, samples[1:]):
        found.append((v1 - v0) / (t1 - t0) * 1000 if t1 > t0 and v1 >= v0 else None)
    return found


def csv_rows(text):
    """A CSV table as grafana-pcp reads it: both quotes quote, an empty last cell is dropped."""
    rows = []
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        cells, cell, quote = [], "", ""
        for char in line:
            if not quote and char in "\"'":
                quote = char
            elif char == quote:
                quote = ""
            elif not quote and char == ",":
                cells.append(cell)
                cell = ""
            else:
                cell += char
        rows.append(cells + [cell] if cell else cells)
    return rows


def renamed(names, transformations, replaced):
    """Names of fields behind the transformations of a panel; None where a field has been dropped."""
    for step in transformations:
        options = step["options"]
        if step["id"] == "renameByRegex":
            to = options["renamePattern"].replace("$1", "\\1")
            names = [n and js_regex(options["regex"]).sub(to, n) for n in names]
        if step["id"] == "filterFieldsByName":
            keep = js_regex(replaced(options["include"]["pattern"]))
            names = [n if n and keep.search(n) else None for n in names]
    return names


class Vector:
    """The Vector data source: one context, all panels of a board in each fetch."""

    def __init__(self, url):
        self.url = url + "/pmapi"
        self.derived, self.samples, self.meta, self.names = {}, {}, {}, {}
        self.begin()

    def begin(self):
        """A context, with all derived metrics in it."""
        self.context = get(self.url + "/context", hostspec="local:", polltimeout=60)["context"]
        for expr, name in self.derived.items():
            made = get(self.url + "/derive", context=self.context, name=name, expr=expr)
            assert made["success"], made

    def ask(self, what, **params):
        """A request in the context; in a new one if pmproxy has ended it, as grafana-pcp does. On a busy machine requests wait
        for one of pmproxy's four threads, behind scrapes too, and meanwhile the polltimeout of their context may pass."""
        try:
            return get(f"{self.url}/{what}", context=self.context, **params)
        except RuntimeError as error:
            if "unknown context identifier" not in str(error):
                raise
        self.begin()
        return get(f"{self.url}/{what}", context=self.context, **params)

    def choices(self, metric):
        """Values of a text: what a variable's query finds."""
        answer = self.ask("fetch", names=metric)
        return [str(i["value"]) for v in answer["values"] for i in v["instances"]]

    def metric(self, expr):
        """The name to fetch; an expression becomes a derived metric."""
        if re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*(\.[a-zA-Z][a-zA-Z0-9_]+)*", expr):
            return expr
        if expr not in self.derived:
            name = f"derived_{len(self.derived)}"
            made = self.ask("derive", name=name, expr=expr)
            assert made["success"], made
            self.derived[expr] = name
        return self.derived[expr]

    def poll(self, exprs, times, pause=1.0):
        """Fetches all expressions several times, as a board that is open does."""
        names = sorted({self.metric(e) for e in exprs})
        for m in self.ask("metric", names=",".join(names))["metrics"]:
            if m.get("success", True):
                self.meta[m["name"]] = m
        begin = time.monotonic()
        for n in range(times):
            time.sleep(max(0.0, begin + n * pause - time.monotonic()))
            answer = self.ask("fetch", names=",".join(names))
            for metric in answer["values"]:
                for inst in metric["instances"]:
                    row = self.samples.setdefault(metric["name"], {}).setdefault(inst["instance"], [])
                    row.append((answer["timestamp"] * 1000, inst["value"]))
        for name, meta in self.meta.items():
            if meta.get("indom", "none") not in ("none", None) and name in self.samples:
                found = self.ask("indom", name=name)["instances"]
                self.names[name] = {i["instance"]: i["name"] for i in found}

    def frame(self, expr, convert):
        """Values by instance name, as rates if they are asked for."""
        name = self.metric(expr)
        names = self.names.get(name, {})
        found = {}
        for inst, samples in self.samples.get(name, {}).items():
            counter = self.meta[name]["sem"] == "counter" and convert
            found[names.get(inst, "")] = rates(samples) if counter else [v for _, v in samples]
        return found


class Valkey:
    """The Valkey data source: series of a query, their values and the names of instances."""

    def __init__(self, url):
        self.url = url + "/series"

    def hosts(self):
        """What label_values(hostname) finds."""
        return get(self.url + "/labels", names="hostname").get("hostname", [])

    def frame(self, expr, legend, convert):
        """Values by display name."""
        series = get(self.url + "/query", expr=expr)
        if not series:
            return {}
        joined = ",".join(series)
        now = int(time.time())
        values = get(self.url + "/values", True, series=joined, start=now - 3600, finish=now + 60, interval=1)
        descs = {d["series"]: d for d in get(self.url + "/descs", True, series=joined)}
        labelled = sorted({v.get("instance") or v["series"] for v in values})
        if not labelled:
            return {}
        labels = {r["series"]: r["labels"] for r in get(self.url + "/labels", True, series=",".join(labelled))}
        names = {}
        if any(v.get("instance") for v in values):
            names = {i["instance"]: i["name"] for i in get(self.url + "/instances", True, series=joined)}
        samples = {}
        for v in values:
            samples.setdefault((v["series"], v.get("instance")), []).append((v["timestamp"], v["value"]))
        found = {}
        for (sid, inst), row in samples.items():
            known = {**labels.get(inst or sid, {}), "instance": names.get(inst, "")}
            name = re.sub(r"\$(\w+)", lambda m: str(known.get(m[1], m[0])), legend)
            row.sort()
            if descs[sid]["type"] == "string":
                found[name] = [v for _, v in row]
            else:
                numbers = [(t, float(v)) for t, v in row]
                counter = descs[sid]["semantics"] == "counter" and convert
                found[name] = rates(numbers) if counter else [v for _, v in numbers]
        return found


# Mono programs without a log profiler have none of these, and no process of the scene has a shared area.
OF_STREAMS = re.compile(r"apm[._]mono[._](gc|exceptions|lock|threads|program[._](stack|exceptions|gc|lock))[._]")
OF_AREAS = re.compile(r"apm[._]mono[._](pool|runtime)[._]")
# No JVM of the scene is in a container.
OF_CONTAINERS = re.compile(r"apm[._]jvm[._]memory[._](limit|usage)")


def may_be_empty(expr, service):
    """Whether a query has data for some programs only: `service` is the one that is chosen, if any."""
    return bool(OF_AREAS.search(expr) or OF_CONTAINERS.search(expr) or service and OF_STREAMS.search(expr))
