"""Values of metrics: samples, live or from an archive, and what happened between two."""

import ctypes
import time

from pcp import pmapi
import cpmapi as c


class Trouble(Exception):
    """What a user can understand and change."""


class Sample:
    """Values of some metrics at one time: of[metric][instance]; `None` is the instance of metrics without any."""

    def __init__(self, at, of):
        self.at, self.of = at, of

    def get(self, metric, instance=None):
        return self.of.get(metric, {}).get(instance)


class Between:
    """What happened between two samples. An instance that came in between began at 0."""

    def __init__(self, first, last):
        self.first, self.last = first, last
        self.seconds = max(last.at - first.at, 1e-9)

    def instances(self, metric):
        return list(self.last.of.get(metric, {}))

    def now(self, metric, instance=None, scale=1.0):
        value = self.last.get(metric, instance)
        return value / scale if isinstance(value, (int, float)) else value

    def delta(self, metric, instance=None):
        last = self.last.get(metric, instance)
        return None if last is None else max(0, last - (self.first.get(metric, instance) or 0))

    def rate(self, metric, instance=None, scale=1.0):
        delta = self.delta(metric, instance)
        return None if delta is None else delta / self.seconds / scale

    def ratio(self, metric, by, instance=None, scale=1.0):
        over = self.delta(by, instance)
        return self.delta(metric, instance) / over / scale if over and self.delta(metric, instance) is not None else None


class Reader:
    """Reads values, live or from an archive between its start and its end (-S, -T)."""

    def __init__(self, context, options):
        self.context, self.archive, self.total = context, context.type == c.PM_CONTEXT_ARCHIVE, False
        interval = options.pmGetOptionInterval()
        self.interval = float(interval) if interval else 2.0
        self.start, self.finish = options.pmGetOptionOrigin() or options.pmGetOptionStart(), options.pmGetOptionFinish()

    def require(self, where):
        """That there are apm metrics at all."""
        try:
            self.context.pmGetChildren("apm")
        except pmapi.pmErr as e:
            if e.errno() in (c.PM_ERR_NAME, c.PM_ERR_IPC, c.PM_ERR_NOAGENT):
                what = "nothing of pmdaapm was logged there" if self.archive else "pmdaapm is not installed there (pminfo apm)"
                raise Trouble(f"{where} has no apm metrics: {what}") from None
            raise

    def known(self, metrics):
        """Those that the host has: (name, id, descriptor). Sources can be off, and PMDAs older."""
        try:
            ids = self.context.pmLookupName(tuple(metrics), relaxed=1)
        except pmapi.pmErr as e:
            if e.errno() != c.PM_ERR_NAME:
                raise
            return []
        found = [(name, i) for name, i in zip(metrics, ids) if i != c.PM_ID_NULL and i]
        return [(name, i, self.context.pmLookupDesc(i)) for name, i in found]

    def fetch(self, metrics):
        known = self.known(metrics)
        if not known:
            return None
        ids = (ctypes.c_uint * len(known))(*[i for _, i, _ in known])
        try:
            result = self.context.pmFetch(ids)
        except pmapi.pmErr as e:
            if self.archive and e.errno() == c.PM_ERR_EOL:
                return None
            raise
        domains, of = {}, {}
        for k, (name, _, desc) in enumerate(known):
            values = of[name] = {}
            kind, domain = desc.contents.type, desc.contents.indom
            for j in range(max(0, result.contents.get_numval(k))):
                if domain not in domains and domain != c.PM_INDOM_NULL:
                    domains[domain] = self.names(desc)
                inst = result.contents.get_inst(k, j)
                where = None if domain == c.PM_INDOM_NULL else domains[domain].get(inst)
                if where is not None or domain == c.PM_INDOM_NULL:
                    values[where] = self.value(result, k, j, kind)
        stamp = result.contents.timestamp
        fraction = stamp.tv_usec / 1e6 if hasattr(stamp, "tv_usec") else stamp.tv_nsec / 1e9
        # `stamp` is a part of the result, and goes with it.
        at = stamp.tv_sec + fraction
        self.context.pmFreeResult(result)
        return Sample(at, of)

    def names(self, desc):
        of = self.context.pmGetInDomArchive(desc) if self.archive else self.context.pmGetInDom(desc)
        return {i: n.decode() if isinstance(n, bytes) else n for i, n in zip(*of)} if of[0] else {}

    def value(self, result, k, j, kind):
        if kind in (c.PM_TYPE_EVENT, c.PM_TYPE_HIGHRES_EVENT):
            return b""
        want = c.PM_TYPE_STRING if kind == c.PM_TYPE_STRING else c.PM_TYPE_DOUBLE if kind in (c.PM_TYPE_DOUBLE, c.PM_TYPE_FLOAT) else c.PM_TYPE_64
        atom = self.context.pmExtractValue(result.contents.get_valfmt(k), result.contents.get_vlist(k, j), kind, want)
        return atom.cp.decode("utf-8", "replace") if want == c.PM_TYPE_STRING else atom.d if want == c.PM_TYPE_DOUBLE else atom.ll

    def edge(self, metrics, end):
        """The first sample of these metrics in the window, or the last one."""
        mode, when = (c.PM_MODE_BACK, self.finish) if end else (c.PM_MODE_FORW, self.start)
        self.context.pmSetMode(mode, when, 0)
        while True:
            sample = self.fetch(metrics)
            # Records of other groups of metrics, and marks, have none of them.
            if sample is None or any(sample.of.values()):
                return sample

    def last(self, metrics):
        sample = self.edge(metrics, True) if self.archive else self.fetch(metrics)
        return sample or Sample(0, {})

    def between(self, groups):
        """For each group of metrics what happened; live within one interval. With `total` as if all of it had
        happened within a second."""
        if self.total:
            samples = [self.last(metrics) for metrics in groups]
            return [Between(Sample(s.at - 1, {}), s) for s in samples]
        if self.archive:
            pairs = [(self.edge(metrics, False), self.edge(metrics, True)) for metrics in groups]
            return [Between(a, b) if a and b else Between(Sample(0, {}), Sample(0, {})) for a, b in pairs]
        metrics = [metric for group in groups for metric in group]
        first = self.fetch(metrics) or Sample(0, {})
        time.sleep(self.interval)
        last = self.fetch(metrics) or Sample(0, {})
        return [Between(first, last)] * len(groups)
