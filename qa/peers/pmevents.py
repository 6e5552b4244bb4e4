#!/usr/bin/env python3
"""What a client of an event metric saw, from the output of pmevent.

usage: pmevents.py FILE PARAMETER [INSTANCE]     prints  first=A last=B seen=N missed=M lost=L order=ok|…
`seen` are the records with PARAMETER; `missed` the sum of MISSED records, `lost` that of …param.lost."""

import re
import sys


def read(path, parameter, instance=None):
    numbers, missed, lost, wanted = [], 0, 0, True
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := re.match(r"apm\.\S+\[(.*)\]: ", line):
                wanted = instance is None or match[1] == instance
            elif not wanted:
                continue
            elif match := re.match(r"\s+(apm\.\S+) (.*)", line):
                if match[1].endswith(".param." + parameter):
                    numbers.append(int(match[2]))
                elif match[1].endswith(".param.lost"):
                    lost += int(match[2])
            elif match := re.search(r"(\d+) missed event records", line):
                missed += int(match[1])
    return numbers, missed, lost


def main(path, parameter, instance=None):
    numbers, missed, lost = read(path, parameter, instance)
    steps = [b - a for a, b in zip(numbers, numbers[1:])]
    order = "ok" if all(s > 0 for s in steps) else "wrong"
    gaps = sum(s - 1 for s in steps if s > 1)
    ends = f"first={numbers[0]} last={numbers[-1]}" if numbers else "first=none last=none"
    print(f"{ends} seen={len(numbers)} gaps={gaps} missed={missed} lost={lost} order={order}")


if __name__ == "__main__":
    main(*sys.argv[1:])
