#!/usr/bin/env python3
"""Twenty Zorka agents of three services, modern ones and registered ones, that come, leave and come back. Steps are files step.N in
the directory D of the environment; after each, expected.NAME.N has what the services must have. Standard library only."""

import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import services  # noqa: E402
from zorka_made import TICK, Call, Legacy, Modern  # noqa: E402

PORT, D = int(os.environ["ZORKA_PORT"]), os.environ["D"]
SERVICES = {"frontend": 8, "orders": 7, "billing": 5}
agents, known, registered = {}, services.Services(), {}


def connect(service, n):
    if service != "billing":
        agents[service, n] = Modern(PORT, service, f"web{n}", f"{service}{n}".ljust(16, "0")[-16:])
    elif (service, n) in registered:
        agents[service, n] = registered[service, n]
    else:
        agents[service, n] = registered[service, n] = Legacy(PORT, f"billing/app{n}", "billing")


def play(dice):
    for (service, n), agent in agents.items():
        calls = []
        for _ in range(40 + 9 * n):
            ns = TICK * max(2, int(dice.lognormvariate(3 + n / 2, 1)))
            below = ns // TICK // 2 * TICK
            method, failed = f"{service}.C{dice.randrange(3)}.run", dice.random() < 0.1
            inner = Call(f"{service}.Db.ask", below / 1e6)
            error = ("java.io.IOException", "no") if failed else None
            calls.append(Call(method, ns / 1e6, dice.choice(["http", "job"]), {}, [inner], error))
            short = method.split(".", 1)[1]
            known.call(service, ns, failed, [(method, ns, failed), (f"{service}.Db.ask", below, False)],
                       [(short, ns - below), (f"{short},Db.ask", below)], {"exceptions": int(failed)})
        for at in range(0, len(calls), 20):
            agent.send(*calls[at:at + 20])


def present():
    return {service: sum(of == service for of, _ in agents) for service in SERVICES}


steps = services.Steps(D, "agents", known, present, play, 78)
dice = random.Random(78)
everyone = [(service, n) for service, count in SERVICES.items() for n in range(count)]
for key in everyone:
    connect(*key)
play(dice)
steps.done(1)
steps.wait(2)
for key in everyone[::2]:
    agents.pop(key).close()
play(dice)
steps.done(2)
steps.wait(3)
registered.clear()
for key in everyone[::2]:
    connect(*key)
play(dice)
steps.done(3)
steps.wait(4)
for key in everyone[:5]:
    agents.pop(key).close()
steps.done(4)
steps.wait(5)
for key in everyone[:5]:
    connect(*key)
play(dice)
steps.done(5)
steps.wait(6)
for agent in agents.values():
    agent.close()
agents.clear()
steps.done(6)
steps.wait(7)
# The PMDA was killed: counters begin anew.
known = steps.known = services.Services()
registered.clear()
for key in everyone:
    connect(*key)
play(random.Random(78))
steps.done(7)
steps.wait(8)
