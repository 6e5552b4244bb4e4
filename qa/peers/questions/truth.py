"""What is true of the scene of qa/131: what its runtimes (play.py) did, and what the kernel says of them."""

import calendar
import collections
import json
import os
import re
import sys
import threading
import time
import types

sys.dont_write_bytecode = True
from play import D, EACH, SHARES as PARTS  # noqa: E402

PREFIX = os.environ["MONO_PREFIX"]
MB = float(1 << 20)
SHARES = {stack: part / 20 for stack, part in PARTS.items()}
# Rules that a real runtime keeps or breaks as its machine is: a stall while it collects is a long pause. Their names and their words.
OF_THE_MACHINE = {"mono_gc_share", "mono_pauses", "Share of time in Mono's garbage collections", "Share of time in Mono's garbage collection pauses"}
# What ask.py knows of processes: cpu (Processor), rss (Resident), jvm (what play.py has read of its performance data).
KNOWN = types.SimpleNamespace(cpu=None, rss=None, jvm=None)


def read(name):
    with open(os.path.join(D, name), encoding="utf-8") as file:
        return file.read()


def details(text):
    with open(os.environ.get("APM_FULL") or os.devnull, "a", encoding="utf-8") as file:
        print(time.strftime("%H:%M:%S"), text, file=file)


class Truth:
    """What the scene does, a second: of an archive between `begin` and `end`, which have all of it; while it plays between those of an answer."""

    SOURCES = ("java", "zorka", "dotnet", "jvm", "lttng", "mono")

    def __init__(self, live):
        self.live, self.all = live, {}
        if live:
            self.begin = self.end = time.time()
        else:
            self.window = json.loads(read("window"))
            self.begin, self.end = self.window["begin"], self.window["end"]
            self.all = {source: json.loads(read(source + ".truth")) for source in self.SOURCES}

    @property
    def seconds(self):
        return self.end - self.begin

    def at(self, begin, end):
        """The same of another time."""
        other = Truth(True)
        other.begin, other.end = begin, end
        return other

    def rate(self, source, key):
        """What a source did."""
        if not self.live:
            return self.total(source, key) / self.seconds
        done = [at for at in map(float, read(source + ".beats").splitlines()) if self.begin < at <= self.end]
        return EACH[source][key] * len(done) / self.seconds

    def total(self, source, key):
        """What it did in all of the time."""
        one = self.all[source]
        return one["each"].get(key, 0) * one["beats"] + one["once"].get(key, 0)

    def mono(self, name, get):
        """What a program of Mono has counted: get(its totals)."""
        if not self.live:
            one = self.all["mono"]
            return (get(one["after"][name]) - get(one["before"][name])) / self.seconds
        asked = [one for one in map(json.loads, read("mono.asked").splitlines()) if one["name"] == name]
        then = lambda time_: get(([one for one in asked if one["at"] <= time_] or asked)[-1])
        return (then(self.end) - then(self.begin)) / self.seconds


def stamp(text):
    """Seconds since 1970 of a time in JSON."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float("0" + text[19:].rstrip("Z") if text[19] == "." else 0)


def waited(t, all_of_them):
    """The least and the most that threads of the Mono program waited, in us: the lock is held for 100 ms, and tried for 5; its own clock begins before."""
    least = t.mono("stream", lambda one: one["contended"] * 100_000 + (one["failed"] * 5_000 if all_of_them else 0))
    return least, t.mono("stream", lambda one: one["waited_us"] + (one["hastily_us"] if all_of_them else 0))


def within(got, least, most):
    """What was got, and what is true and nearest to it."""
    return got, min(max(got, least), most)


class Processor(threading.Thread):
    """Processor time of some processes, each tenth of a second."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.seen = pids, {name: [] for name in pids}

    def run(self):
        while True:
            for name, pid in self.pids.items():
                try:
                    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                        fields = file.read().rsplit(")", 1)[1].split()
                    self.seen[name].append((time.time(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")))
                except OSError:
                    pass
            time.sleep(0.1)

    def between(self, name, begin, end):
        """Seconds of it a second."""
        then = lambda at: min(self.seen[name], key=lambda one: abs(one[0] - at))
        (first, was), (last, now) = then(begin), then(end)
        return (now - was) / (last - first)


class Resident:
    """Resident memory of the PMDA, and what it was of late: it gives memory back, and threads come and go."""

    def __init__(self, pid):
        self.pid, self.seen = pid, collections.deque(maxlen=200)
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self):
        while True:
            try:
                self.seen.append((time.time(), self.now()))
            except OSError:
                return
            time.sleep(0.1)

    def since(self, begin):
        """(the middle of what it was from then on, how much more or less it was)"""
        some = [bytes for at, bytes in list(self.seen) if at >= begin] + [self.now()]
        return (max(some) + min(some)) / 2, (max(some) - min(some)) / 2

    def now(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s*(\d+)", file.read())[1]) * 1024
