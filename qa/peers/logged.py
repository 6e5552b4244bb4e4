#!/usr/bin/python3
"""etc/pmlogger.conf: what pmlogger -c logs, of the metrics of docs/metrics.md (qa/generate).

Everything but what is no figure: parameters, which have no values and are logged once; controls; filters, tables and the other
resolution of records; how full streams are; records of chunks, which are made only for who reads them. Time by stack comes once
a minute, as in the group apm/stacks.
"""

import os
import re

HEAD = """\
# For pmlogger -c: everything of pmdaapm, event records included. Made by qa/generate of docs/metrics.md.
# The parameter metrics are logged once: they have no values, but with them the archive has the names that
# pmevent -a and pmlogdump show. Event records are logged in one resolution, microseconds. A record takes
# 100 to 200 bytes on disk: 1,000 a second are 8 to 17 GB a day. For nanoseconds replace records by
# highres_records; do not log both. The records between two fetches have to fit into events.memory and into
# 8 MiB a fetch: 1 s is right for more than some hundred records a second."""
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NEVER = re.compile(r"\.param\.|\.control\.(?!status$)|\.profile\.run$|\.event\.\w+\.(?!(records|count|lost)$)|\.event\.chunk\.")
MINUTE = re.compile(r"\.stack\.|\.profile\.(stacks|methods)(\.|$)")


def metrics():
    """Names of metrics, and those of trees whose leaves come with peers."""
    with open(os.path.join(TOP, "docs/metrics.md"), encoding="utf-8") as page:
        rows = [re.match(r"\| `(apm\.[^`]*)` \|", line) for line in page]
    return [row[1] for row in rows if row]


def short(names, wanted):
    """The nodes that have all of the wanted names below them and no other one."""
    found, depth = [], 2
    while wanted:
        nodes = {}
        for name in names:
            nodes.setdefault(".".join(name.split(".")[:depth]), []).append(name)
        whole = [node for node, below in nodes.items() if below[0] in wanted and all(name in wanted for name in below)]
        found += [re.sub(r"\.\*$", "", node) for node in whole]
        wanted = {name for name in wanted if not any(name in nodes[node] for node in whole)}
        names = [name for name in names if not any(name in nodes[node] for node in whole)]
        depth += 1
    return sorted(found)


def main():
    names = metrics()
    minute = {name for name in names if MINUTE.search(name) and not NEVER.search(name)}
    second = {name for name in names if not NEVER.search(name) and name not in minute}
    once = sorted({".".join(name.split(".")[:3]) for name in names if ".param." in name})
    print(HEAD)
    for when, nodes in [("once", once), ("1 sec", short(names, second)), ("1 minute", short(names, minute))]:
        print(f"log mandatory on {when} {{", *(f"    {node}" for node in nodes), "}", sep="\n")


if __name__ == "__main__":
    main()
