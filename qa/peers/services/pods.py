#!/usr/bin/env python3
"""Twenty Java pods of three services that come, leave, connect twice and come back. Steps are files step.N in
the directory D of the environment; after each, expected.NAME.N has what the services must have. Standard library only."""

import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import services  # noqa: E402
from profiler_made import Call, Pod  # noqa: E402

PORT, D = os.environ["PROFILER_PORT"], os.environ["D"]
SERVICES = {"shop/orders": 9, "shop/stock": 7, "lab/orders": 4}
pods, known = {}, services.Services()


def word(service, n):
    return f"void {service.replace('/', '.')}.C{n}.run(int) (C{n}.java:1) [x.jar]"


def names(service):
    return [word(service, n) for n in range(4)]


def connect(service, n, start):
    namespace, name = service.split("/")
    pods[service, n] = Pod(PORT, namespace, name, f"{name}-{n}", names(service), start)


def some(service, n, dice):
    """Calls of a pod, different for each pod and each time."""
    calls = []
    for _ in range(60 + 17 * n):
        method = dice.randrange(3)
        ms = max(1, int(dice.lognormvariate(2 + n / 3, 1)))
        below = [(word(service, 3), ms // 2)] if method else []
        calls.append(Call(word(service, method), ms, dice.random() < 0.1, below))
    return calls


def play(dice):
    for (service, n), pod in pods.items():
        calls = some(service, n, dice)
        for at in range(0, len(calls), 50):
            pod.calls(calls[at:at + 50])
        for call in calls:
            name = call.method.split("(")[0].split()[1]
            short = ".".join(name.split(".")[-2:])
            stacks = [(short, call.ms * 10**6 - sum(ms for _, ms in call.below) * 10**6)]
            stacks += [(f"{short},C3.run", ms * 10**6) for _, ms in call.below]
            more = {"cpu": call.cpu * 10**6, "wait": call.wait * 10**6, "memory": call.memory}
            known.call(service, call.ms * 10**6, call.failed, [(name, call.ms * 10**6, call.failed)], stacks, more)


def present():
    return {service: sum(of == service for of, _ in pods) for service in SERVICES}


START = int(time.time() * 1000) - 200_000
steps = services.Steps(D, "pods", known, present, play, 77)
dice = random.Random(77)
everyone = [(service, n) for service, count in SERVICES.items() for n in range(count)]
for service, n in everyone:
    connect(service, n, START + n)
play(dice)
steps.done(1)
steps.wait(2)
# Every other pod leaves; half of these without a word.
for at, key in enumerate(everyone[::2]):
    pods.pop(key).leave(at % 2 == 0)
play(dice)
steps.done(2)
steps.wait(3)
for key in everyone[::2]:
    connect(*key, START + key[1])
# Of three pods the old connection is still there.
old = [pods[key] for key in everyone[1:6:2]]
for key in everyone[1:6:2]:
    connect(*key, START + key[1])
play(dice)
steps.done(3)
steps.wait(4)
for key in everyone[:5]:
    pods.pop(key).leave(False)
steps.done(4)
steps.wait(5)
for key in everyone[:5]:
    connect(*key, START + key[1])
play(dice)
steps.done(5)
steps.wait(6)
for pod in pods.values():
    pod.leave()
pods.clear()
steps.done(6)
steps.wait(7)
# The PMDA was killed: counters begin anew.
known = steps.known = services.Services()
for key in everyone:
    connect(*key, START + key[1])
play(random.Random(77))
steps.done(7)
steps.wait(8)
