"""The checks of the commands in docs/questions.md: what was answered and what is true, for each row of its first table."""

import csv
import re

from answers import checks_in
from play import SLOW, SLOW_CALL
from truth import KNOWN, MB, OF_THE_MACHINE, PREFIX, SHARES, waited, within

AGENTS = {"dotnet::webshop": "dotnet", "jvm::Shop": "jvm", "lttng::shophost/shop": "lttng", "mono::area.exe": "mono", "mono::stream.exe": "mono",
          "profiler::shop/orders/orders-1": "profiler", "profiler::shop/orders/orders-2": "profiler", "zorka::billing/app1": "zorka", "zorka::frontend/web1": "zorka"}
WHY = re.compile(r"gone \d+ (s|min) ago: protocol error: command 255")


def here(state):
    """Whether an agent is connected: it may be silent before and after the scene."""
    return state.startswith(("sending", "silent", "connected, "))


def plain(name):
    """The name of an agent without the test's own and its process."""
    return re.sub(r":\d+$", "", name.replace(PREFIX, ""))


CHECKS = {}
check = checks_in(CHECKS)


@check("Who is connected?")
def connected(a, t):
    yield "agents", {plain(one["agent"]): one["source"] for one in a.json if here(one["state"])}, AGENTS
    yield "all of them", len(a.json), len(AGENTS) + 1


@check("Who is gone, and why?")
def gone(a, t):
    states = {plain(name): state for name, state in a.values("apm.agent.state").items()}
    yield "others", {name for name, state in states.items() if here(state)}, set(AGENTS)
    yield "the one", bool(WHY.fullmatch(states["mono::victim.exe"])), True


def slow_services(a, t):
    java, front, billing = a.row(service="shop/orders"), a.row(service="frontend"), a.row(service="billing")
    yield "orders, mean", java["average_ms"], t.rate("java", "time_ms") / t.rate("java", "calls")
    yield "frontend, mean", front["average_ms"], t.rate("zorka", "front_ms") / t.rate("zorka", "front")
    for what, row, percentiles in (("orders", java, (30, 90, 90)), ("frontend", front, (40, 40, 40)), ("billing", billing, (8, 20, 20))):
        for key, true in zip(("p50_ms", "p95_ms", "p99_ms"), percentiles):
            yield f"{what}, {key}", row[key], float(true)
    for row, source, calls, errors in ((java, "java", "calls", "errors"), (billing, "zorka", "billing", "errors")):
        yield f"{source}, calls", row["calls_per_s"], t.rate(source, calls)
        yield f"{source}, errors", row["errors_per_s"], t.rate(source, errors)


CHECKS["Which service is slow?", "Java, Zorka"] = CHECKS["What happened at 10:42?", "all"] = slow_services


@check("How many calls are there, and how many fail?", "Java")
def java_calls(a, t):
    for column, key in (("calls/s", "calls"), ("errors/s", "errors"), ("cpu ms/s", "cpu_ms"), ("paused ms/s", "pause_ms")):
        yield column, a.cell("shop/orders", column), t.rate("java", key)
    yield "pods", a.cell("shop/orders", "pods"), 2.0


@check("How many calls are there, and how many fail?", "Zorka")
def zorka_calls(a, t):
    for name, spans in (("frontend", "front"), ("billing", "billing")):
        yield name, a.cell(name, "spans/s"), t.rate("zorka", spans)
    yield "errors", a.cell("billing", "errors/s"), t.rate("zorka", "errors")
    yield "thrown", a.cell("billing", "thrown/s"), t.rate("zorka", "exceptions")


@check("Which pod, process or agent of it?")
def which_pod(a, t):
    one, two = (a.row(runtime=f"shop/orders/orders-{n}") for n in (1, 2))
    yield "rows", len(a.json), 2
    yield "the slower one is first", a.json[0]["runtime"], "shop/orders/orders-2"
    yield "first, calls", one["calls_per_s"], t.rate("java", "calls_1")
    yield "first, mean", one["average_ms"], 80 / 3
    yield "second, mean", two["average_ms"], (t.rate("java", "time_ms") - t.rate("java", "time_1_ms")) / (t.rate("java", "calls") - t.rate("java", "calls_1"))


