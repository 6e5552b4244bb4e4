"""The checks of the clicks in docs/questions.md: what the page shows at an address, and what a panel of Grafana has."""

import csv
import json
import os
import re
import subprocess
import sys
import time

from answers import Seen, checks_in, code, judged
from commands import AGENTS, here, hot_methods, plain
from play import SLOW, SLOW_CALL
from truth import D, KNOWN, MB, OF_THE_MACHINE, PREFIX, SHARES, details, waited, within

HERE = os.path.dirname(os.path.abspath(__file__))
CLICKS, PANELS = {}, {}
# What the page shows; and of a panel's queries {name: newest value} of each.
click, panel = checks_in(CLICKS), checks_in(PANELS)


def of_service(s, name):
    return next(one for one in s["services"] if one["name"].replace(PREFIX, "") == name)


def chart(s, t, name, key):
    """What a chart has of a service: the newest value, in an archive the mean of all of its time."""
    one = s["charts"][name]
    line = next(line for of, line in one["lines"].items() if of.replace(PREFIX, "") == key)
    if t.live:
        return line[-1]
    steps = [(b - a, value) for a, b, value in zip(one["times"], one["times"][1:], line[1:]) if value is not None]
    return sum(dt * value for dt, value in steps) / t.seconds


@click("Who is connected, and who is gone?")
def page_agents(s, t):
    yield "in sight", "overview" in s["sections"], True
    yield "sending", {plain(one["key"]): one["source"] for one in s["agents"] if here(one["state"])}, AGENTS
    yield "gone", [plain(one["key"]) for one in s["agents"] if one["state"].startswith(("gone", "ended"))], ["mono::victim.exe"]


@click("Which service is slow?", "Java")
def page_java(s, t):
    one = of_service(s, "shop/orders")
    yield "p50, p95, p99", *numbers([one[key] / 1e6 for key in ("p50", "p95", "p99")], [30, 90, 90])


@click("Which service is slow?", "Zorka")
def page_zorka(s, t):
    one = of_service(s, "frontend")
    yield "p50, p95, p99", *numbers([one[key] / 1e6 for key in ("p50", "p95", "p99")], [40, 40, 40])


@click("How many calls are there, and how many fail?", "Java")
def page_java_calls(s, t):
    yield "in sight", "services" in s["sections"], True
    yield "calls, errors", *numbers([chart(s, t, name, "profiler|shop/orders") for name in ("calls", "errors")], [t.rate("java", key) for key in ("calls", "errors")])


@click("How many calls are there, and how many fail?", "Zorka")
def page_zorka_calls(s, t):
    yield "calls, errors", *numbers([chart(s, t, name, "zorka|billing") for name in ("calls", "errors")], [t.rate("zorka", key) for key in ("billing", "errors")])


@click("Which pod of it?", "Java")
def page_pod(s, t):
    yield "in sight", "charts" in s["sections"], True
    yield "calls", chart(s, t, "calls", "profiler|shop/orders\nshop/orders/orders-1"), t.rate("java", "calls_1")


@click("Called from where?", "Java")
def page_stacks(s, t):
    yield "in sight", "stacks" in s["sections"], True
    [service] = [one for one in s["stacks"]["children"] if one["name"] == "shop/orders"]
    [above] = [one for one in service["children"] if one["name"] == "Orders.list"]
    yield "find of list", above["children"][0]["total"] / above["total"], 100 / 140


@click("Is it garbage collection?", "Java")
def page_java_paused(s, t):
    yield "paused", chart(s, t, "pauses", "profiler|shop/orders"), t.rate("java", "gc_ms") / 10
    yield "stopped", chart(s, t, "stopped", "profiler|shop/orders"), t.rate("java", "pause_ms") / 10


def cause(s, t, table, name, **of):
    """The one row of a table of causes with these fields: of an owner that begins so."""
    rows = [one for one in s["causes"][table] if (one["owner"] or "").replace(PREFIX, "").startswith(name) and all(one[key] == value for key, value in of.items())]
    if len(rows) != 1:
        raise LookupError(f"{len(rows)} rows of {name} {of} in {table}")
    # It stands there: what it is, and whose.
    if t.live and [rows[0]["what"], rows[0]["owner"]] not in [[line[0], line[2]] for line in s["cells"][table]]:
        raise LookupError(f"{rows[0]['what']} is not among the first rows of {table}")
    return rows[0]


