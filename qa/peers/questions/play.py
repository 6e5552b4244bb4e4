#!/usr/bin/env python3
"""Runtimes whose every figure is known, for qa/131: play.py SOURCE, one of java, zorka, dotnet, jvm, lttng, mono, gone.

Each says "ready" when all that it has is there, with a first value of each counter. Then it waits for the file $D/go: from the time in
it on, it does the same at each beat, until the time in $D/stop. What it did once (at the first beat), how often it did the rest, and
what that is each time, is then in $D/SOURCE.truth. Before and behind, all counters stand still: so an archive has steps whose sums are
exact, and while it plays each rate is the same at all times. Standard library only.
"""

import asyncio
import gzip
import json
import os
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../scene")]

D = os.environ["D"]
BEAT = 0.02
MS = 1_000_000


def time_in(name):
    """The time that the test has written into a file; `None` until then."""
    try:
        with open(os.path.join(D, name), encoding="ascii") as file:
            return float(file.read())
    except (FileNotFoundError, ValueError):
        return None


def beats(every=BEAT, late=True):
    """(number, seconds to wait before it) of each beat; late: one that is late is not left out."""
    while (begin := time_in("go")) is None:
        yield None, 0.01
    number = 0
    while True:
        at, end = begin + number * every, time_in("stop")
        if end is not None and at >= end:
            return
        wait = at - time.time()
        # The end may come meanwhile.
        if wait > 0.05:
            yield None, 0.02
            continue
        yield number, max(0, wait)
        number = number + 1 if late else max(number + 1, int((time.time() - begin) / every))


class Log:
    """When a beat was done, for who asks meanwhile."""

    def __init__(self, source):
        self.file = open(os.path.join(D, source + ".beats"), "w", encoding="ascii")

    def done(self):
        print(time.time(), file=self.file, flush=True)


def each_beat(source, work, every=BEAT, late=True):
    """Does the work at each beat: work(number). How many there were."""
    number, log = -1, Log(source)
    for number_now, wait in beats(every, late):
        time.sleep(wait)
        if number_now is not None:
            number = number_now
            work(number)
            log.done()
    return number + 1


def told(source, count, each=None, once=None, every=BEAT, **more):
    """Writes what was done, and stays."""
    path = os.path.join(D, f"{source}.truth")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"beats": count, "every": every, "each": each or {}, "once": once or {}, **more}, file)
    os.rename(path + ".new", path)
    print("told", flush=True)
    while True:
        time.sleep(60)