@check("Which method takes the time?", "Java, Zorka")
def methods(a, t):
    for method, ms, calls in (("shop.Orders.list", "list_ms", "list_calls"), ("shop.Orders.pay", "pay_ms", "pay_calls")):
        row = a.row(source="java", method=method)
        yield method, row["ms_per_s"], t.rate("java", ms)
        yield method + ", calls", row["calls_per_s"], t.rate("java", calls)
    row = a.row(source="zorka", method="shop.Billing.charge*")
    yield "charge", row["ms_per_s"], t.rate("zorka", "charge_self_ms")
    yield "charge, calls", row["calls_per_s"], t.rate("zorka", "charge")


def shares(a, key, names):
    """What a profile of .NET has of each, of all that it has."""
    ms = {one[key]: one.get("ms", one.get("ms_per_s")) for one in a.json}
    for name, share in names.items():
        yield name, next((value for of, value in ms.items() if of.startswith(name)), 0.0) / (sum(ms.values()) or 1), share


@check("Which method takes the time?", ".NET")
def dotnet_methods(a, t):
    yield from shares(a, "method", {stack.split(",")[-1]: share for stack, share in SHARES.items()})


@check("Called from where?", ".NET")
def dotnet_stacks(a, t):
    yield from shares(a, "stack", SHARES)


def hot_methods(ms):
    """What each method of Mono has: two that work as 3 : 1, as samples of some seconds let it be."""
    yield "the most", max(ms, key=ms.get), "Shop.Hot"
    yield "Hot for Warm", ms["Shop.Hot"] / ms["Shop.Warm"], 3.0, 1.5


@check("Which method takes the time?", "Mono")
def mono_methods(a, t):
    of = {one["method"]: one["ms" if t.live else "ms_per_s"] for one in a.json if one["source"] == "mono"}
    yield from hot_methods(of)
    if not t.live:
        # How exact a sum of samples is 103 knows: here other work of the program is in its processor time.
        used = t.mono("stream", lambda one: one["cpu_ms"])
        yield "all of them", *within(sum(of.values()), used * 0.5, used * 1.1)


@check("Called from where?", "Java, Zorka")
def stacks(a, t):
    java = {one["stack"]: one["ms_per_s"] for one in a.json if one["source"] == "java"}
    yield "find below list", next(ms for stack, ms in java.items() if stack == "Orders.list,Store.find"), t.rate("java", "find_ms")
    yield "list itself", java["Orders.list"], t.rate("java", "list_ms") - t.rate("java", "find_ms")
    zorka = {one["stack"]: one["ms_per_s"] for one in a.json if one["source"] == "zorka" and one["service"] == "billing"}
    yield "charge itself", zorka["Billing.charge"], t.rate("zorka", "charge_self_ms")


@check("What is the flame graph?", "Java, Zorka, .NET")
def folded(a, t):
    found = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in a.text.splitlines()}
    find, own = found["shop/orders;Orders.list;Store.find"], found["shop/orders;Orders.list"]
    yield "find for each list", find / own, 100 / 40
    if not t.live:
        yield "find, us", float(find), float(t.total("java", "find_ms") * 1000)
    profile = {name: us for name, us in found.items() if name.startswith("webshop;")}
    for stack, share in SHARES.items():
        yield stack, profile["webshop;" + stack.replace(",", ";")] / sum(profile.values()), share


@check("Is it garbage collection?", "all but Zorka")
def collections(a, t):
    for name, source in (("webshop:*", "dotnet"), ("Shop:*", "jvm")):
        row = a.row(runtime=name)
        yield source, row["paused_percent"], t.rate(source, "pause_ms" if source == "dotnet" else "gc_ms") / 10
        yield source + ", number", row["collections_per_s"], t.rate(source, "gcs")
    row = a.row(runtime="shop/orders/orders-1")
    yield "java", row["paused_percent"], t.rate("java", "gc_ms") / 2 / 10
    yield "java, number", row["collections_per_s"], t.rate("java", "gcs") / 2
    yield "dotnet, longest", a.row(runtime="webshop:*")["pause_max_ms"], 0.5
    for name in ("area", "stream"):
        row = a.row(runtime=name + ".exe:*")
        yield "mono " + name, row["collections_per_s"], t.mono(name, lambda one: one["gen0"] + one["gen1"])


@check("Of which generation?", ".NET")
def dotnet_generations(a, t):
    # As GC.CollectionCount counts: a collection of a generation is one of those below too.
    cells = {name.split("::")[1]: one["count"] for name, one in a.report().items()}
    yield "gen0", float(cells["gen0"]), t.rate("dotnet", "gcs")
    yield "gen1", float(cells["gen1"]), t.rate("dotnet", "gcs") / 2


