"""An archive between two times: steps of counters by its records, and values at the end as PCP interpolates them.

A counter's steps are what pmlogsummary(1) takes: those between two values of an instance, unless a <mark> record is
between them (pmlogger was not there) or the second one is smaller (what counted began anew). Those that reach over
-S or -T count with their part in the window, as if the counter had grown evenly, which is PCP's interpolation.
"""

import ctypes

from pcp import pmapi
import cpmapi as c

from . import results


class Window:
    """What an archive knows between two times, in ns since 1970."""

    def __init__(self, context, start, finish):
        """`start`, `finish`: as libpcp made them of -S and -T."""
        self.context, self.stamp = context, type(start)
        self.finer = 1 if hasattr(start, "tv_nsec") else 1000
        end = results.ns(context.pmGetArchiveEnd())
        self.start, self.finish = results.ns(start), min(results.ns(finish), end) if finish else end
        self.spans = set()

    def covered(self):
        """(from, to, how much of it has steps) in ns; `None` without any."""
        total, begin, end = 0, None, None
        for first, last in sorted(self.spans):
            begin = first if begin is None else begin
            total += max(0, last - max(first, end if end is not None else first))
            end = last if end is None else max(end, last)
        return None if begin is None else (begin, end, total)

    def mode(self, mode, at):
        """Where the next fetch begins. The interval matters for its sign only: records are read forwards."""
        delta = self.stamp(1, 0) if self.finer == 1 else 1000
        self.context.pmSetMode(mode, self.stamp(at // 10**9, at % 10**9 // self.finer), delta if mode == c.PM_MODE_INTERP else 0)

    def at(self, at, kinds):
        """{metric's id: {instance: value}} as PCP interpolates it. kinds: {metric's id: type}."""
        if not kinds:
            return {}
        self.mode(c.PM_MODE_INTERP, at)
        try:
            result = self.context.pmFetch((ctypes.c_uint * len(kinds))(*kinds))
        except pmapi.pmErr as e:
            if e.errno() == c.PM_ERR_EOL:
                return {}
            raise
        found = {pmid: dict(results.values(where, kinds[pmid])) for pmid, where in results.sets(result)}
        self.context.pmFreeResult(result)
        return found

    def records(self, mode, at):
        """(time, {metric's id: where its values are}) of each record; `None` instead of the latter is a <mark>."""
        self.mode(mode, at)
        while True:
            try:
                result = self.context.pmFetchArchive()
            except pmapi.pmErr as e:
                if e.errno() == c.PM_ERR_EOL:
                    return
                raise
            try:
                yield results.when(result), dict(results.sets(result)) if result.contents.numpmid else None
            finally:
                self.context.pmFreeResult(result)

    def last(self, kinds):
        """Values at the end of the window; of metrics that nobody can interpolate there, those of the last record."""
        found = self.at(self.finish, kinds)
        missing = set(kinds) - set(found)
        for at, sets in self.records(c.PM_MODE_BACK, self.finish) if missing else ():
            if sets is None or at < self.start or not missing:
                break
            for pmid in missing & set(sets):
                found[pmid] = dict(results.values(sets[pmid], kinds[pmid]))
                missing.discard(pmid)
        return found

    def walk(self, kinds, counters):
        """(steps, last): {metric's id: {instance: (sum, ns)}} of the counters among the metrics, values at the end."""
        ends = self.at(self.finish, kinds)
        before, after = self.prior(kinds, counters), {pmid: set(ends.get(pmid, ())) for pmid in counters}
        steps, last = {pmid: {} for pmid in counters}, {}
        for at, sets in self.records(c.PM_MODE_FORW, self.start):
            if at > self.finish and not any(after.values()):
                break
            if sets is None:
                before = {}
                continue
            for pmid in kinds.keys() & sets.keys():
                found = results.values(sets[pmid], kinds[pmid])
                if at <= self.finish:
                    last[pmid] = found
                if pmid in counters:
                    if at >= self.finish:
                        found = [(inst, value) for inst, value in found if inst in after[pmid]]
                        after[pmid].difference_update(inst for inst, _ in found)
                    self.step(before.setdefault(pmid, {}), steps[pmid], at, found)
        return steps, {pmid: {**dict(last.get(pmid, ())), **ends.get(pmid, {})} for pmid in kinds}

    def prior(self, kinds, counters):
        """{metric's id: {instance: (time, value)}} right before the window, of those whose next value is in it or behind."""
        wanted, before = {pmid: set(found) for pmid, found in self.at(self.start, {k: kinds[k] for k in counters}).items()}, {}
        for at, sets in self.records(c.PM_MODE_BACK, self.start) if wanted else ():
            if sets is None or not any(wanted.values()):
                break
            for pmid in wanted.keys() & sets.keys():
                for inst, value in results.values(sets[pmid], kinds[pmid]):
                    if inst in wanted[pmid]:
                        before.setdefault(pmid, {})[inst] = at, value
                        wanted[pmid].discard(inst)
        return before

    def step(self, before, steps, at, found):
        """Adds what counters have gained since their values before, as far as that is in the window."""
        for inst, value in found:
            then = before.get(inst)
            before[inst] = at, value
            if then is None or at <= then[0] or not value >= then[1]:
                continue
            begin, end = max(then[0], self.start), min(at, self.finish)
            if end <= begin:
                continue
            gained, ns = steps.get(inst, (0, 0))
            whole = at - then[0]
            part = value - then[1] if end - begin == whole else (value - then[1]) * (end - begin) / whole
            steps[inst] = gained + part, ns + end - begin
            self.spans.add((begin, end))