# What each source does at each beat. Rules of alerts that are not to be true are far from it: a busy machine does the beats of some seconds in one.
EACH = {
    "java": {"calls": 6, "errors": 2, "time_ms": 260, "list_calls": 4, "list_ms": 140, "find_ms": 100, "pay_calls": 2, "pay_ms": 120, "pause_ms": 6, "gcs": 2, "gc_ms": 2,
             "cpu_ms": sum(ms // 3 for ms in (20, 30, 30, 30, 60, 90)), "wait_ms": sum(ms // 7 for ms in (20, 30, 30, 30, 60, 90)), "calls_1": 3, "time_1_ms": 80},
    "zorka": {"front": 2, "front_ms": 80, "billing": 4, "billing_ms": 40, "errors": 1, "exceptions": 1, "sql": 1, "sql_ms": 8, "traces": 2, "charge_self_ms": 8, "charge": 1},
    "dotnet": {"gcs": 1, "pause_ms": 0.5, "thrown": 3, "stock": 2, "waits": 1, "wait_ms": 4, "starving": 1},
    "jvm": {"gcs": 1, "gc_ms": 0.4, "stopped_ms": 0.8, "jit_ms": 0.5},
    "lttng": {"events": 10, "requests": 6},
}

# Java profiler: two pods of one service.

LIST = "List shop.Orders.list(Request) (Orders.java:40) [orders.jar]"
PAY = "void shop.Orders.pay(Request) (Orders.java:77) [orders.jar]"
FIND = "List shop.Store.find(long) (Store.java:12) [orders.jar]"
SLOW_CALL = {"trace": "00c0ffee00c0ffee", "ms": 1500, "title": "POST /pay/slow", "method": "shop.Orders.pay"}


def java():
    import profiler_made
    from profiler_made import Call, _phrase, _varint
    port, titles = int(os.environ["PROFILER_PORT"]), ["profiler.title", "web.url", "web.method", "trace.id"]
    pods = {name: profiler_made.Pod(port, "shop", "orders", name, [LIST, PAY, FIND], indexed=titles) for name in ("orders-1", "orders-2")}

    def call(method, ms, failed, below, url, trace):
        return Call(method, ms, failed, below, {"profiler.title": f"POST {url}", "web.url": url, "web.method": "POST", "trace.id": trace})

    def some(name, number, slow=False):
        """Each pod: two calls that are right and one that fails; the second pod is slower."""
        pod, more, (short, long, failed) = pods[name], *((2, (30, 60, 90)) if name == "orders-2" else (1, (20, 30, 30)))
        trace = f"{(number + 1) * 8 + more:016x}"
        calls = [call(LIST, short, False, [(FIND, short - 10)], "/list", trace), call(LIST, long, False, [(FIND, long - 10)], "/list", trace),
                 call(PAY, failed, True, [], "/pay", trace)]
        if slow:
            calls.append(call(PAY, SLOW_CALL["ms"], False, [], "/pay/slow", SLOW_CALL["trace"]))
        records, blocks = zip(*(pod._call(one) for one in calls))
        pod.data("trace", b"".join(blocks))
        pod.data("calls", b"".join(records))
        # A pause of 3 ms, and 1 ms of it for a collection. The agent holds the last one back until the next.
        end = int(time.time() * 1000)
        pod.data("suspend", _phrase(_varint(max(end - pod.stopped, 3)) + _varint(3)))
        pod.stopped = max(end, pod.stopped + 3)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(end / 1000)) + ".%03d+0000" % (end % 1000)
        pod.data("gc", f"[{stamp}][{(end - pod.start) / 1000:.3f}s][info ][gc] GC({number + 2}) Pause Young (Allocation Failure) 68M->11M(247M) 1.000ms\n".encode())
        pod.flush()

    for name in pods:
        some(name, -1)
    print("ready", flush=True)
    count = each_beat("java", lambda number: [some(name, number, number == 0 and name == "orders-2") for name in pods])
    told("java", count, EACH["java"], {"calls": 1, "time_ms": 1500, "pay_calls": 1, "pay_ms": 1500, "cpu_ms": 500, "wait_ms": 214})


# Zorka: a request through two services, each beat; its statement; a job that fails.

SLOW, FAILED = "c0ffee00" + 24 * "1", "badc0de0" + 24 * "2"
STATEMENT, OTHER = "select * from orders where id = ?", "update stock set n = ? where id = ?"


def zorka():
    from zorka_made import Call, Modern
    port = int(os.environ["ZORKA_PORT"])
    front, billing = Modern(port, "frontend", "web1", app="shop"), Modern(port, "billing", "app1", app="shop")

    def request(trace, factor=1):
        ms, now = 40 * factor, int(time.time() * 1000)
        billing.send(Call("shop.Billing.charge", 20 * factor, "http", {"http.url": "/charge", "http.method": "POST", "span.kind": "SERVER"}, span=3, parent=2, calls=[
            Call("org.h2.Stmt.execute", 8 * factor, "db", {"db.type": "sql", "db.statement": STATEMENT.replace("?", "7")}, span=4, parent=3),
            Call("org.h2.Stmt.execute", 4 * factor, "db", {"db.type": "sql", "db.statement": OTHER.replace("?", "8")}, span=5, parent=3)]), trace=trace, clock=now - ms + 10)
        front.send(Call("shop.Front.page", ms, "http", {"http.url": "/page", "http.method": "GET", "span.kind": "SERVER"}, span=1, calls=[
            Call("shop.Client.post", 40 * factor, "http", {"http.url": "http://app1/charge", "span.kind": "CLIENT"}, span=2, parent=1)]), trace=trace, clock=now - ms)

    def job(trace):
        billing.send(Call("shop.Jobs.run", 8, "http", {"http.url": "/job", "http.method": "GET"}, span=9, error=("shop.NoMoney", "card refused")), trace=trace,
                     clock=int(time.time() * 1000) - 8)

    def some(number):
        if number == 0:
            request(SLOW, 30)
            job(FAILED)
        request("f0%030x" % (number * 2 + 2))
        job("f0%030x" % (number * 2 + 3))

    some(-1)
    print("ready", flush=True)
    count = each_beat("zorka", some)
    told("zorka", count, EACH["zorka"], {"front": 2, "front_ms": 2400, "billing": 4, "billing_ms": 30 * 32 + 8, "errors": 1, "exceptions": 1, "sql": 1, "sql_ms": 240,
                                         "traces": 2, "charge_self_ms": 240, "charge": 1})


# .NET: a process that collects, throws, waits, and is profiled when somebody asks.

SHARES = {"Shop.Program.Main,Shop.Orders.List,Shop.Db.Query": 12, "Shop.Program.Main,Shop.Orders.List,Shop.Json.Write": 5, "Shop.Program.Main,Shop.Health.Check": 3}


def dotnet():
    import dotnet as runtimes
    import dotnet_made
    import dotnet_processes
    counted = []
    # Shares of a hundred, in turns of twenty.
    dotnet_processes.STACKS["webshop"] = [(tuple(stack.split(",")), share) for stack, share in SHARES.items()]

    async def at_work(_stop):
        w, tick, said = dotnet_made.Writer(), 0, time.monotonic()

        def some(number, late=0):
            # As it would have been at the time of the beat: one that is late has others at its own time.
            now = time.monotonic_ns() - late
            w.gc(number + 3, depth=number % 2, pause=MS // 2, at=now - 12 * MS)
            for _ in range(2):
                w.exception("Shop.OutOfStock", f"order {number}", at=now - 2 * MS)
            w.exception("System.TimeoutException", f"payment {number}", at=now - MS)
            w.wait(4 * MS, lock=0x10C4, at=now - 8 * MS)
            w.adjustment(8, at=now)

        def levels():
            for name, value, units in (("threadpool-queue-length", 7, ""), ("threadpool-thread-count", 12, ""), ("working-set", 90, "MB"), ("gc-heap-size", 30, "MB")):
                w.counter(name, value, units)
        some(-2, 40 * MS)
        some(-1, 20 * MS)
        levels()
        w.counter("alloc-rate", 5e6, "B", mean=False)
        yield w.flush()
        print("ready", flush=True)
        log = Log("dotnet")
        for number, wait in beats():
            await asyncio.sleep(wait)
            if number is None:
                if time.monotonic() > said + 1:
                    said = time.monotonic()
                    levels()
                    yield w.flush()
                continue
            some(number, max(0, round((time.time() - time_in("go") - number * BEAT) * 1e9)))
            # Its counters come each second.
            if number % 50 == 0:
                levels()
                w.counter("alloc-rate", 5e6, "B", mean=False)
                tick += 1
            yield w.flush()
            log.done()
            counted[:] = [number + 1, tick]
        path = os.path.join(D, "dotnet.truth")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"beats": counted[0], "every": BEAT, "each": EACH["dotnet"], "once": {}, "alloc": 5e6 * counted[1]}, file)
        os.rename(path + ".new", path)
        while not _stop.is_set():
            await asyncio.sleep(0.5)
            levels()
            yield w.flush()
        yield w.end()

    one = runtimes.Runtime(at_work, *[dotnet_processes.profiled("webshop")] * 1000, name="webshop", connect=os.path.join(D, "sockets/dotnet.sock"))
    runtimes.run(runtimes.forever([one]))


