"""Spans out of event records, and what is known of traces as they come. No I/O.

A span is a record that says of which trace it is. Those of agents that hand ids on say what caused them, too.
"""

import collections
import re

# What is kept of a text, in characters: an operation, a name, an id. Agents send what they like.
MOST_TEXT, MOST_NAME, MOST_ID = 1000, 200, 128
# Spans of one trace that are told apart, so that one that comes again does not count, and services.
MOST_SPANS, MOST_SERVICES = 10_000, 100
# Traces that are added up at a time, and spans of all of them that are told apart. If there are more, the trace that nothing has come of
# for the longest time is taken as complete: services send within seconds what belongs together.
MOST_OPEN, MOST_IDS = 20_000, 200_000

# Ids that can stand in a filter, and in the bytes of a record, as they are.
PLAIN = re.compile(r"[\w.:/-]+", re.ASCII)
HEX, ZEROS = "0123456789abcdefABCDEF-", "0" * 16

Span = collections.namedtuple("Span", "source instance trace id parent service operation role start duration failed fault depth thread")
Span.__doc__ = """A span. start, duration: ns. id, parent: "" where its source says none. fault: why it failed, or "". depth: the calls around it
in its own process, by which a span without ids finds its place."""


def text(fields, *names, most=MOST_NAME):
    """The first of these parameters that has a value, in one line, and not more of it than is kept."""
    return " ".join(str(next((fields[name] for name in names if fields.get(name)), ""))[:most].split())


def joined(*words):
    return " ".join(filter(None, words))


def zorka(instance, fields):
    """Service, operation and fault of a span of Zorka."""
    url, status = joined(text(fields, "http.method"), text(fields, "http.url", most=MOST_TEXT)), text(fields, "http.status_code")
    what = text(fields, "db.statement", most=MOST_TEXT) or url or text(fields, "method")
    kind, message, frame = text(fields, "exception.class"), text(fields, "exception.message", most=MOST_TEXT), text(fields, "exception.frame")
    # The status says the most of what failed without an exception.
    fault = ", at ".join(filter(None, (": ".join(filter(None, (kind, message))), frame))) or joined(status and "HTTP", status)
    return text(fields, "service") or instance, joined(text(fields, "type"), what), fault


def java(instance, fields):
    """Those of a call of the Java profiler, whose pods are NAMESPACE/SERVICE/POD."""
    url = joined(text(fields, "web.method"), text(fields, "web.url", most=MOST_TEXT))
    return "/".join(instance.split("/")[:2]), url or text(fields, "title", "method", most=MOST_TEXT), ""


# {(source, kind) of records: (the parameter with the trace's id, what makes words of them, the parameters that are looked at)}
FORMS = {
    ("zorka", "span"): ("trace", zorka, {
        "trace", "span", "parent", "duration", "error", "service", "type", "db.statement", "http.method", "http.url", "http.status_code", "method", "kind",
        "exception.class", "exception.message", "exception.frame", "nested", "depth", "thread"}),
    ("profiler", "call"): ("trace.id", java, {"trace.id", "duration", "error", "web.method", "web.url", "title", "method", "thread"}),
}
ONLY = set().union(*(names for _, _, names in FORMS.values()))


def span(at, source, kind, instance, fields):
    """The span that a record is; `None` if it does not say of which trace."""
    if (source, kind) not in FORMS:
        return None
    name, words, _ = FORMS[source, kind]
    trace, duration = text(fields, name, most=MOST_ID), fields.get("duration")
    if not trace or not isinstance(duration, int) or duration < 0:
        return None
    service, operation, fault = words(instance, fields)
    failed, depth = bool(fields.get("error")), fields.get("depth") if fields.get("nested") else 0
    return Span(source, instance, trace, text(fields, "span", most=MOST_ID), text(fields, "parent", most=MOST_ID), service, operation, text(fields, "kind"),
                at, duration, failed, fault if failed else "", depth if isinstance(depth, int) else 0, text(fields, "thread"))


def once(one):
    """What is the same of a span that comes again, as from several sessions of a process."""
    return (one.id, one.service, one.operation) if one.id else (one.instance, one.start, one.duration, one.operation, one.thread)


def canonical(trace):
    """One form of an id that is written in several: in capitals, as a UUID, or 64 bits of it behind zeros."""
    if trace.strip(HEX):
        return trace
    trace = trace.replace("-", "").lower()
    return trace[16:] if len(trace) == 32 and trace.startswith(ZEROS) else trace


def begins(trace, said):
    """Whether an id is the one that was said, or begins with it."""
    return canonical(trace).startswith(canonical(said)) or trace.startswith(said)


