#!/usr/bin/env python3
"""A pmproxy that is none: made values of every metric, hostile names, or an answer that is no answer.

usage: page_proxy.py CATALOGUE.json [--services N] [--pods N] [--hostile]     prints its port

CATALOGUE.json is what `pmdaapm --catalogue` prints. GET /mode?set=MODE changes how it answers from then on:
ok, html, empty, shapes, errors, cut, slow, refused (no event records), treeless (no trees of calls), away (pmcd without apm), zero (counters
begin again), idle (no runtime). GET /seen has what was asked since the last look: {path: requests}, and the number
of connections, how many tables of records one answer had at most, and how many requests of /pmapi were there at once at most.
"""
import argparse
import json
import math
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

HOSTILE = [
    "<img src=x onerror=window.pwned=1>", "\"><script>window.pwned=1</script>", "</script><script>window.pwned=1</script>",
    "javascript:window.pwned=1", "{{constructor.constructor('window.pwned=1')()}}", "a\u202eb\u0000c", "__proto__", "constructor", "x" * 600,
]
DYNAMIC = {
    f"apm.mono.{tree}.{name}": ("u64", sem, units)
    for tree in ("counter", "program.counter")
    for name, sem, units in (
        ("gc.minor_gc_time", "counter", "nanosec"), ("gc.major_gc_time", "counter", "nanosec"),
        ("gc.minor_gc_collections", "counter", "count"), ("gc.major_gc_collections", "counter", "count"),
        ("gc.memgov_alloc", "instant", "byte"), ("system.user_time", "counter", "nanosec"), ("system.system_time", "counter", "nanosec"))
    if (tree, sem) != ("program.counter", "instant")
}
# What a counter of this name grows by in a second, and what a gauge of it is about.
RATES = [
    ("stack.time", 4e7), ("method.time", 6e7), ("gc.pause.total", 2.5e7), ("gc.pause.time", 2.5e7), ("lock.top.time", 3e7), ("lock.time", 3e8), ("restarts", 0), ("minor_gc_time", 3e7), ("major_gc_time", 8e6), ("suspend.time", 4e7),
    ("user_time", 4e8), ("system_time", 9e7), ("cpu", 5e8), (".time", 9e8), ("errors", 0.4), ("exceptions", 1.5), ("exception", 0.8),
    ("lost", 0), ("self.panics", 0), ("refused", 0), ("rejected", 0), ("denied", 0), ("memory", 4e6), ("alloc", 3e7), ("bytes", 5e4), ("histogram", 3),
    ("collections", 3), ("gc", 4), ("count", 25), ("", 12),
]
GAUGES = [
    ("instances", 3), ("p50", 9e6), ("p95", 6e7), ("p99", 2.4e8), ("max", 9e8), ("latency", 4e5), ("idle", 4e8), ("heap", 6e7), ("memgov", 4e7), ("limit", 5e8), ("rss", 3e7),
    ("memory", 6e6), ("threads", 12), ("pods", 3), ("agents", 2), ("processes", 2), ("streams", 4), ("up", 1), ("", 7),
]
# Which sources have a leaf of apm.service.
KINDS = [("calls", ("profiler", "zorka")), ("latency", ("profiler", "zorka")), ("gc", ("profiler", "dotnet", "mono")), ("exceptions", ("zorka", "dotnet", "mono")),
         ("lock", ("profiler", "dotnet", "mono")), ("cpu", ("dotnet", "mono")), ("alloc", ("dotnet",)), ("jit", ("dotnet",)), ("restarts", ("mono",))]
FRAMES = ["OrderController.list", "OrderStore.ofCustomer", "PgStatement.execute", "Json.write", "Template.render", "Pool.borrow", "HttpClient.send", "Cache.get"]
EDGES = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]


def buckets(scale):
    return [f"{low * scale}-{high * scale}" for low, high in zip(EDGES, EDGES[1:])]


