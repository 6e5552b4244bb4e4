#!/usr/bin/env python3
"""Sends bodies of qa/corpus/zorka/synth-* to the Zorka collector, each as an agent of its own.

usage: zorka_vectors.py encodings|bodies FILE...

`bodies`: one session for each FILE, in which an ordinary agent has defined its names; NAME.agd.* goes to agd, others to trc. When
the collector asks for the definitions they are sent again, once. Prints the file, the statuses and the agent's session.
`encodings`: one session for all; prints the file and the status. FILEs of definitions before those of traces.
The port is that of the environment variable ZORKA_PORT.
"""

import os
import sys

sys.dont_write_bytecode = True
import zorka  # noqa: E402

TYPE = "application/zorka+cbor+v1"
FORM = "application/x-www-form-urlencoded"
DEFINITIONS = b"".join([zorka.tag(1, [1, "shop.Orders"]), zorka.tag(1, [2, "list"]), zorka.tag(1, [3, "()V"]), zorka.tag(2, [1, 1, 2, 3])])


def ask(connection, end, session, body, reset="false", kind=TYPE):
    head = (f"POST /agent/submit/{end} HTTP/1.1\r\nContent-Type: {kind}\r\nX-Zorka-Session-Id: {session}\r\n"
            f"X-Zorka-Session-Reset: {reset}\r\nX-Zorka-Trace-Id: {os.urandom(16).hex()}\r\nContent-Length: {len(body)}\r\n"
            "User-Agent: zorka/2.x\r\nConnection: keep-alive\r\nHost: 127.0.0.1\r\n\r\n")
    try:
        return connection.ask(head.encode(), body)[0]
    except zorka.Lost as fault:
        return str(fault)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def bodies(port, paths):
    for number, path in enumerate(paths, 1):
        name, body = os.path.basename(path), read(path)
        session = f"{number:08x}00000000"
        connection = zorka.Connection(port, True)
        end = "agd" if ".agd." in name else "trc"
        ask(connection, "agd", session, DEFINITIONS, "true")
        statuses = [ask(connection, end, session, body)]
        if statuses[0] == 401:
            statuses += [ask(connection, "agd", session, DEFINITIONS, "true"), ask(connection, end, session, body)]
        if connection.faults:
            statuses += connection.faults
        print(f"{name} {session[:8]}", *statuses, flush=True)
        connection.close()


def encodings(port, paths):
    session, connection, first = os.urandom(8).hex(), zorka.Connection(port, True), True
    for path in paths:
        name, body = os.path.basename(path), read(path)
        kind = FORM if ".form-" in name else TYPE
        status = ask(connection, "agd" if name.startswith("agd") else "trc", session, body, "true" if first else "false", kind)
        first = False
        if status == 401:
            # Names that these definitions do not have: asked for once, then accepted.
            print(name, status)
            status = ask(connection, "trc", session, body, kind=kind)
        print(name, status, flush=True)
    connection.close()


if __name__ == "__main__":
    {"bodies": bodies, "encodings": encodings}[sys.argv[1]](int(os.environ["ZORKA_PORT"]), sys.argv[2:])
