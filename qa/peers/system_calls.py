"""Whether each thread made only the system calls of its list: system_calls.py LISTS TRACE KIND...

LISTS is what pmdaapm --print-confinement says; TRACE is of strace -f -Y, whole. A list holds for a thread or process
from its own call of seccomp on, the one of the process also for those that it starts. Each KIND must have been seen, and
none else. Standard error: calls that no list has or that were refused, then how many of each list were made.
"""

import re
import sys

# By the name of a thread or process when it gives up more than the process did.
KINDS = {"apm-worker": "worker", "apm-files": "files", "pmdaapm-guard": "guard", "pmdaapm-opens": "opener"}
# It is started before the PMDA has a list.
OPENER = "pmdaapm-opener"


def main(lists_file, trace, *wanted):
    lists = {}
    for line in open(lists_file):
        kind, call = line.split()
        lists.setdefault(kind, set()).add(call)
    default, own, soon, seen, other = None, {}, {}, {}, set()
    for line in open(trace, errors="replace"):
        m = re.match(r"(\d+)<([^>]*)> +(\w+)\((.*)", line)
        if not m:
            continue
        pid, name, call, rest = m.groups()
        if pid in soon:
            kind = soon.pop(pid)
            if kind == "process" and name != OPENER:
                default = kind
            own[pid] = kind
        kind = own.get(pid, None if name == OPENER else default)
        if kind:
            seen.setdefault(kind, set()).add(call)
            # The C library's heap asks when it shrinks, and goes on without an answer.
            heap = call == "openat" and '"/proc/sys/vm/overcommit_memory"' in rest
            # Its flags cannot be seen, so the C library takes clone(2) instead.
            older = call == "clone3" and not re.search(r"= \d+(<|$)", rest)
            if (call not in lists[kind] or rest.rstrip().endswith("(Function not implemented)")) and not (heap or older):
                other.add((kind, name, call))
        if call == "seccomp":
            soon[pid] = KINDS.get(name, "process")
    for kind, name, call in sorted(other):
        print(f"{kind} ({name}): {call}", file=sys.stderr)
    for kind in wanted:
        print(f"{kind}: {len(seen.get(kind, ()))} of {len(lists[kind])}", file=sys.stderr)
    sys.exit(bool(other) or set(seen) != set(wanted))


main(*sys.argv[1:])
