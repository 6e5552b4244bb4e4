"""Values of metrics, live or from an archive, and what happened between two times: the only place that makes rates."""

import ctypes
import time

from pcp import pmapi
import cpmapi as c

from . import results
from .archive import Window
from .trouble import Trouble

SECOND = 10**9
# How long the PMDA has been running, in ns.
UPTIME = "apm.self.uptime"


class Between:
    """What happened between two times: steps of counters, and the values at the end.

    steps[metric][instance] is (what it has gained, in how many ns that was seen); last[metric][instance] a value; the
    instance of metrics without any is `None`. span: (from, to, how much of it has steps) in ns; `None`: without times.
    """

    def __init__(self, steps, last, span=None):
        self.steps, self.last, self.span = steps, last, span

    @classmethod
    def live(cls, first, last):
        """Of two samples. An instance that came in between has no first value; one of whose counters is smaller than
        before began anew: then nothing is known of any of them. Nor is anything if the PMDA has started since the first."""
        anew = {(last.counters[metric], instance) for metric in last.counters for instance, value in last.of[metric].items()
                if value < first.of.get(metric, {}).get(instance, value)}
        ns, up = last.at - first.at, last.get(UPTIME)
        steps = {metric: {instance: (value - first.of[metric][instance], ns) for instance, value in last.of[metric].items()
                          if instance in first.of.get(metric, {}) and (domain, instance) not in anew}
                 for metric, domain in last.counters.items() if up is None or up + SECOND // 20 > ns}
        return cls(steps, last.of, (first.at, last.at, ns))

    @classmethod
    def total(cls, last):
        """All that has been counted, as if it had happened within a second."""
        return cls({metric: {instance: (value, SECOND) for instance, value in last.of[metric].items()} for metric in last.counters}, last.of)

    def instances(self, metric):
        return list({**self.last.get(metric, {}), **self.steps.get(metric, {})})

    def now(self, metric, instance=None, scale=1.0):
        value = self.last.get(metric, {}).get(instance)
        return value / scale if isinstance(value, (int, float)) else value

    def step(self, metric, instance=None):
        """(what a counter has gained, in how many ns); `None` if nothing can be known: there are no two values to
        compare."""
        gained, ns = self.steps.get(metric, {}).get(instance, (0, 0))
        return (gained, ns) if ns > 0 else None

    def delta(self, metric, instance=None):
        step = self.step(metric, instance)
        return step and step[0]

    def seconds(self, metric, instance=None):
        """The time over which its rate is."""
        step = self.step(metric, instance)
        return step and step[1] / SECOND

    def rate(self, metric, instance=None, scale=1.0):
        step = self.step(metric, instance)
        return step and step[0] * SECOND / step[1] / scale

    def ratio(self, metric, by, instance=None, scale=1.0):
        """What a counter gains for each of another one."""
        over, of = self.rate(by, instance), self.rate(metric, instance)
        return of / over / scale if over and of is not None else None


class Sample:
    """Values of some metrics at one time, in ns: of[metric][instance]. counters: {metric: its instance domain}."""

    def __init__(self, at=0, of=None, counters=None):
        self.at, self.of, self.counters = at, of or {}, counters or {}

    def get(self, metric, instance=None):
        return self.of.get(metric, {}).get(instance)


class Reader:
    """Reads values, live or from an archive between its start and its end (-S, -T)."""

    def __init__(self, context, options):
        self.context, self.archive, self.total = context, context.type == c.PM_CONTEXT_ARCHIVE, False
        interval = options.pmGetOptionInterval()
        # patient: nobody has said for how long.
        self.interval, self.patient = float(interval) if interval else 2.0, not interval
        self.start, self.finish = options.pmGetOptionOrigin() or options.pmGetOptionStart(), options.pmGetOptionFinish()
        # Of an archive: the time of the rates that were asked for, if there are any.
        self.span, self.rates = None, False
        # Names of instances by their domain: those of an archive are the same at all times.
        self.domains = {}

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

    def names(self, desc):
        """{instance: its name}. libpcp itself is asked: PCP's Python drops letters beyond ASCII, and two names become one."""
        pmapi.LIBPCP.pmUseContext(self.context.ctx)
        ask = pmapi.LIBPCP.pmGetInDomArchive if self.archive else pmapi.LIBPCP.pmGetInDom
        instances, names = ctypes.POINTER(ctypes.c_int)(), ctypes.POINTER(ctypes.c_char_p)()
        number = ask(desc.contents.indom, ctypes.byref(instances), ctypes.byref(names))
        if number == c.PM_ERR_INDOM_LOG:
            # None has come while it was logged.
            return {}
        if number < 0:
            raise pmapi.pmErr(number)
        found = {instances[n]: names[n].decode("utf-8", "replace") for n in range(number)}
        if number:
            pmapi.LIBC.free(instances)
            pmapi.LIBC.free(names)
        return found

    def labels(self, desc):
        """{name of the instance: its labels} of a metric; those without any are not there."""
        names = self.names(desc)
        try:
            sets = self.context.pmGetInstancesLabels(desc.contents.indom)
        except pmapi.pmErr:
            return {}
        return {names[instance]: labels for instance, labels in (sets.items() if isinstance(sets, dict) else sets) if instance in names}

    def named(self, known, found):
        """{metric: {name of the instance: what was found}} of {id: {instance: what was found}}."""
        domains, of = self.domains if self.archive else {}, {}
        for name, pmid, desc in known:
            domain = desc.contents.indom
            if domain != c.PM_INDOM_NULL and domain not in domains and found.get(pmid):
                domains[domain] = self.names(desc)
            of[name] = ({None: value for value in found.get(pmid, {}).values()} if domain == c.PM_INDOM_NULL else
                        {domains[domain][i]: value for i, value in found.get(pmid, {}).items() if i in domains[domain]})
        return of

    @staticmethod
    def counters(known):
        return {name: desc.contents.indom for name, _, desc in known if desc.contents.sem == c.PM_SEM_COUNTER}

    def last(self, metrics):
        """The values now, or at the end of the window."""
        known = self.known(metrics)
        if not known:
            return Sample()
        kinds = {pmid: desc.contents.type for _, pmid, desc in known}
        if self.archive:
            window = self.window()
            found = window.last(kinds)
            self.anything(found, window)
            return Sample(window.finish, self.named(known, found), self.counters(known))
        result = self.context.pmFetch((ctypes.c_uint * len(kinds))(*kinds))
        at, found = results.when(result), {pmid: dict(results.values(where, kinds[pmid])) for pmid, where in results.sets(result)}
        self.context.pmFreeResult(result)
        return Sample(at, self.named(known, found), self.counters(known))

    def window(self):
        window = Window(self.context, self.start, self.finish)
        begin = results.ns(self.context.pmGetArchiveLabel().start)
        if window.finish < begin:
            raise Trouble(f"nothing was logged before {self.clock(window.finish)}: the archive begins at {self.clock(begin)}")
        if window.start > window.finish:
            raise Trouble(f"nothing was logged after {self.clock(window.start)}: the archive ends at {self.clock(window.finish)}")
        return window

    def between(self, groups):
        """For each group of metrics what happened: live within one interval, with `total` ever, in an archive between
        its start and its end."""
        metrics = list(dict.fromkeys(metric for group in groups for metric in group))
        if self.total:
            between = Between.total(self.last(metrics))
        elif self.archive:
            between = self.walked(metrics)
        else:
            begin = time.monotonic()
            first = self.last([*metrics, UPTIME])
            # From look to look: sources are read at steps of their own, of which as many are in each interval.
            time.sleep(max(0.0, self.interval - (time.monotonic() - begin)))
            between = Between.live(first, self.last([*metrics, UPTIME]))
        return [between] * len(groups)

    def walked(self, metrics):
        known, window = self.known(metrics), self.window()
        if not known:
            return Between({}, {})
        of = {pmid: desc.contents for _, pmid, desc in known}
        steps, last = window.walk({pmid: desc.type for pmid, desc in of.items()}, {pmid for pmid, desc in of.items() if desc.sem == c.PM_SEM_COUNTER})
        self.anything(last, window)
        self.span, self.rates = window.covered(), True
        return Between(self.named(known, steps), self.named(known, last), self.span)

    def anything(self, found, window):
        """That there is something between -S and -T."""
        if not any(found.values()):
            begin = results.ns(self.context.pmGetArchiveLabel().start)
            raise Trouble(f"no values of this between {self.clock(window.start)} and {self.clock(window.finish)}: "
                          f"the archive has {self.clock(begin)} to {self.clock(results.ns(self.context.pmGetArchiveEnd()))}")

    def heading(self):
        """Which time of an archive is shown: not what was asked for, but what there are samples of."""
        if self.span is None:
            return f"at {self.clock(self.window().finish)}" + (": no counter has two values, so there are no rates" if self.rates else "")
        begin, end, covered = self.span
        same = self.clock(begin)[:10] == self.clock(end)[:10]
        gaps = f", of which {duration(covered)} have samples" if covered < end - begin - SECOND // 1000 else ""
        return f"from {self.clock(begin)} to {self.clock(end)[11 if same else 0:]}: {duration(end - begin)}{gaps}"

    def clock(self, ns):
        """A time in the zone that was asked for (-z, -Z)."""
        t = self.context.pmLocaltime(ns // SECOND)
        return f"{t.tm_year + 1900}-{t.tm_mon + 1:02d}-{t.tm_mday:02d} {t.tm_hour:02d}:{t.tm_min:02d}:{t.tm_sec:02d}"

    def unlogged(self, what, group):
        """Why an archive lacks something, and what to do."""
        path = f"{pmapi.pmContext.pmGetConfig('PCP_VAR_DIR')}/config/pmlogger/config.default"
        return (f"{what}: the group apm/{group} of pmlogconf is off by default; for archives to come: "
                f"sed -i 's|^#+ apm/{group}:n:|#+ apm/{group}:y:|' {path} && pmlogconf -c -q {path}, and restart pmlogger")


def duration(ns):
    """A time in at most two units: 30 s, 1.5 s, 24 min 10 s, 25 h 3 min."""
    seconds = round(ns / SECOND, 1 if ns < 100 * SECOND else 0)
    if seconds < 120:
        return f"{seconds:g} s"
    first, second, units = (seconds // 60, seconds % 60, ("min", "s")) if seconds < 7200 else (seconds // 3600, seconds % 3600 // 60, ("h", "min"))
    return f"{first:.0f} {units[0]}" + (f" {second:.0f} {units[1]}" if second else "")