@check("Of which generation?", "Mono")
def mono_generations(a, t):
    for generation in ("gen0", "gen1"):
        name = next(name for name in a.report() if name.startswith("stream.exe") and name.endswith(generation))
        yield generation, a.cell(name, "count"), t.mono("stream", lambda one, of=generation: one[of])


@check("Of which collector?", "JVM")
def jvm_collectors(a, t):
    [name] = [name for name in a.report() if a.report()[name]["count/s"] not in ("0.0", "N/A")]
    yield name.split("::")[1], a.cell(name, "count/s"), t.rate("jvm", "gcs")
    yield "time", a.cell(name, "time ms/s"), t.rate("jvm", "gc_ms")


@check("Or another safepoint?", "JVM")
def safepoints(a, t):
    yield "paused", a.cell("Shop:", "paused ms/s"), t.rate("jvm", "gc_ms")
    yield "stopped", a.cell("Shop:", "stopped ms/s"), t.rate("jvm", "stopped_ms")


@check("Is it the heap?", "JVM")
def heap(a, t):
    yield "used", a.cell("jvm::Shop:", "heap MB"), KNOWN.jvm["heap"] / MB
    yield "limit", a.cell("jvm::Shop:", "max MB"), float(re.search(r"-Xmx(\d+)m", KNOWN.jvm["all"]["java.rt.vmArgs"])[1])
    yield "paused", a.cell("jvm::Shop:", "paused %"), t.rate("jvm", "gc_ms") / 10


@check("Is it locks?", ".NET, Java, Mono with mono-log")
def locks(a, t):
    row = a.row(runtime="webshop:*")
    yield ".NET, waits", row["waits_per_s"], t.rate("dotnet", "waits")
    yield ".NET, waiting", row["threads_waiting"], t.rate("dotnet", "wait_ms") / 1000
    yield "Java, waiting", sum(a.row(runtime=f"shop/orders/orders-{n}")["threads_waiting"] for n in (1, 2)), t.rate("java", "wait_ms") / 1000
    row = a.row(runtime="stream.exe:*")
    yield "Mono, waits", row["waits_per_s"], t.mono("stream", lambda one: one["contended"] + one["failed"])
    yield "Mono, waiting", *within(row["threads_waiting"], *(us / 1e6 for us in waited(t, True)))


@check("Which lock?", ".NET")
def dotnet_locks(a, t):
    yield "lock", [name.split("::")[1] for name in a.report()], ["lock@10c4"]
    yield "waits", a.cell("webshop:", "waits"), t.rate("dotnet", "waits")
    yield "time", a.cell("webshop:", "time"), t.rate("dotnet", "wait_ms")


@check("Which method waits for it?", "Mono")
def mono_locks(a, t):
    rows = {name.partition("::")[2]: float(cells["waits"]) for name, cells in a.report().items() if cells["waits"] != "N/A"}
    yield "methods", sorted(name for name, waits in rows.items() if name.startswith("Shop")), ["Shop:GiveUp()", "Shop:Pay()"]
    yield "Pay", rows["Shop:Pay()"], t.mono("stream", lambda one: one["contended"])
    yield "Pay, ms", *within(a.cell(next(name for name in a.report() if "Shop:Pay" in name), "time"), *(us / 1000 for us in waited(t, False)))


@check("Is it the processor?", "JVM, Mono with mono-log")
def processor(a, t):
    # The kernel counts in ticks of 10 ms, those of user and system for themselves.
    for name in ("stream", "jvm"):
        yield name, a.row(runtime="Shop:*" if name == "jvm" else "stream.exe:*")["cpu_percent"], 100 * KNOWN.cpu.between(name, t.begin, t.end), 100 * 0.03 / t.seconds


@check("Is it the processor?", "Java")
def java_processor(a, t):
    yield "ms/s", a.cell("shop/orders/orders-1", "cpu ms/s") + a.cell("shop/orders/orders-2", "cpu ms/s"), t.rate("java", "cpu_ms")


@check("Is it the thread pool?", ".NET")
def pool(a, t):
    yield "queue", a.cell("webshop:", "queue"), 7.0
    yield "starving", a.cell("webshop:", "starving"), t.rate("dotnet", "starving")