@click("Which method takes the time?", "Java")
def page_methods(s, t):
    yield "in sight", "methods" in s["sections"], True
    one = cause(s, t, "methods", "shop/orders", what="shop.Orders.list")
    yield "ms/s", one["now"] / 1e6, t.rate("java", "list_ms")
    yield "calls", one["count"], t.rate("java", "list_calls")


@click("Which method takes the time?", "Zorka")
def page_zorka_methods(s, t):
    [one] = [one for one in s["causes"]["methods"] if one["source"] == "zorka" and one["owner"] == "billing" and one["what"].startswith("shop.Billing.charge")]
    yield "ms/s", one["now"] / 1e6, t.rate("zorka", "charge_self_ms")


@click("Which method takes the time?", ".NET")
def page_dotnet_methods(s, t):
    yield "in sight", "methods" in s["sections"], True
    rows = s["causes"]["methods"]
    yield "of it only", {one["service"] for one in rows}, {"dotnet|webshop"}
    for stack, share in SHARES.items():
        name = stack.split(",")[-1]
        yield name, sum(one["total"] for one in rows if one["what"].startswith(name)) / sum(one["total"] for one in rows), share


@click("Which method takes the time?", "Mono")
def page_mono_methods(s, t):
    yield from hot_methods({one["what"]: one["total"] for one in s["causes"]["methods"] if one["source"] == "mono"})


@click("Of which generation?", ".NET")
def page_dotnet_generations(s, t):
    yield "in sight", "collections" in s["sections"], True
    yield "gen0", cause(s, t, "collections", "webshop:", what="gen0")["count"], t.rate("dotnet", "gcs")
    yield "gen1", cause(s, t, "collections", "webshop:", what="gen1")["count"], t.rate("dotnet", "gcs") / 2


@click("Of which generation?", "Mono")
def page_mono_generations(s, t):
    for generation in ("gen0", "gen1"):
        yield generation, cause(s, t, "collections", "stream.exe:", what=generation)["count"], t.mono("stream", lambda one, of=generation: one[of])


@click("Of which collector?", "JVM")
def page_collectors(s, t):
    [one] = [one for one in s["causes"]["collections"] if one["source"] == "jvm" and one["count"]]
    yield one["what"], one["count"], t.rate("jvm", "gcs")
    yield "time", one["now"] / 1e6, t.rate("jvm", "gc_ms")


@click("Is it locks?", ".NET")
def page_locks(s, t):
    yield "in sight", "overview" in s["sections"], True
    [one] = [one for one in s["runtimes"] if one["name"].startswith("webshop:")]
    yield "waits", one["waits"], t.rate("dotnet", "waits")
    yield "waiting", one["waiting"], t.rate("dotnet", "wait_ms") / 1000


@click("Is it locks?", "Java")
def page_java_locks(s, t):
    yield "waiting", sum(one["waiting"] for one in s["runtimes"] if one["source"] == "profiler"), t.rate("java", "wait_ms") / 1000


@click("Is it locks?", "Mono")
def page_mono_locks(s, t):
    [one] = [one for one in s["runtimes"] if one["name"].replace(PREFIX, "").startswith("stream.exe:")]
    yield "waits", one["waits"], t.mono("stream", lambda one: one["contended"] + one["failed"])
    yield "waiting", *within(one["waiting"], *(us / 1e6 for us in waited(t, True)))


@click("Which lock?", ".NET")
def page_lock(s, t):
    yield "in sight", "locks" in s["sections"], True
    one = cause(s, t, "locks", "webshop:")
    yield "lock", one["what"], "lock@10c4"
    yield "waits", one["count"], t.rate("dotnet", "waits")
    yield "ms/s", one["now"] / 1e6, t.rate("dotnet", "wait_ms")