class Host:
    """The metrics of a host, and their values at a time."""

    def __init__(self, catalogue, services, pods, hostile):
        self.metrics = {m["name"]: (m["type"].lower(), m["semantics"], m["units"], m.get("indom") or "") for m in catalogue}
        self.metrics.update({name: (*about, "mono" if ".counter." in name and "program" not in name else "program") for name, about in DYNAMIC.items()})
        self.began = time.time()
        self.hostile = hostile
        self.domains = {}
        names = [f"{space}/{name}" for space in ("shop", "bank", "lab") for name in ("orders", "stock", "billing", "search", "mail")]
        names = [names[i] if i < len(names) else f"farm/service-{i:04}" for i in range(services)]
        if hostile:
            names[:0] = HOSTILE
        self.pods, self.services, self.short = pods, names, [name.split("/")[-1] if not hostile else name for name in names]

    def instances(self, name, indom):
        key = (name.split(".")[1], indom, name.rsplit(".", 2)[-2])
        if key not in self.domains:
            self.domains[key] = self.made(name, indom)
        return self.domains[key]

    def made(self, name, indom):
        source = name.split(".")[1]
        services = self.services if source == "profiler" else self.short
        agents = [f"{s}/pod-{n}" if source in ("profiler", "zorka") else f"{s}:{4000 + n}" for s in services for n in range(self.pods)]
        if name.startswith("apm.agent."):
            rows = [f"profiler::{s}/pod-{n}" for s in self.services for n in range(self.pods)]
            rows += [f"{kind}::{s}:{4000 + n}" for kind in ("dotnet", "mono") for s in self.short[:40] for n in range(self.pods)]
            return rows + [f"zorka::{s}/web{n}" for s in self.short[:40] for n in range(self.pods)] + ["lttng::web1/live", "toy::x:1"]
        if source == "runtime":
            return [row for row in self.made("apm.agent.up", "agent") if not row.startswith("lttng")]
        if name.startswith("apm.service."):
            # Those of the profiler have plain names and a label, the others the source before it, as where two sources have one name.
            kinds = next((kinds for leaf, kinds in KINDS if leaf in name), ("profiler", "zorka", "dotnet", "mono"))
            return [s if kind == "profiler" else f"{kind}::{s}" for kind in kinds for s in (self.services if kind == "profiler" else self.short)]
        if ".service." in name or ".program." in name:
            if "histogram" in name:
                return [f"{s}::{b}" for s in services[:60] for b in buckets(1 if source == "profiler" else 1000)]
            if ".stack." in name:
                return [",".join([s, *FRAMES[i % 5:i % 5 + depth]]) for s in services[:60] for i in range(5) for depth in (1, 2, 3)]
            if ".method." in name or "by_type" in name:
                return [f"{s}::{f}" for s in services[:60] for f in FRAMES]
            return services
        if source == "lttng":
            return ["web1/live"] if ".class." not in name else [f"web1/live::{'shop:' if not self.hostile else HOSTILE[0]}{e}" for e in ("request", "query", "tick")]
        if indom == "stack":
            return [f"{a}::{','.join(FRAMES[n:n + 3])}" for a in agents[:120] for n in range(3)]
        if indom in ("lock", "exception", "site", "class", "generation", "method"):
            return [f"{a}::{f}" for a in agents[:120] for f in FRAMES[:3]] if indom != "class" else [f"shop.{f}" for f in FRAMES]
        return agents if indom else [""]

    def trace_table(self, instance):
        """Spans of an agent of Zorka, of traces whose every figure is known. Of trace n of the first 20: the first service calls the second for 3 of 8 ms
        and the third for 2 ms, which fails if n is odd, and of which no other has a record; the slowest takes 8 + n ms. The last trace has 900 spans
        of the first service. Started a minute ago."""
        rows, at = ["time,agent,duration_ms,service,type,method,status,thread,calls,trace,span,parent,fields"], self.short.index(instance.rsplit("/", 1)[0])
        if not instance.endswith("pod-0") or at > 2:
            return rows[0] + "\n"
        began = self.began - 60
        word = (lambda text: HOSTILE[at].replace('"', "”").replace("\0", "")[:60].replace(",", ";")) if self.hostile else (lambda text: text)

        def row(trace, n, late, ms, span, parent, more, error=False):
            when = began + n + late / 1000
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when)) + f".{int(when % 1 * 1e9):09}Z"
            service = instance.rsplit("/", 1)[0].replace(",", ";")
            rows.append(f"{stamp},{instance.replace(',', ';')},{ms},{service},http,Shop.do,{'error' if error else 'ok'},main,1,{trace},{span},{parent},\"{word(more)}\"")

        for n in range(20):
            trace = f"{word('')}{n:02}" if self.hostile else f"4bf92f3577b34da6a3ce929d0e0e47{n:02}"
            if at == 0:
                row(trace, n, 0, 8 + n, f"a{n:02}", "-", "http.method=GET http.url=/page/a=b")
            elif at == 1:
                row(trace, n, 1, 3, f"b{n:02}", f"a{n:02}", f"db.type=sql db.statement=select * from orders where id = {n}")
            else:
                row(trace, n, 5, 2, f"c{n:02}", f"a{n:02}", "exception.class=shop.NoMoney exception.message=card refused, again exception.frame=Pay.do(Pay.java:7)", error=n % 2)
                row(trace, n, 6, 0.5, f"d{n:02}", "ffff", "http.url=/lost")
        for n in range(900 if at == 0 else 0):
            row("9" * 32, 0, n, 1.5, f"e{n:03}", "-" if n == 0 else f"e{n - 1:03}" if n < 40 else "e000", f"http.url=/many/{n}")
        return "\n".join(rows) + "\n"

    def tree_table(self, instance, source):
        """Trees of slow calls: of the first service those of the roots of the first 20 traces, whose times are those of trace_table. Of Java one of each pod."""
        head = "time,agent,duration_ms,service,method,suspended_ms,nodes,thread,trace,span,tree" if source == "zorka" else "time,pod,duration_ms,method,suspended_ms,nodes,thread,trace_id,tree"
        rows, service, pod = [head], instance.rsplit("/", 1)[0], instance.replace(",", ";")
        word = (HOSTILE[0] if self.hostile else "Shop.do").replace(",", ";").replace(" ", "_")
        stamp = lambda when: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when)) + f".{int(when % 1 * 1e9):09}Z"
        if source == "profiler":
            tree = f"0,400000,100000,50000,1,{word} 1,200000,190000,40000,3,Store.find 2,10000,10000,0,7,Pool.borrow 1,97000,97000,,2,Json.write 1,2000,2000,,1,A.b 1,1000,1000,,4,B.c"
            rows.append(f"{stamp(self.began - 30)},{pod},400,{word},50,6,http-1,4bf92f3577b34da6,\"{tree}\"")
        elif instance.endswith("pod-0") and self.short.index(service) == 0:
            for n in range(20):
                tree = f"0,{8000 + n * 1000},{5000 + n * 1000},,1,{word} 1,3000,3000,,1,Http.get"
                trace = f"4bf92f3577b34da6a3ce929d0e0e47{n:02}"
                rows.append(f"{stamp(self.began - 60 + n)},{pod},{8 + n},{service.replace(',', ';')},{word},-,2,main,{trace},a{n:02},\"{tree}\"")
        return "\n".join(rows) + "\n"

    def text(self, name, instance):
        if ".event.tree." in name and name.endswith((".table", ".slowest")):
            return self.tree_table(instance, name.split(".")[1])
        if name.startswith("apm.zorka.event.span.") and name.endswith((".table", ".slowest")):
            return self.trace_table(instance)
        if name.endswith((".table", ".slowest")):
            rows = ["time,pod,duration_ms,method,title,status,trace_id,fields"]
            now = time.time()
            for i in range(20):
                stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now - i)) + f".{i:03}000000Z"
                title = HOSTILE[i % 6].replace('"', "”").replace("\0", "") if self.hostile else f"GET /orders/{i}"
                rows.append(f"{stamp},{instance.replace(',', ';')[:80]},{(i * 37) % 400 + 0.25},{FRAMES[i % 8]},\"{title}\",200,4bf92f3577b34da6,\"user=u{i}, items={i}\"")
            return "\n".join(rows) + "\n"
        if name.endswith(".source"):
            return instance.split("::")[0]
        if name.endswith("agent.state"):
            return "gone 3 min ago: connection reset" if instance.endswith("1") and "pod" in instance else "sending"
        if name.endswith("agent.service"):
            kind, rest = instance.split("::", 1)
            service = rest.rsplit("/", 1)[0] if kind in ("profiler", "zorka") else rest.rsplit(":", 1)[0]
            return "" if kind == "lttng" else f"{kind}::{service}"
        if name.endswith(".since"):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.began))
        if name.endswith("session.state"):
            return "reading"
        return HOSTILE[0] if self.hostile else "127.0.0.1:40000"

    def value(self, name, about, instance, t):
        kind, semantics = about[:2]
        if kind == "string":
            return self.text(name, instance)
        spread = 0.3 + (hash_of(name.rsplit(".", 1)[0] + instance) % 100) / 70
        if name == "apm.self.uptime":
            return int(t * 1e9)
        if name == "apm.agent.up":
            return 0 if instance.endswith("1") and "pod" in instance else 1
        if semantics == "counter":
            rate = next(r for key, r in RATES if key in name) * spread
            return int(rate * (t + 20 * math.sin(t / 20 + spread)) + 30 * rate)
        return int(next(g for key, g in GAUGES if key in name) * spread * (1 + 0.25 * math.sin(t / 9 + spread * 7)))