def spellings(said):
    """How ids that begin so may be written; none if only a look at each id can tell."""
    if not PLAIN.fullmatch(said):
        return []
    forms, plain = {said}, canonical(said)
    if not said.strip(HEX):
        uuid = "-".join(filter(None, (plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:])))
        forms |= {form for written in (plain, ZEROS + plain, uuid) for form in (written, written.upper())}
    return sorted(forms)


def shortened(ids, least=8):
    """{id: its shortest begin that none of the others has, of at least so many characters}."""
    order, short = sorted(set(ids)), {}
    for before, one, after in zip(["", *order], order, [*order[1:], ""]):
        same = max(next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other))) for other in (before, after))
        short[one] = one[:max(least, same + 1)]
    return short


class Trace:
    """What is known of a trace: its root, and sums of its spans."""

    def __init__(self, one):
        self.id, self.root, self.start, self.end = one.trace, one, one.start, one.start
        self.spans, self.errors, self.services, self.seen = 0, 0, set(), set()

    @property
    def duration(self):
        return self.end - self.start

    def add(self, one):
        """Adds a span, unless it has come before. Returns how many more are told apart than before."""
        key = hash(once(one))
        if key in self.seen:
            return 0
        room = len(self.seen) < MOST_SPANS
        if room:
            self.seen.add(key)
        # Of the forms of an id the longest is the most that there is to say.
        self.id = max(self.id, one.trace, key=len)
        self.spans, self.errors = self.spans + 1, self.errors + one.failed
        self.start, self.end = min(self.start, one.start), max(self.end, one.start + one.duration)
        if len(self.services) < MOST_SERVICES:
            self.services.add(one.service)
        self.root = self.higher(one)
        return int(room)

    def higher(self, one):
        """Which is the root: one that nothing caused, else one whose cause has not come. They come in no order."""
        root = self.root
        if root.parent and one.id == root.parent:
            return one
        if one.parent and one.parent == root.id:
            return root
        return min(root, one, key=lambda s: (bool(s.parent), s.depth, not s.id, s.start, -s.duration))


class Traces:
    """Those that matter most of all traces whose spans come. better: what makes a trace matter more the larger it is, `None` for one that does not at
    all; at most `most` of them are kept."""

    def __init__(self, better, most):
        self.better, self.most = better, min(most, MOST_OPEN)
        self.open, self.done, self.apart = collections.OrderedDict(), {}, 0
        self.number, self.begin, self.end, self.services = 0, None, None, set()

    def add(self, one):
        """Adds a span."""
        key = canonical(one.trace)
        trace = self.open.get(key) or self.done.pop(key, None)
        if trace is None:
            self.number += 1
            trace = Trace(one)
        self.open[key] = trace
        self.open.move_to_end(key)
        self.apart += trace.add(one)
        if len(self.services) < MOST_SERVICES:
            self.services.add(one.service)
        self.begin = one.start if self.begin is None else min(self.begin, one.start)
        self.end = one.start if self.end is None else max(self.end, one.start)
        while len(self.open) > MOST_OPEN or self.apart > MOST_IDS and len(self.open) > 1:
            self.complete()

    def complete(self):
        """Takes the trace that nothing has come of for the longest time as complete."""
        key, trace = self.open.popitem(last=False)
        self.apart -= len(trace.seen)
        trace.seen = set()
        self.done[key] = trace
        if len(self.done) > 2 * self.most:
            self.done = {canonical(trace.id): trace for trace in self.chosen(self.done.values())}

    def chosen(self, among):
        ranked = [(self.better(trace), trace.id, trace) for trace in among]
        return [trace for *_, trace in sorted((r for r in ranked if r[0] is not None), key=lambda r: r[:2], reverse=True)[:self.most]]

    def best(self):
        """What matters most first."""
        return self.chosen([*self.done.values(), *self.open.values()])


class Matching:
    """The spans of traces whose ids begin as was said, each once."""

    def __init__(self, said):
        self.said, self.of, self.seen, self.left_out = said, {}, set(), 0

    def add(self, one):
        """Adds a span if it is one of theirs."""
        if not begins(one.trace, self.said):
            return
        trace = canonical(one.trace)
        key = (trace, *once(one))
        if key in self.seen:
            return
        if len(self.seen) >= MOST_SPANS:
            self.left_out += 1
            return
        self.seen.add(key)
        self.of.setdefault(trace, []).append(one)

    def found(self):
        """The spans of each trace. One whose id is what was said is alone."""
        exact = canonical(self.said)
        return [self.of[exact]] if exact in self.of else list(self.of.values())