@click("Which method waits for it?", "Mono")
def page_method_waits(s, t):
    one = cause(s, t, "locks", "stream.exe:", what="Shop:Pay()")
    yield "waits", one["count"], t.mono("stream", lambda one: one["contended"])
    yield "ms/s", *within(one["now"] / 1e6, *(us / 1000 for us in waited(t, False)))


@click("Which exception?", ".NET")
def page_exception(s, t):
    yield "in sight", "exceptions" in s["sections"], True
    yield "stock", cause(s, t, "exceptions", "webshop:", what="Shop.OutOfStock")["now"], t.rate("dotnet", "stock")
    yield "timeout", cause(s, t, "exceptions", "webshop:", what="System.TimeoutException")["now"], t.rate("dotnet", "thrown") - t.rate("dotnet", "stock")


@click("Which exception?", "Zorka")
def page_zorka_exception(s, t):
    [one] = [one for one in s["causes"]["exceptions"] if one["source"] == "zorka"]
    yield "class", one["what"], "shop.NoMoney"
    yield "number", one["now"], t.rate("zorka", "exceptions")


@click("Which method throws?", "Mono")
def page_throws(s, t):
    yield "number", cause(s, t, "exceptions", "stream.exe:", what="Shop:Refuse(int)")["now"], t.mono("stream", lambda one: one["thrown"])
    # Of a program without a log profiler: how many.
    yield "area", cause(s, t, "exceptions", "area.exe:", what="all exceptions")["now"], t.mono("area", lambda one: one["thrown"] + one["rethrown"])


@click("Is it the processor?", "JVM, Mono with mono-log")
def page_processor(s, t):
    for name in ("stream", "jvm"):
        [one] = [one for one in s["runtimes"] if one["key"].replace(PREFIX, "").startswith("jvm::Shop:" if name == "jvm" else "mono::stream.exe:")]
        yield name, 100 * one["cpu"], 100 * KNOWN.cpu.between(name, t.begin, t.end), 100 * 0.03 / t.seconds


@click("What alerts me?")
def page_alerts(s, t):
    yield "in sight", "alerts" in s["sections"], True
    # What clients read too late, and pauses of a busy machine, are not of the scene; what LTTng discards comes once.
    found = {one["rule"] for one in s["alerts"] if not one["rule"].endswith("records_lost")} - {"lttng_discarded"} - OF_THE_MACHINE
    yield "hold", found, {"java_errors", "java_pauses", "zorka_errors", "dotnet_exceptions", "dotnet_starvation"}
    for rule, instance, part in (("java_errors", "shop/orders", 100 / 3), ("zorka_errors", "billing", 25)):
        yield rule, next(one["figure"] for one in s["alerts"] if (one["rule"], one["instance"]) == (rule, instance)), float(part)


@click("Is it garbage collection?", ".NET")
def page_dotnet_paused(s, t):
    yield "paused", chart(s, t, "pauses", "dotnet|webshop"), t.rate("dotnet", "pause_ms") / 10


@click("Is it garbage collection?", "JVM")
def page_jvm_paused(s, t):
    [one] = s["jvms"]
    yield "in sight", "jvm" in s["sections"], True
    if t.live:
        yield "paused", one["paused"], t.rate("jvm", "gc_ms") / 10
    yield "paused, chart", chart(s, t, "pauses", "jvm|Shop"), t.rate("jvm", "gc_ms") / 10


@click("Is it garbage collection?", "Mono")
def page_mono(s, t):
    yield "in sight", "charts" in s["sections"], True
    for name in ("area", "stream"):
        yield name, chart(s, t, "gc", f"mono|{name}.exe"), t.mono(name, lambda one: one["gen0"] + one["gen1"])


@click("Is it the heap?", "JVM")
def page_heap(s, t):
    [one] = s["jvms"]
    yield "heap, limit", *numbers([one["heap"], one["most"]], [KNOWN.jvm["heap"], 96 * MB])


@click("How many exceptions are thrown?", ".NET")
def page_exceptions(s, t):
    yield "thrown", chart(s, t, "exceptions", "dotnet|webshop"), t.rate("dotnet", "thrown")


