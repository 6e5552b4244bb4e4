"""Mono agents that bring much, and stay: crowd.py KIND AGENTS SIZE [FIRST_PID]; writes a line when all has been sent.

    texts    each has a text counter t0 of SIZE bytes
    blobs    each sends SIZE bytes of text in samples, 20,000 at a time
    numbers  each sends SIZE bytes of samples of 187 counters; zz and yy are counters without values
    gone     each says hello, has the counter x, and goes
"""

import sys
import time

import agent as a


def begin(pid, counters, program="p.exe"):
    connection = a.connect()
    headers = [a.header(0x4000, "Process Id", "i", a.CONSTANT, 0), a.header(0x2000, "Command Line", "s", a.CONSTANT, 1)]
    headers += [a.header(1 << 9, name, kind, a.VARIABLE, i + 2) for i, (name, kind) in enumerate(counters)]
    connection.sendall(a.hello(headers) + a.sample([a.value(0, "i", pid), a.value(1, "s", program)]))
    return connection


def main():
    kind, agents, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    keep = []
    for pid in range(first, first + agents):
        if kind == "texts":
            connection = begin(pid, [("t0", "s")], "text.exe")
            connection.sendall(a.sample([a.value(2, "s", "B" * size)]))
        elif kind == "blobs":
            connection = begin(pid, [("blob", "s")], "blob.exe")
            for _ in range(0, size, 20000):
                connection.sendall(a.sample([a.value(2, "s", "A" * 20000)]))
        elif kind == "numbers":
            connection = begin(pid, [("n%d" % i, "q") for i in range(187)] + [("zz", "q"), ("yy", "q")])
            one = a.sample([a.value(i + 2, "q", i) for i in range(187)])
            for _ in range(0, size, len(one)):
                connection.sendall(one)
        else:
            connection = begin(pid, [("x", "q")], "app.exe")
            connection.sendall(a.sample([a.value(2, "q", pid)]))
            connection.shutdown(1)
            while connection.recv(4096):
                pass
            continue
        keep.append(connection)
    print("sent", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main()
