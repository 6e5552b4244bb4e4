"""Good agents of a soak, which know what they have sent: good.py FOLDER PHASE SECONDS. Four Mono processes, three Java pods and three
Zorka agents work at their own rates; after SECONDS they have sent all, write lines "METRIC INSTANCE VALUE" to
FOLDER/good-PHASE, and stay until there is FOLDER/over-PHASE. The ports are MONO_PORT, PROFILER_PORT and ZORKA_PORT."""

import os
import random
import sys
import threading
import time

from agent import Agent
from profiler_made import Call as Root, Pod
from zorka_made import Call, Modern

folder, phase, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
end, facts, faults = time.monotonic() + seconds, [], []


def each(number, rate, dice):
    """Moments at which something is sent, until the end: at least one."""
    yield
    while time.monotonic() < end:
        time.sleep(dice.expovariate(rate))
        yield


def mono(number, dice):
    name, pid = f"good{number}.exe", 1_000_000 + 10 * int(phase) + number
    agent, sent = Agent(["PerfCounters/Sequence"], program=name, pid=pid), 0
    for _ in each(number, 20, dice):
        sent += 1
        agent.sample(sent)
    facts.append(("apm.mono.samples", f"{name}:{pid}", sent))
    facts.append(("apm.mono.counter.perfcounters.sequence", f"{name}:{pid}", sent))
    return agent


def pod(number, dice):
    name = f"pod-{phase}-{number}"
    agent, sent, failed = Pod(int(os.environ["PROFILER_PORT"]), "soak", "good", name, ["a.B.c", "d.E.f"]), 0, 0
    for _ in each(number, 5, dice):
        calls = [Root(dice.choice(["a.B.c", "d.E.f"]), dice.randrange(1, 400), dice.random() < 0.1) for _ in range(dice.randrange(1, 20))]
        agent.calls(calls)
        sent, failed = sent + len(calls), failed + sum(call.failed for call in calls)
    facts.append(("apm.profiler.call.count", f"soak/good/{name}", sent))
    facts.append(("apm.profiler.call.errors", f"soak/good/{name}", failed))
    return agent


def zorka(number, dice):
    name = f"good-{phase}-{number}"
    agent, sent = Modern(int(os.environ["ZORKA_PORT"]), name, "host1"), 0
    for _ in each(number, 10, dice):
        calls = [Call("shop.Orders.list", 1.5, "http", {"http.url": "/orders", "http.method": "GET"}) for _ in range(dice.randrange(1, 10))]
        agent.send(*calls)
        sent += len(calls)
    facts.append(("apm.zorka.span.count", f"{name}/host1", sent))
    return agent


def run(kind, number):
    try:
        keep.append(kind(number, random.Random(f"{phase} {kind.__name__} {number}")))
    except Exception as e:  # noqa: BLE001
        faults.append(f"fault {kind.__name__} {number} {e!r}".replace("\n", " "))


keep = []
threads = [threading.Thread(target=run, args=(kind, n)) for kind, many in ((mono, 4), (pod, 3), (zorka, 3)) for n in range(many)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
path = os.path.join(folder, f"good-{phase}")
with open(path + ".new", "w") as out:
    out.writelines(" ".join(map(str, fact)) + "\n" for fact in sorted(facts))
    out.writelines(fault + "\n" for fault in faults)
os.rename(path + ".new", path)
while not os.path.exists(os.path.join(folder, f"over-{phase}")):
    time.sleep(0.1)