@click("How many exceptions are thrown?", "Zorka")
def page_zorka_exceptions(s, t):
    yield "thrown", chart(s, t, "exceptions", "zorka|billing"), t.rate("zorka", "exceptions")


@click("How many exceptions are thrown?", "Mono")
def page_mono_exceptions(s, t):
    yield "thrown", chart(s, t, "exceptions", "mono|area.exe"), t.mono("area", lambda one: one["thrown"] + one["rethrown"])


@click("Which requests are slow?", "Java, Zorka")
def page_traces(s, t):
    yield "in sight", "traces" in s["sections"], True
    ms = {one["id"].lstrip("0"): round(one["ms"]) for one in s["traces"]}
    yield "they are there", (ms.get(SLOW_CALL["trace"].lstrip("0")), ms.get(SLOW)), (1500, 1200)


@click("Why was this call slow?", "Java, Zorka")
def page_trees(s, t):
    yield "in sight", "records" in s["sections"], True
    # The page of an archive has no records.
    if t.live:
        # How long it stood still is of the moment.
        depth, total, own, _, executions, method = s["trees"][SLOW_CALL["trace"]].split(",")
        yield "its methods", (depth, total, own, executions, method), ("0", "1500000", "1500000", "1", "Orders.pay")


@click("Which SQL?", "Zorka")
def page_sql(s, t):
    yield "statement", any("select * from orders where id = 7" in line for line in s["waterfall"]), True


@click("Where did this one spend its time?", "Zorka")
def page_trace(s, t):
    yield "spans", len(s["waterfall"]), 5
    for words, ms in (("GET /page", "1.2 s"), ("POST /charge", "600 ms"), ("select * from orders where id = 7", "240 ms"), ("update stock", "120 ms")):
        yield words, any(words in line and ms in line.replace("\u202f", " ").replace("\u00a0", " ") for line in s["waterfall"]), True


@click("What happened at 10:42?")
def page_moment(s, t):
    yield "moment", s["moment"], t.begin + 4.0, 1.0
    yield "services", {one["name"].replace(PREFIX, "") for one in s["services"]}, {"shop/orders", "frontend", "billing", "webshop", "Shop", "area.exe", "stream.exe", "victim.exe"}


@click("What does the PMDA cost?", "")
def page_cost(s, t):
    yield "in sight", "cost" in s["sections"], True
    resident, more = (KNOWN.rss.now(), 0) if t.live else t.window["rss"]
    yield "memory", float(s["resident"]), float(resident), more


@click("Is anything lost?", "LTTng")
def page_lost(s, t):
    yield "discarded", s["lttng"][0]["discarded"], 3


@click("Which events?", "LTTng")
def page_events(s, t):
    yield "in sight", "lttng" in s["sections"], True
    rows = {tuple(cells[:2]): cells for cells in s["events"] if len(cells) > 4}
    yield "class", ("shophost/shop", "shop:request") in rows, True
    if t.live:
        yield "events", float(rows["shophost/shop", "shop:request"][2].split("/")[0]), t.rate("lttng", "requests")


def numbers(got, true):
    """Numbers that are all within the tolerance: the one that is farthest from the truth."""
    pairs = [(float(g), float(w)) for g, w in zip(got, true)]
    return max(pairs, key=lambda pair: abs(pair[0] - pair[1]) / (abs(pair[1]) or 1))


class Page:
    """The page in a browser. proxy: where pmproxy is, "-" for an archive's."""

    def __init__(self, path, proxy):
        self.asked = subprocess.Popen(["node", os.path.join(HERE, "../page/questions.mjs"), proxy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, "PAGE": path, "HOME": D}, bufsize=1)

    def at(self, address):
        """What it shows at an address; without one once more."""
        self.asked.stdin.write(address + "\n")
        self.asked.stdin.flush()
        seen = json.loads(self.asked.stdout.readline())
        if seen["wrong"]:
            raise LookupError(str(seen["wrong"][:3]))
        return seen

    def end(self):
        self.asked.stdin.close()
        self.asked.wait()