@check("How much is allocated?", ".NET")
def allocated(a, t):
    yield "MB/s", a.row(service="webshop")["alloc_mb_per_s"], 5e6 / MB if t.live else t.all["dotnet"]["alloc"] / MB / t.seconds


@check("Which SQL?", "Zorka")
def statements(a, t):
    name = next(iter(a.report()))
    yield "the first", name.split("::")[1].replace("_", " "), "select * from orders where id = ?"
    yield "ms/s", a.cell(name, "time"), t.rate("zorka", "sql_ms")
    yield "count", a.cell(name, "count"), t.rate("zorka", "sql")


@check("Which exception?", ".NET")
def dotnet_exceptions(a, t):
    rows = {name.split("::")[1]: float(cells["thrown"]) for name, cells in a.report().items()}
    yield "types", list(rows), ["Shop.OutOfStock", "System.TimeoutException"]
    yield "stock", rows["Shop.OutOfStock"], t.rate("dotnet", "stock")
    yield "timeout", rows["System.TimeoutException"], t.rate("dotnet", "thrown") - t.rate("dotnet", "stock")


@check("Which exception?", "Zorka")
def zorka_exceptions(a, t):
    lines = a.text.splitlines()
    yield "class", "shop.NoMoney" in lines[1].split(), True
    yield "number", float([line for line in lines if line.strip()][-1].split()[-1]), t.rate("zorka", "exceptions")


@check("Which method throws?", "Mono")
def mono_exceptions(a, t):
    rows = {name.partition("::")[2]: float(cells["thrown"]) for name, cells in a.report().items()}
    yield "the first", next(iter(rows)), "Shop:Refuse(int)"
    yield "number", rows["Shop:Refuse(int)"], t.mono("stream", lambda one: one["thrown"])


@check("What does the exception say, and where was it thrown?", ".NET")
def dotnet_said(a, t):
    [one] = a.json
    yield "type", one["parameters"]["type"] in ("Shop.OutOfStock", "System.TimeoutException"), True
    yield "message", bool(re.match(r"(order|payment) \d+$", one["parameters"]["message"])), True
    if not t.live:
        yield "the last", one["parameters"]["message"], f"payment {t.all['dotnet']['beats'] - 1}"


@check("Where was the newest exception thrown?", "Mono")
def mono_said(a, t):
    [one] = a.json
    yield "method", one["parameters"]["site"] in ("Shop:Refuse(int)", "Shop:Order(int)"), True
    yield "stack", "Shop:Main ();Shop:Throw (int);Shop:Order (int)" in one["parameters"]["stack"], True


@check("What does the exception say, and where was it thrown?", "Zorka")
def zorka_said(a, t):
    [one] = a.json
    values = set(map(str, one["parameters"].values()))
    yield "class, message, method", {"shop.NoMoney", "card refused"} <= values and any("shop.Jobs.run" in value for value in values), True


@check("Which requests are slow?", "Java, Zorka")
def slow_requests(a, t):
    first, second = a.json[:2]
    yield "the first", (first["trace"].lstrip("0"), first["service"], first["operation"]), (SLOW_CALL["trace"].lstrip("0"), "shop/orders", "POST /pay/slow")
    yield "ms", first["duration_ms"], 1500.0, 0
    yield "the second", (second["trace"], second["service"], second["operation"]), (SLOW, "frontend", "http GET /page")
    yield "ms", second["duration_ms"], 1200.0, 0
    yield "spans, services, errors", (second["spans"], second["services"], second["errors"]), (5, 2, 0)
    if not t.live:
        yield "number of all", int(re.search(r"(\d+) traces", a.text)[1]), t.total("zorka", "traces") + 2 * t.all["java"]["beats"] + 1


@check("Which requests fail?", "Java, Zorka")
def failed_requests(a, t):
    yield "all failed", min(one["errors"] for one in a.json), 1
    yield "which", {(one["service"], one["operation"]) for one in a.json} <= {("billing", "http GET /job"), ("shop/orders", "POST /list"), ("shop/orders", "POST /pay")}, True
    if not t.live:
        yield "of how many", int(re.search(r"(\d+) traces", a.text)[1]), t.total("zorka", "traces") + 2 * t.all["java"]["beats"] + 1


@check("Where did this one spend its time?", "Java, Zorka")
def one_request(a, t):
    yield "id", {one["trace"] for one in a.json}, {SLOW}
    yield "spans", [(one["depth"], one["service"], one["operation"], round(one["duration_ms"])) for one in a.json], [
        (0, "frontend", "http GET /page", 1200), (1, "frontend", "http http://app1/charge", 1200), (2, "billing", "http POST /charge", 600),
        (3, "billing", "db select * from orders where id = 7", 240), (3, "billing", "db update stock set n = 8 where id = 8", 120)]


