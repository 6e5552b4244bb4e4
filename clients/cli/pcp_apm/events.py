"""Event records as lines of JSON."""

import ctypes
import fnmatch
import math
import struct
import sys
import time

from pcp import pmapi
import cpmapi as c

from . import records as meaning
from . import results
from .table import at_text, shown, to_json
from .trouble import Trouble

MINUTE = 60 * 10**9
# The PMDA's own time for fetches, in ns; so much for one that no filter has paused in it: it does so after some 30 ms at the earliest.
SPENT, NOTHING = "apm.self.fetch.time", 10**7
# Seconds after a fetch that brought nothing, for what else the PMDA has to do.
BREATH = 0.05
# Why the PMDA refuses records.
REASON = "apm.self.access.reason"


NUMBERS = {c.PM_TYPE_32: struct.Struct("=i"), c.PM_TYPE_U32: struct.Struct("=I"), c.PM_TYPE_64: struct.Struct("=q"), c.PM_TYPE_U64: struct.Struct("=Q"),
           c.PM_TYPE_FLOAT: struct.Struct("=f"), c.PM_TYPE_DOUBLE: struct.Struct("=d")}
PARAMETER = struct.Struct("=II")


class Events:
    """Streams of event records: kinds is {(source, kind): [(metric, id, descriptor)]}, the finer of two resolutions first."""

    def __init__(self, reader, wanted, only=None):
        """`only`: the names of the parameters that are asked for; `None` is all."""
        self.reader, self.context, self.parameters, self.only = reader, reader.context, {}, only
        # When the newest fetch was, in ns, and the kinds that it did not get: {(source, kind): error}.
        self.at, self.refused = 0, {}
        self.once, self.host, self.labels = meaning.Once(), self.context.pmGetContextHostName(), {}
        # An archive has the resolution that was logged, or both.
        leaves = ["highres_records", "records"] if reader.archive else ["highres_records"]
        kinds = []
        for source in self.children("apm"):
            kinds += [(source, kind) for kind in self.children(f"apm.{source}.event")]
        known = {(source, kind): reader.known([f"apm.{source}.event.{kind}.{leaf}" for leaf in leaves]) for source, kind in kinds}
        known = {kind: found for kind, found in known.items() if found}
        if not known:
            raise Trouble(reader.unlogged("no event records in this archive", "events") if reader.archive else "no event records here: all sources are off")
        for want in wanted:
            if not any(self.matches(want, *kind) for kind in known):
                raise Trouble(f"no events {want}; there are " + ", ".join(f"{s}.{k}" for s, k in known))
        self.kinds = {kind: found for kind, found in known.items() if not wanted or any(self.matches(want, *kind) for want in wanted)}

    def children(self, node):
        try:
            return [n.decode() if isinstance(n, bytes) else n for n in self.context.pmGetChildren(node) or ()]
        except pmapi.pmErr:
            return []

    @property
    def denied(self):
        """The kinds whose records this client may not see."""
        return {of for of, error in self.refused.items() if error == c.PM_ERR_PERMISSION}

    @property
    def unnamed(self):
        """What to do where names of parameters were not logged."""
        if not any(map(meaning.unnamed, self.parameters.values())):
            return None
        params = " and ".join(f"apm.{source}.param" for source in sorted({source for source, _ in self.kinds}))
        return f"the names of parameters were not logged: {params}, once; they are in the group apm/parameters of pmlogconf"

    @staticmethod
    def matches(want, source, kind):
        want = want[4:] if want.startswith("apm.") else want
        return fnmatch.fnmatch(f"{source}.{kind}", want if "." in want else want + ".*")

    def filter(self, text):
        """Only records for which the expression holds. Kinds without its parameters have none."""
        if self.reader.archive:
            raise Trouble("filters work live; for an archive use pmevent -x")
        refused = []
        for source, kind in list(self.kinds):
            base = f"apm.{source}.event.{kind}"
            try:
                self.store(f"{base}.filter", text)
            except pmapi.pmErr:
                said = self.reader.last([f"{base}.filter_error"]).of.get(f"{base}.filter_error", {})
                refused.append(next(iter(said.values()), "refused"))
                del self.kinds[(source, kind)]
        if not self.kinds:
            raise Trouble(f"no events have such records: {refused[0] if refused else text}")

    def store(self, metric, text):
        """Stores a text for all instances, also those to come."""
        (_, pmid, _), data = self.reader.known([metric])[0], text.encode() + b"\0"

        class Value(ctypes.Structure):
            _fields_ = [("pmid", ctypes.c_uint), ("numval", ctypes.c_int), ("valfmt", ctypes.c_int), ("vlist", pmapi.pmValue * 1)]
        block = ctypes.create_string_buffer(struct.pack("=I", c.PM_TYPE_STRING << 24 | 4 + len(data)) + data)
        one = Value(pmid, 1, c.PM_VAL_SPTR)
        one.vlist[0].inst = -1
        one.vlist[0].value.pval = ctypes.cast(block, ctypes.POINTER(pmapi.pmValueBlock))
        result = pmapi.pmResult()
        result.numpmid = 1
        result.vset[0] = ctypes.cast(ctypes.pointer(one), ctypes.POINTER(pmapi.pmValueSet))
        self.context.pmStore(ctypes.pointer(result))

    def fetch(self):
        """The records that have come, oldest first, as lines show them."""
        return self.lines(self.fetched())

    def lines(self, found):
        """Lines of records, oldest first."""
        return [self.line(*record) for record in sorted(found, key=lambda record: record[0])]

    def logged(self, needles=()):
        """The records of each fetch of pmlogger between -S and -T, as `fetched` gives them."""
        window = self.reader.window()
        window.mode(c.PM_MODE_FORW, window.start)
        while (found := self.fetched(needles, window.finish)) is not None:
            yield found + list(self.once.ready(self.at))
        yield list(self.once.ready())

    def line(self, at, source, kind, instance, what):
        """What is said of a record."""
        time = at_text(at)
        began, ended = meaning.span(f"{source}.{kind}", at, what["parameters"]) if "parameters" in what else (None, None)
        span = {} if began is None else {"start": time if began == at else at_text(began), "end": time if ended == at else at_text(ended)}
        return {"time": time, **span, "source": source, "kind": kind, "host": self.host, "instance": instance, "labels": self.labelled(source, kind, instance), **what}

    def labelled(self, source, kind, instance):
        """PCP's labels of an instance. They are asked for when there is one that is not known, and again a minute later."""
        asked, known = self.labels.get((source, kind), (-math.inf, {}))
        if instance not in known or self.at >= asked + MINUTE:
            known = {instance: {}, **(known if self.at < asked + MINUTE else {}), **self.reader.labels(self.kinds[source, kind][0][2])}
            self.labels[source, kind] = self.at, known
        return known[instance]

    def fetched(self, needles=(), until=math.inf):
        """(time in ns, source, kind, instance, what it has) of each record that has come; `None`: the end of the archive, or of this time.
        needles: arrays without any of these bytes are passed over, which saves most of the work of looking for few records."""
        order, records = [(kind, *form[1:], len(forms) > 1) for kind, forms in self.kinds.items() for form in forms], []
        ids = (ctypes.c_uint * len(order))(*[pmid for _, pmid, _, _ in order])
        try:
            result = self.context.pmFetch(ids)
        except pmapi.pmErr as e:
            if self.reader.archive and e.errno() == c.PM_ERR_EOL:
                return None
            raise
        self.at, self.refused = results.when(result), {}
        if self.at > until:
            self.context.pmFreeResult(result)
            return None
        for k, ((source, kind), _, desc, twice) in enumerate(order):
            names, number = None, result.contents.get_numval(k)
            if number < 0:
                self.refused[source, kind] = number
            for j in range(max(0, number)):
                value = result.contents.get_vlist(k, j)
                block = value.value.pval
                data = ctypes.string_at(block, block.contents.vlen)
                if needles and not any(needle in data for needle in needles):
                    continue
                names = names if names is not None else self.reader.names(desc)
                instance = names.get(value.inst, str(value.inst))
                try:
                    came = [(at, source, kind, instance, what) for at, what in self.unpack(data, desc.contents.type)]
                except struct.error:
                    raise Trouble(f"apm.{source}.event.{kind}: records of {instance} are damaged: pmlogcheck says more of an archive") from None
                if twice and desc.contents.type == c.PM_TYPE_EVENT:
                    for key, part in (of for record in came for of in self.parts(record)):
                        self.once.wait(key, part, self.at)
                    continue
                records += came
                for key, _ in (of for record in came for of in self.parts(record)) if twice else ():
                    self.once.came(key)
        self.context.pmFreeResult(result)
        return records

    @staticmethod
    def parts(record):
        """(by what it is known in both resolutions, it) of a number of missed records and of a record: one may have both."""
        at, *whose, what = record
        without = lambda name: (at, *whose, {key: of for key, of in what.items() if key != name})
        missed = [((*whose, what["missed"]), without("parameters"))] if "missed" in what else []
        return missed + ([((*whose, at // 1000, hash(tuple(what["parameters"].items()))), without("missed"))] if "parameters" in what else [])

    def unpack(self, data, kind):
        """Records of an array: (time in ns, what they have). Layout: pmEventArray of PMAPI(3), in the host's order."""
        head, per = (struct.Struct("=qqIi"), 1) if kind == c.PM_TYPE_HIGHRES_EVENT else (struct.Struct("=iiIi"), 1000)
        count, at = struct.unpack_from("=i", data, 4)[0], 8
        known, only = self.parameters, self.only
        for _ in range(count):
            second, part, flags, parameters = head.unpack_from(data, at)
            at += head.size
            stamp, said = second * 10**9 + part * per, {"flags": meaning.words(flags)}
            if flags & meaning.MISSED:
                yield stamp, {**said, "missed": parameters}
                continue
            fields = {}
            for _ in range(parameters):
                pmid, word = PARAMETER.unpack_from(data, at)
                name = known[pmid] if pmid in known else self.parameter(pmid)
                if only is None or name in only or name == "lost":
                    fields[name] = self.decode(word >> 24, data[at + 8:at + 4 + (word & 0xFFFFFF)])
                at += 4 + ((word & 0xFFFFFF) + 3) // 4 * 4
            if "lost" in fields:
                said["missed"] = fields.pop("lost")
            yield stamp, {**said, "parameters": fields}

    @staticmethod
    def decode(kind, data):
        if kind in NUMBERS:
            number = NUMBERS[kind].unpack_from(data)[0]
            # JSON has no word for these.
            return number if math.isfinite(number) else str(number)
        return data.split(b"\0")[0].decode("utf-8", "replace") if kind == c.PM_TYPE_STRING else data.hex()

    def parameter(self, pmid):
        if pmid not in self.parameters:
            try:
                name = self.context.pmNameID(pmid)
                name = name.decode() if isinstance(name, bytes) else name
                self.parameters[pmid] = name.partition(".param.")[2] or name
            except pmapi.pmErr:
                self.parameters[pmid] = f"{meaning.UNNAMED}{pmid}"
        return self.parameters[pmid]


def events(reader, wanted, expression, follow, rows):
    stream = Events(reader, wanted)
    if expression:
        stream.filter(expression)
    if reader.archive:
        logged(stream, rows)
        if stream.unnamed:
            print(f"pcp-apm: {stream.unnamed}", file=sys.stderr)
        return
    say(kept(stream, rows, bool(expression)))
    try:
        while follow:
            sys.stdout.flush()
            time.sleep(min(reader.interval, 1.0))
            say(stream.fetch())
    except KeyboardInterrupt:
        # Which is how it is to end.
        pass


def kept(stream, rows, filtered):
    """The records that are in memory, or the newest of them, oldest first. A fetch has at most events.max_records of a stream,
    the oldest ones: there are more fetches until one brings nothing older than the first fetch, and, since a filter pauses
    when a fetch has cost enough, has cost nothing."""
    came, cost = priced(stream)
    records, begun = came, stream.at
    allowed(stream)
    # Where clocks are behind all that comes seems to be old.
    while (came and came[0]["time"] < at_text(begun) or filtered and cost > NOTHING) and stream.at < begun + MINUTE:
        time.sleep(0 if came else BREATH)
        came, cost = priced(stream)
        records = sorted(records + came, key=lambda record: record["time"])
        records = records[-rows:] if rows is not None else records
    return records[-rows:] if rows is not None else records


def priced(stream):
    """The records of a fetch, and what it has cost the PMDA: the way to it and a busy machine here say nothing of that."""
    spent = lambda: stream.reader.last([SPENT]).get(SPENT) or 0
    before = spent()
    return stream.fetch(), spent() - before


def allowed(stream):
    """That records may be seen: of some kind, and which not."""
    said = {}
    for (source, kind), error in stream.refused.items():
        said.setdefault(error, []).append(f"{source}.{kind}")
    if not said:
        return
    reason = stream.reader.last([REASON]).get(REASON) if c.PM_ERR_PERMISSION in said else None
    lines = [f"no events {', '.join(kinds)}: {pmapi.pmErr(error).message()}" + (f": {reason}" if reason and error == c.PM_ERR_PERMISSION else "")
             for error, kinds in said.items()]
    if len(stream.refused) == len(stream.kinds):
        raise Trouble("; ".join(lines))
    for line in lines:
        print(f"pcp-apm: {shown(line)}", file=sys.stderr)


def say(records):
    for record in records:
        print(to_json(record))


def logged(stream, rows):
    """Those that pmlogger fetched between -S and -T; the newest of them if `rows` says so."""
    newest = []
    for records in map(stream.lines, stream.logged()):
        if rows is None:
            say(records)
        else:
            newest = sorted(newest + records, key=lambda record: record["time"])[-rows:]
    say(newest)
