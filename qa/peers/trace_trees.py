"""The pure part of pcp apm trace and traces, with pcp_apm in the path: spans out of records, which of them are a trace's, trees, what is drawn
where, and what hostile ones cost. Prints what comes out.
"""

import random
import resource
import time

from pcp_apm import past
from pcp_apm import spans as S
from pcp_apm.table import width
from pcp_apm.tree import DEEPEST, Tree, arrange
from pcp_apm.trouble import Trouble

MS = 10**6


def made(name, parent="", at=0, ms=10, trace="4bf92f35", service="shop", operation=None, failed=False, fault="", depth=0, instance="shop/a"):
    return S.Span("zorka", instance, trace, name, parent, service, name if operation is None else operation, "", at * MS, ms * MS, failed, fault, depth, "")


def drawn(rows):
    print(*(f"{row.mark:1} {row.branches}{row.span.operation}" for row in rows), sep="\n")


print("== spans of records")
for source, kind, instance, fields in [
    ("zorka", "span", "orders/app1", {"trace": "a1", "span": "01", "duration": 5, "type": "db", "db.statement": "select\n  1", "method": "x", "service": "orders"}),
    ("zorka", "span", "orders/app1", {"trace": "a1", "span": "02", "parent": "01", "duration": 5, "error": 1, "type": "http", "http.method": "GET",
                                      "http.url": "/x", "http.status_code": "500"}),
    ("zorka", "span", "orders/app1", {"trace": "a1", "duration": 5, "error": 1, "method": "a.B.c", "exception.class": "E", "exception.message": "no\x1b[2J", "exception.frame": "a.B.c(B.java:1)"}),
    ("zorka", "span", "orders/app1", {"trace": "a1", "duration": 5, "exception.class": "E", "method": "caught", "nested": 1, "depth": 2}),
    ("profiler", "call", "shop/stock/stock-1", {"trace.id": "a1", "duration": 7, "error": 1, "title": "GET /stock", "method": "x"}),
    ("zorka", "span", "a", {"trace": "a1"}), ("zorka", "span", "a", {"duration": 1}), ("zorka", "span", "a", {"trace": 7, "duration": "1"}),
    ("zorka", "span", "a", {"trace": "a", "duration": -1}), ("profiler", "call", "a", {"trace": "a1", "duration": 1}), ("mono", "gc", "a", {"trace": "a1", "duration": 1}),
]:
    print((one := S.span(0, source, kind, instance, fields)) and (one.service, one.operation, one.failed, one.fault, one.id, one.parent, one.depth))
long = S.span(0, "zorka", "span", "a", {"trace": "t" * 10**6, "span": "s" * 10**6, "duration": 1, "db.statement": "x" * 10**6, "service": "y" * 10**6})
print([len(text) for text in long if isinstance(text, str)])

print("== ids")
for said, ids in [("4BF9", ["4bf92f", "4bf9", "4bf"]), ("4bf9", ["00000000000000004bf9000000000000", "000000004bf9"]), ("0000", ["0000000000000000ab00000000000000"]),
                  ("c8302e42c079", ["c8302e42-c079-e4cc-a834-0af8cd7d891e"]), ("C8302E42-C0", ["c8302e42c079e4cca8340af8cd7d891e"]), ("Req-1", ["Req-12", "req-12"])]:
    print(said, [S.begins(one, said) for one in ids], S.spellings(said))
print(S.spellings('a" || duration > 0 || trace == "'), S.spellings("*"), S.spellings("a\\"))
print(S.shortened(["4bf92f3577", "4bf92f3588", "aa", "aab", "a0000000000"]), S.shortened(["x" * 12]), S.shortened([]))

print("== what comes again")
matching = S.Matching("4bf9")
for one in [made("1"), made("2", "1"), made("1", instance="shop/b"), made("2", "1", trace="4BF92F35"), made("3", trace="4bf9ffff"), made("4", trace="5")]:
    matching.add(one)
print([[one.id for one in found] for found in matching.found()], matching.left_out)
alone = S.Matching("4bf92f35")
for one in [made("1"), made("2", trace="4bf92f3577")]:
    alone.add(one)
print([[one.trace for one in found] for found in alone.found()])

print("== trees")
drawn(arrange([made("c", "b", 5, 2), made("a", at=0, ms=20), made("b", "a", 4, 10), made("d", "a", 15, 2), made("e", "d", 16, 1)]))
print("-- two without a cause, of which one is a root")
drawn(arrange([made("x", "gone", 0), made("y", "x", 1), made("a", at=3)]))
print("-- a circle, and one that caused itself")
drawn(arrange([made("a", "b", 0), made("b", "c", 1), made("c", "a", 2), made("s", "s", 3)]))
print("-- without ids: by the calls around them, in the same process")
old = dict(instance="old/1")
drawn(arrange([made("", operation=name, at=at, ms=ms, depth=depth, instance=instance) for name, at, ms, depth, instance in [
    ("first", 0, 50, 0, "old/1"), ("in first", 1, 20, 1, "old/1"), ("in it", 2, 5, 4, "old/1"), ("after it", 8, 5, 4, "old/1"), ("at the end", 30, 20, 1, "old/1"),
    ("second", 60, 9, 0, "old/1"), ("in nothing", 70, 9, 2, "old/1"), ("elsewhere", 2, 3, 1, "old/2")]]))
