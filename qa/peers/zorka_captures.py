#!/usr/bin/env python3
"""Plays captures one after the other, and compares what the PMDA shows of each with what an independent decoder found in it.

usage: zorka_captures.py CAPTURE...      in the environment: HOST, the pmcd, and ZORKA_PORT

The agent of a capture stays connected until its numbers agree, since a tick of the collector has to pass. Prints a line for each;
numbers that differ are shown after two minutes. Standard library only.
"""

import os
import subprocess
import sys
import time

import zorka
import zorka_facts


def shown():
    command = ["pminfo", "-h", os.environ["HOST"], "-f", "apm.zorka"]
    return zorka_facts.values(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def main():
    before, patience = shown(), 120
    for path in sys.argv[1:]:
        agent = zorka.Agent(int(os.environ["ZORKA_PORT"]))
        zorka.play(path, agent)
        end = time.monotonic() + patience
        while True:
            now = shown()
            agreed, differ = zorka_facts.compared([path], before, now)
            if not differ:
                break
            if time.monotonic() > end:
                patience = 10
                print(*differ, sep="\n")
                break
            time.sleep(0.1)
        print(f"{path}: {agreed if differ else 'all'} facts agree{'; the agent is not content' if agent.failed() else ''}", flush=True)
        agent.close()
        before = now


if __name__ == "__main__":
    main()
