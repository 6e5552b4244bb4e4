#!/usr/bin/env python3
"""Zorka agents of the scene, until TERM: frontend (1), orders (2) of 2.0.3 and an older stock. Each page of frontend is a
trace over three services; the second agent of orders is slower. The port is that of ZORKA_PORT. Standard library only.
"""

import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import zorka  # noqa: E402
import zorka_shop  # noqa: E402
from zorka_made import Legacy, Modern  # noqa: E402


def main():
    port, dice = int(os.environ["ZORKA_PORT"]), random.Random(7)
    local = {"app": "shop", "env": "scene"}
    frontend = Modern(port, "frontend", "web1", **local)
    orders = [Modern(port, "orders", "app1", **local), Modern(port, "orders", "app2", **local)]
    stock = Legacy(port, "stock", "shop", "scene")
    pages = 0
    while True:
        first, second, third = zorka_shop.page(dice)
        trace = os.urandom(16).hex()
        clock = int(time.time() * 1000 - first.ns / 1e6)
        for agent, call, late in ((orders[pages % 2], second, 2), (frontend, first, 0), (stock, third, 0)):
            try:
                agent.send(call, trace=trace, clock=clock + late)
            except (zorka.Lost, OSError):
                agent.again()
                time.sleep(0.5)
        pages += 1
        time.sleep(0.15)


if __name__ == "__main__":
    main()