# JVM: one that collects.

def entries(region):
    """The performance data of a JVM: {name: value}."""
    order, found = "<" if region[4] == 1 else ">", {}
    at, count = struct.unpack_from(order + "ii", region, 24)
    for _ in range(count):
        length, name_at, vector, kind = struct.unpack_from(order + "iiib", region, at)
        data_at = struct.unpack_from(order + "i", region, at + 16)[0]
        name = region[at + name_at:].split(b"\0")[0].decode()
        if kind == ord("J"):
            found[name] = struct.unpack_from(order + "q", region, at + data_at)[0]
        elif vector:
            found[name] = region[at + data_at:at + data_at + vector].split(b"\0")[0].decode("utf-8", "replace")
        at += length
    return found


def jvm():
    path = os.path.join(HERE, "../../corpus/jvm/captures/jdk17-g1-loaded.hsperf.gz")
    with gzip.open(path) as file:
        known = entries(file.read())
    one = subprocess.Popen([sys.executable, os.path.join(HERE, "../jvm.py"), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                           env={**os.environ, "JVM_MAIN": "Shop"})
    pid = int(one.stdout.readline().split()[1])
    ticks = known["sun.os.hrt.frequency"] // 1000
    steps = [("sun.gc.collector.0.invocations", 1), ("sun.gc.collector.0.time", ticks * 2 // 5), ("sun.rt.safepoints", 2), ("sun.rt.safepointTime", ticks * 4 // 5),
             ("java.ci.totalTime", ticks // 2)]

    def some(_number):
        one.stdin.write("".join(f"add {name} {step}\n" for name, step in steps))
        one.stdin.flush()
        for _ in steps:
            assert one.stdout.readline() == "ok\n"
    some(-1)
    spaces = [known[f"sun.gc.generation.{g}.space.{s}.used"] for g in (0, 1) for s in range(3) if f"sun.gc.generation.{g}.space.{s}.used" in known]
    with open(f"{D}/jvm.known", "w", encoding="utf-8") as file:
        json.dump({"pid": pid, "heap": sum(spaces), "all": known}, file)
    print("ready", flush=True)
    count = each_beat("jvm", some)
    told("jvm", count, EACH["jvm"])


# LTTng: a packet of ten events each 200 ms; three were discarded at the first one.

def lttng():
    import argparse
    import socket
    import threading
    import lttng_mock
    from lttng_trace import UUID, Live, padded

    class Known(Live):
        """A session that has packets as long as the scene is played."""

        packets = 0

        def __init__(self):
            super().__init__("shophost", "shop")
            self.log = Log("lttng")
            self.begun = self.ended = False

        def index(self, _stream):
            flags = 0 if self.said else 1
            # A first one, so that each class is there.
            if self.begun and not self.due_now():
                return struct.pack(">7QII", *[0] * 7, 2, flags)
            self.begun = True
            begin, end = self.fill()
            return struct.pack(">7QII", self.number * 65536, 8 * len(self.packet), 8 * len(self.packet), begin, end, self.discarded, 0, 1, flags)

        def due_now(self):
            begin, end = time_in("go"), time_in("stop")
            if begin is None or self.ended:
                return False
            at = begin + self.packets * 0.2
            if end is not None and at >= end:
                self.ended = True
                threading.Thread(target=told, args=("lttng", self.packets, EACH["lttng"], {"discarded": 3}, 0.2), daemon=True).start()
                return False
            if at > time.time():
                return False
            if self.packets == 0:
                self.discarded += 3
            self.packets += 1
            self.log.done()
            return True

        def fill(self):
            end = time.time_ns()
            begin = at = end - 150 * MS
            events = b""
            for kind in (0, 0, 0, 0, 0, 0, 1, 1, 1, 2):
                at += 10 * MS
                self.events += 1
                fields = {0: struct.pack("<Q", self.events) + b"/orders\0" + struct.pack("<iQ", 200, 900), 1: struct.pack("<Q", self.events) + b"orders\0" + struct.pack("<Q", 5),
                          2: struct.pack("<Q", self.number)}[kind]
                events += struct.pack("<IQ", kind, at) + struct.pack("<ii", 4711, 4712) + padded(b"shopd", 16) + fields
            size = 4 + 16 + 4 + 8 + 8 * 6 + 4 + len(events)
            self.number += 1
            self.packet = (struct.pack("<I", 0xC1FC1FC1) + UUID.bytes + struct.pack("<IQ", 0, 0) +
                           struct.pack("<6QI", begin, end, 8 * size, 8 * size, self.number, self.discarded, 0) + events)
            return begin, end

    options = argparse.Namespace(directory=[], base=1, period=0, minor=15, host=None, clients=False, slow=0, truncate=0, close=0, oversize=0, garbage=0)
    relayd = lttng_mock.Relayd(options)
    relayd.sessions = [Known()]
    listener = socket.create_server(("127.0.0.1", int(os.environ["RELAY_PORT"])))
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=relayd.converse, args=(connection,), daemon=True).start()


# Mono: a real program without any option, and one with mono-log. What they did is what they have counted.

def mono():
    programs = {name: subprocess.Popen([*line, f"{D}/{os.environ['MONO_PREFIX']}{name}.exe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                       env={**os.environ, "LD_LIBRARY_PATH": f"{D}/lib", "LC_ALL": "C"})
                for name, line in (("area", ["mono"]), ("stream", [f"{D}/lib/mono-log", "--address", f"127.0.0.1:{os.environ['MONO_PORT']}", "--options", os.environ["LOG_OPTIONS"], "--"]))}
    pids = {name: json.loads(one.stdout.readline())["pid"] for name, one in programs.items()}
    asked, log = {}, open(f"{D}/mono.asked", "w", encoding="utf-8")

    def ask(one, line):
        one.stdin.write(line + "\n")
        one.stdin.flush()
        return json.loads(one.stdout.readline())

    def some(number):
        for name, one in programs.items():
            # Samples of a program that never rests for a second come when Mono has 64 kB of them: those of the first time are there at once.
            for line in ["collect 4 2", "throw 15", "lock 2 40", "burn 40" if number >= 0 or name == "area" else "burn 2000"]:
                ask(one, line)
                asked[name] = ask(one, "total")
                print(json.dumps({"at": time.time(), "name": name, **asked[name]}), file=log, flush=True)
    some(-1)
    before = dict(asked)
    print("ready", *pids.values(), flush=True)
    # It has counted what it did, and on a busy machine it does less.
    count = each_beat("mono", some, 0.4, late=False)
    told("mono", count, every=0.4, pids=pids, before=before, after=asked)


def gone():
    """An agent of Mono that ends with what is no protocol."""
    import agent
    a = agent.Agent(["GC/Minor GC collections:i"], program="victim.exe", pid=7)
    a.sample(1)
    print("ready", flush=True)
    agent.wait_file("kill", 600)
    a.send(b"\xff" * 64)
    told("gone", 0)


if __name__ == "__main__":
    {"java": java, "zorka": zorka, "dotnet": dotnet, "jvm": jvm, "lttng": lttng, "mono": mono, "gone": gone}[sys.argv[1]]()