def clicked(table, page, truth, until):
    """{row: (what is wrong, error)} of the clicks of a table. Ends the page."""
    found, addresses = {}, {}
    for row, cells in table.items():
        if code(cells[0]):
            addresses.setdefault(code(cells[0]), []).append(row)
    for address, rows in addresses.items():
        past_only = "at=10:42" in address
        if past_only and truth.live:
            continue
        moment = time.strftime("at=%H:%M:%S", time.gmtime(truth.begin + 4))
        left, next_, looks = list(rows), address.replace("at=10:42", moment), 0
        while left:
            looks += 1
            seen = page.at(next_)
            next_ = ""
            begin, end = ([0, 1] + seen["charts"]["calls"]["times"])[-2:] if truth.live else (0, 0)
            for row in list(left):
                found[row] = judged(lambda a, t, f=CLICKS[row]: f(a.seen, t), Seen(seen, [(begin - n / 50, end - n / 50) for n in range(0, 50, 2)]), truth)
                if not found[row][0]:
                    left.remove(row)
            # A busy machine gets the last address late, and rates of rules take 30 s of looks each 2 s.
            if left and time.monotonic() > until and (looks > 20 or not truth.live):
                break
            if left and not truth.live:
                time.sleep(0.3)
            for row in left:
                details(f"page {address} {row}: {found[row][0]}")
    page.end()
    return found


@panel("Who is connected, and who is gone?")
def board_agents(p, t):
    source, state = p[:2]
    yield "sending", {plain(name): source[name] for name, value in state.items() if here(value)}, AGENTS


def one_of(query, name):
    """The value of the row whose name begins so."""
    return next(value for of, value in query.items() if of.replace(PREFIX, "").startswith(name))


def board(question, of, source, rows):
    """A panel whose queries have these rates: (number of the query, begin of the row's name, key of play.py, factor)."""
    def judge(p, t):
        for query, name, key, factor in rows:
            yield name, one_of(p[query], name), (t.rate(source, key) if isinstance(key, str) else float(key)) * factor
    PANELS[question, of] = judge


S = "shop/orders"
board("Which service is slow?", "Java", "java", [(0, S, 30, 1e6), (1, S, 90, 1e6), (2, S, 90, 1e6)])
board("Which service is slow?", "Zorka", "zorka", [(0, "frontend", 40, 1e6), (1, "frontend", 40, 1e6), (2, "frontend", 40, 1e6)])
board("How many calls are there, and how many fail?", "Java", "java", [(0, S, "calls", 1), (1, S, "errors", 1)])
board("How many calls are there, and how many fail?", "Zorka", "zorka", [(0, "billing", "billing", 1), (1, "billing", "errors", 1)])
board("Which pod of it?", "Java", "java", [(0, "shop/orders/orders-1", "calls_1", 1)])
board("Which method takes the time?", "Java", "java", [(0, S + "::shop.Orders.list", "list_ms", 1e6), (1, S + "::shop.Orders.list", "list_calls", 1)])
board("Which method takes the time?", "Zorka", "zorka", [(0, "billing::shop.Billing.charge", "charge_self_ms", 1e6)])
board("Called from where?", "Java", "java", [(0, S + ",Orders.list,Store.find", "find_ms", 1e6)])
board("Is it garbage collection?", "Java", "java", [(0, "shop/orders/orders-1", "pause_ms", 0.5e6)])
board("Is it garbage collection?", ".NET", "dotnet", [(0, "webshop", "pause_ms", 1e6)])
board("Is it garbage collection?", "JVM", "jvm", [(0, "Shop", "gc_ms", 1e6)])
board("Is it locks?", ".NET", "dotnet", [(0, "webshop", "wait_ms", 1e6)])
board("Is it the thread pool?", ".NET", "dotnet", [(0, "webshop", 7, 1)])
board("Which SQL?", "Zorka", "zorka", [(0, "billing/app1::select_*_from_orders_where_id_=_?", "sql_ms", 1e6)])
board("Which exception?", ".NET", "dotnet", [(0, "webshop::Shop.OutOfStock", "stock", 1)])
board("Which exception?", "Zorka", "zorka", [(0, "shop.NoMoney", "exceptions", 1)])
board("Which events?", "LTTng", "lttng", [(0, "shophost/shop::shop:request", "requests", 1)])