@check("Why was this call slow?", "Java, Zorka")
def slow_trees(a, t):
    first, second = a.json[:2]
    nodes = lambda one: [(node["depth"], node["method"], node["total_ms"], node["self_ms"], node["executions"]) for node in one["tree"]]
    yield "the first", (first["trace"].lstrip("0"), first["service"], first["operation"], first["duration_ms"]), (SLOW_CALL["trace"].lstrip("0"), "shop/orders", "POST /pay/slow", 1500.0)
    yield "its methods", nodes(first), [(0, "Orders.pay", 1500.0, 1500.0, 1)]
    yield "the second", (second["trace"], second["service"], second["duration_ms"]), (SLOW, "frontend", 1200.0)
    yield "its methods", nodes(second), [(0, "Front.page", 1200.0, 0.0, 1), (1, "Client.post", 1200.0, 1200.0, 1)]


@check("Which methods make slow calls slow?", "Java, Zorka")
def hot_spots(a, t):
    yield "the first", (a.json[0]["method"], a.json[0]["self_ms"]), ("Orders.pay", 1500.0)
    yield "the second", (a.json[1]["method"], a.json[1]["self_ms"], [one["method"] for one in a.json[1]["callers"]]), ("Client.post", 1200.0, ["Front.page"])


@check("Which calls were the slowest?", "Java")
def slow_calls(a, t):
    if not t.live:
        yield "the slowest", (a.json[0]["trace"].lstrip("0"), a.json[0]["operation"], a.json[0]["duration_ms"]), (SLOW_CALL["trace"].lstrip("0"), "POST /pay/slow", 1500.0)
        return
    table = a.text.partition("orders-2")[2].partition('value "')[2]
    first = next(csv.DictReader(table.splitlines()))
    yield "the slowest", (first["method"], first["title"], first["duration_ms"], first["trace_id"]), ("shop.Orders.pay", "POST /pay/slow", "1500", SLOW_CALL["trace"])


@check("What alerts me?")
def rules(a, t):
    # What clients read too late, and pauses of a busy machine, are not of the scene.
    if t.live:
        yield "true", {name for name in re.findall(r"^apm\.(\w+): true", a.text, re.M) if not name.endswith("records_lost")} - OF_THE_MACHINE, {
            "java_errors", "java_pauses", "zorka_errors", "dotnet_exceptions", "dotnet_starvation"}
        return
    told = {(words.rstrip(), name) for words, name in re.findall(r"^syslog .*? \d{4}: (\D*?) [\d./s]*\[(.*?)[\]:]", a.text, re.M)
            if "dropped unseen" not in words and words.rstrip() not in OF_THE_MACHINE}
    yield "told", told, {("Thread pool of a .NET process starves", "webshop"), ("Calls of a Java service fail", "shop/orders"), ("LTTng discards events", "shophost/shop"),
                         ("Many exceptions in a .NET process", "webshop"), ("Spans of a Zorka service fail", "billing"), ("Share of time that a JVM stands still", "shop/orders/orders-1")}


@check("What does the PMDA cost?", "")
def cost(a, t):
    cells = a.report()[""]
    resident, more = (KNOWN.rss.now(), 0) if t.live else t.window["rss"]
    yield "memory", float(cells["memory MB"]), resident / MB, more / MB
    if not t.live:
        yield "cpu %", float(cells["cpu %"]), 100 * KNOWN.cpu.between("pmda", t.begin, t.end), 100 * 0.03 / t.seconds
        yield "refused", (cells["refused/s"], cells["no name/s"], cells["no room/s"]), ("0.0", "0.0", "0.0")


@check("Is anything lost?")
def lost(a, t):
    yield "connections", {plain(name): int(value) for name, value in a.values("apm.agent.lost").items() if value != "0"}, {"mono::victim.exe": 1}
    yield "discarded", sum(map(int, a.values("apm.lttng.session.discarded").values())), 3
    yield ".NET", list(a.values("apm.dotnet.events.lost").values()), ["0"]


@check("Which events?", "LTTng")
def events(a, t):
    yield "requests", a.cell("shophost/shop::shop:request", "events"), t.rate("lttng", "requests")