print("-- deep")
chain = arrange([made(str(n), str(n - 1) if n else "", n, 10**5 - n) for n in range(20_000)])
print(len(chain), max(row.depth for row in chain), max(len(row.branches) for row in chain), [repr(row.branches)[-12:] for row in chain[DEEPEST:DEEPEST + 3]])

print("== drawn")
page = [made("a", at=0, ms=90, operation="http GET /page"), made("b", "a", 0, 45, operation="http http://app1/orders/7"),
        made("c", "b", 4, 40, service="orders", operation="http GET /orders/7"), made("d", "c", 4, 31, service="orders", operation="db select * from orders where id = 7"),
        made("e", "a", 45, 15, operation="http http://app2/charge"), made("f", "e", 60, 12, service="billing", operation="http POST /charge", failed=True,
                                                                          fault="shop.NoMoney: card refused, at shop.Billing.charge(Shop.java:42)"),
        made("g", "gone", 70, 1, service="\u30b5\u30fc\u30d3\u30b9", operation="db \x1b[31m \u202e", failed=True), made("h", "f", 65, 0, operation="again", failed=True,
                                                                          fault="shop.NoMoney: card refused, at shop.Billing.charge(Shop.java:42)")]
for most in (None, 100, 60, 40, 20):
    print(f"-- {most}")
    lines = list(Tree(page).lines("12:00:00", most, ["3 records were dropped"]))
    print(*lines, sep="\n")
    assert most is None or max(map(width, lines)) <= most
print("-- a moment, and a life")
print(*Tree([made("a", ms=0)]).lines("12:00:00"), *Tree([made("a", at=10**9, ms=2**64 // MS), made("b", "a", 0)]).lines("12:00:00"), sep="\n")

print("== which matter")
traces = S.Traces(lambda trace: trace.duration, 3)
for n in range(100):
    traces.add(made(f"{n}b", f"{n}a", n + 1, n % 10, trace=f"{n:08x}", service="orders"))
for n in range(100):
    traces.add(made(f"{n}a", "", n, 10 + n % 10, trace=f"{n:08x}", failed=n == 49))
    traces.add(made(f"{n}a", "", n, 10 + n % 10, trace=f"{n:08x}", failed=n == 49))
print(traces.number, [(trace.id, trace.duration // MS, trace.spans, trace.errors, sorted(trace.services), trace.root.id) for trace in traces.best()])
failed = S.Traces(lambda trace: trace.start if trace.errors else None, 3)
for n in range(50_000):
    failed.add(made(str(n), at=n, trace=f"{n:08x}", failed=n % 10_000 == 7))
print(failed.number, len(failed.open), [trace.id for trace in failed.best()])
for order in ("abc", "cba", "bca", "cab"):
    trace = None
    for name in order:
        one = made(name, {"a": "gone", "b": "a", "c": "b"}[name], 0, {"a": 30, "b": 20, "c": 10}[name])
        trace = trace or S.Trace(one)
        trace.add(one)
    print(order, trace.root.id, end=" ")
print()

print("== the page of an archive")
for values in ([7, 7, 7], [None, 5, 6], [None, 7, None], [1, None, 3], [None, None, None], [float("nan"), 1.5, 1.5]):
    column = []
    for n, value in enumerate(values):
        if value is not None:
            past.put(column, n, value)
    print(column and past.written(column, len(values)), end=" ")
print()


class Records:
    """Of three traces that failed one has any number of spans, and each span comes twice."""

    def __init__(self, _):
        pass

    def spans(self):
        for n in range(3000):
            one = made(str(n), at=n, trace="a" * 32, failed=n == 0)
            yield from (one, one)
        yield from (made(str(n), at=5000, trace=f"{n:032x}", failed=True) for n in (1, 2))


past.Records = Records
found, notes = past.spans_of(None)
print(len(found), sorted({one[2][-4:] for one in found}), notes)

for page in (b"<noscript>", b"byId('apm-archive')<noscript>"):
    try:
        print(past.filled(page, "{}").decode())
    except Trouble as trouble:
        print(trouble)

print("== hostile")
dice, begin = random.Random(5), time.process_time()
traces, matching = S.Traces(lambda trace: trace.duration, 30), S.Matching("a")
for n in range(300_000):
    # All of one trace, each of its own, and few that go on.
    kind = n % 3
    one = made(f"{dice.getrandbits(64):x}", f"{dice.getrandbits(64):x}", dice.randrange(10**6), trace="a" * 32 if kind == 0 else f"{dice.getrandbits(128):032x}" if kind == 1 else f"{n % 50:032x}",
               service=f"{dice.getrandbits(400):x}", operation="x" * 1000)
    traces.add(one)
    matching.add(one)
print(len(traces.open) <= S.MOST_OPEN, traces.apart <= S.MOST_IDS, len(traces.done) <= 60, max(len(trace.services) for trace in traces.open.values()),
      sum(map(len, matching.of.values())), matching.left_out > 0)
rows = arrange([made("", operation="x", at=n % 1000, ms=n % 77, depth=n % 9, instance=f"i{n % 3}") for n in range(S.MOST_SPANS)])
print(len(rows), "spans drawn")
used = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
print("time and memory are bounded:", "yes" if used[0] < 60 and used[1] < 400 else used)