@panel("Is it garbage collection?", "Mono")
def board_mono(p, t):
    for n, key in enumerate(("gen0", "gen1")):
        yield key, one_of(p[n], "area.exe"), t.mono("area", lambda one, of=key: one[of])


@panel("Is it the heap?", "JVM")
def board_heap(p, t):
    yield "used", one_of(p[0], "Shop"), float(KNOWN.jvm["heap"])


@panel("Is it locks?", "Java")
def board_waits(p, t):
    yield "waiting", sum(value for name, value in p[0].items()), t.rate("java", "wait_ms") * 1e6


@panel("Is it locks?", "Mono")
def board_mono_locks(p, t):
    yield "waiting", *within(one_of(p[0], "stream.exe"), *(us * 1000 for us in waited(t, True)))


@panel("Which method throws?", "Mono")
def board_mono_throws(p, t):
    name, value = max(p[0].items(), key=lambda item: item[1] or 0)
    yield "method", name.partition("::")[2], "Shop:Refuse(int)"
    yield "number", value, t.mono("stream", lambda one: one["thrown"])


@panel("Which requests are slow?", "Java, Zorka")
def board_slow(p, t):
    first = next(csv.DictReader(next(text for name, text in p[0].items() if name.startswith("frontend")).splitlines()))
    yield "the first", (first["duration_ms"], first["trace"]), ("1200", SLOW)


@panel("What does the PMDA cost?", "")
def board_cost(p, t):
    yield "memory", p[0][""], float(KNOWN.rss.now())


@panel("Is anything lost?", "LTTng")
def board_lost(p, t):
    # A rate, of what was lost before.
    yield "discarded", one_of(p[0], "shophost/shop"), 0.0


def boards(table, truth, until):
    """{row: (what is wrong, error)} of the panels of a table, as the data source PCP Vector reads them."""
    sys.path.insert(0, os.path.join(HERE, ".."))
    import grafana
    source, known, wanted, found = grafana.Vector(os.environ["WEB"]), {}, {}, {}
    for one in grafana.boards(os.path.join(D, "dashboards/vector")).values():
        known[one["title"].partition(": ")[2]] = one
    for row, cells in table.items():
        if not code(cells[1]):
            continue
        name = next(name for name in sorted(known, key=len, reverse=True) if code(cells[1]).startswith(name + ": "))
        [of] = [p for p in grafana.panels(known[name]) if p["title"] == code(cells[1])[len(name) + 2:]]
        chosen = grafana.Variables(known[name])
        if "service" in chosen.board:
            # All, or the one that the question is about.
            many = chosen.board["service"].get("multi", True)
            chosen["service"] = None if many else {"Java service": "shop/orders", "Zorka service": "billing"}[name]
            if not many and row[0] in ("Which service is slow?", "Which requests are slow?") and name == "Zorka service":
                chosen["service"] = "frontend"
        wanted[row] = [(chosen.replaced(target["expr"]), target["options"]["rateConversion"]) for target in of["targets"]]
    left = dict(wanted)
    while left:
        source.samples.clear()
        source.poll({expr for of in left.values() for expr, _ in of}, 2, 2.0)
        # When the two samples were taken.
        begin, end = (at / 1000 for at, _ in next(rows for of in source.samples.values() for rows in of.values() if len(rows) == 2))
        for row, queries in list(left.items()):
            newest = [{name: values[-1] for name, values in source.frame(expr, convert).items() if values and values[-1] is not None} for expr, convert in queries]
            answer = Seen(newest, [(begin - n / 50, end - n / 50) for n in range(0, 50, 2)])
            found[row] = judged(lambda a, t, f=PANELS[row]: f(a.seen, t), answer, truth)
            if not found[row][0]:
                del left[row]
            else:
                details(f"Grafana {row}: {found[row][0]}")
        if time.monotonic() > until:
            break
    return found