def hash_of(text):
    n = 0
    for c in text[:80]:
        n = (n * 131 + ord(c)) % 1000003
    return n


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host = None
    mode = "ok"
    seen = {}
    connections = 0
    contexts = set()
    profiles = {}
    tables = running = beside = 0
    lock = threading.Lock()

    def setup(self):
        super().setup()
        with Proxy.lock:
            Proxy.connections += 1

    def log_message(self, *_):
        pass

    def answer(self, body, status=200, kind="application/json", cut=False):
        data = body.encode("utf-8", "surrogatepass")
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) + 50 * cut))
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = self.close_connection or cut

    def do_GET(self):
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/mode":
            if query["set"] == "zero":
                self.host.began = time.time()
            Proxy.contexts.clear()
            Proxy.mode = query["set"]
            return self.answer("{}")
        if url.path == "/seen":
            with Proxy.lock:
                seen, Proxy.seen = Proxy.seen, {}
                tables, Proxy.tables = Proxy.tables, 0
                beside, Proxy.beside = Proxy.beside, Proxy.running
            return self.answer(json.dumps({"paths": seen, "connections": Proxy.connections, "tables": tables, "beside": beside}))
        with Proxy.lock:
            Proxy.seen[url.path] = Proxy.seen.get(url.path, 0) + 1
        if len(self.path) >= 8192:
            return self.answer('{"message":"address too long","success":false}', 414)
        odd = {
            "html": ("<html><script>window.pwned=1</script>It works!</html>", 200, "text/html"), "empty": ("", 200), "errors": ('{"message":"<b>no</b>","success":false}', 500),
            "cut": ('{"context":1,"val', 200), "shapes": (["[]", "null", "7", '{"context":"x"}', '{"context":3,"values":{"a":1},"metrics":7}'][sum(Proxy.seen.values()) % 5], 200),
        }.get(Proxy.mode)
        if odd:
            return self.answer(*odd, cut=Proxy.mode == "cut")
        if Proxy.mode == "slow":
            time.sleep(30)
        if not url.path.startswith("/pmapi/"):
            return self.answer(*self.reply(url.path, query))
        with Proxy.lock:
            Proxy.running += 1
            Proxy.beside = max(Proxy.beside, Proxy.running)
        try:
            body, status = self.reply(url.path, query)
            # As long as a real one takes: who asks meanwhile is seen.
            time.sleep(0.02)
        finally:
            # Before the answer: who has it may ask again at once.
            with Proxy.lock:
                Proxy.running -= 1
        return self.answer(body, status)

    def reply(self, path, query):
        host = self.host
        if path == "/pmapi/context":
            context = len(Proxy.contexts) + 1000
            Proxy.contexts.add(context)
            name = HOSTILE[0] if host.hostile else "web1"
            return json.dumps({"context": context, "hostspec": name, "labels": {"hostname": name}}), 200
        if path.startswith("/series/"):
            return "[]", 200
        if int(query.get("context", 0)) not in Proxy.contexts:
            return json.dumps({"context": 1, "message": "unknown context identifier: " + query.get("context", ""), "success": False}), 400
        names = [n for n in query.get("names", query.get("name", "")).split(",") if n]
        if "pmids" in query:
            by_id = {str(hash_of(n)): n for n in host.metrics}
            names = [by_id[i] for i in query["pmids"].split(",") if i in by_id]
        if path == "/pmapi/metric":
            found = [self.described(n) for n in names]
            return json.dumps({"context": 1, "metrics": found}), 200
        if path == "/pmapi/indom":
            about = host.metrics[names[0]]
            return json.dumps({"context": 1, "instances": [{"instance": i, "name": n, "labels": {"source": "profiler"} if "::" not in n else {}} for i, n in enumerate(host.instances(names[0], about[3]))]}), 200
        if path == "/pmapi/profile":
            # As PCP's: `add` without an instance is all of them.
            chosen = {int(i) for i in query.get("instance", "").split(",") if i} or None
            Proxy.profiles[query["context"]] = set() if query["expr"] == "del" else chosen
            return '{"success":true}', 200
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        t = seconds + nanoseconds / 1e9 - host.began + 1
        only = Proxy.profiles.get(query["context"])
        values = [self.values(n, t, only) for n in names if n in host.metrics and Proxy.mode != "away"]
        # As PCP's: nanoseconds without their leading zeros.
        return f'{{"context":1,"timestamp":{seconds}.{nanoseconds},"values":{json.dumps(values)}}}', 200

    def described(self, name):
        if name not in self.host.metrics or Proxy.mode == "away":
            return {"name": name, "message": "Unknown metric name", "success": False}
        kind, semantics, units, indom = self.host.metrics[name]
        instances = name.split(".")[1] + indom + name.rsplit(".", 2)[-2]
        found = {"name": name, "pmid": str(hash_of(name)), "type": kind, "sem": semantics, "units": units, "text-oneline": HOSTILE[0]}
        return {**found, "indom": instances} if indom else found

    def values(self, name, t, only):
        about = self.host.metrics[name]
        instances = self.host.instances(name, about[3])
        if (Proxy.mode in ("refused", "treeless") and name.endswith((".table", ".slowest")) and (Proxy.mode == "refused" or ".event.tree." in name)) or (Proxy.mode == "idle" and about[3]):
            instances = []
        if not about[3]:
            return {"name": name, "instances": [{"instance": None, "value": self.host.value(name, about, "", t)}]}
        chosen = [(i, n) for i, n in enumerate(instances) if only is None or i in only]
        if name.endswith((".table", ".slowest")):
            Proxy.tables = max(Proxy.tables, len(chosen))
        return {"name": name, "instances": [{"instance": i, "value": self.host.value(name, about, n, t)} for i, n in chosen]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catalogue")
    parser.add_argument("--services", type=int, default=6)
    parser.add_argument("--pods", type=int, default=3)
    parser.add_argument("--hostile", action="store_true")
    given = parser.parse_args()
    with open(given.catalogue, encoding="utf-8") as file:
        Proxy.host = Host(json.load(file)["metrics"], given.services, given.pods, given.hostile)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
