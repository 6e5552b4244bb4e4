"""Peers that mean harm, beside hostile_agents.py and hostile_relays.py: bad.py FOLDER SEED, until there is FOLDER/over, and not while there is
FOLDER/quiet. To Zorka's port come requests that are cut, too long, too many, not HTTP, of web pages, and bodies of random bytes; to pmcd
garbage; .NET's socket has connections that say nothing, or nonsense. ZORKA_PORT, PMCD_PORT, DOTNET_SOCKET."""

import collections
import os
import random
import socket
import sys
import time

folder, dice = sys.argv[1], random.Random(int(sys.argv[2]))
AGENT = b"POST /agent/submit/trc HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Zorka-Session-Id: %s\r\nX-Zorka-Trace-Id: %s\r\nContent-Length: %d\r\n\r\n"
done = collections.Counter()


def hexed(n):
    return dice.randbytes(n).hex().encode()


def zorka():
    kind = dice.choice(["noise", "cut", "long head", "long body", "body", "page", "pipelined", "slow"])
    done[kind] += 1
    body = dice.randbytes(dice.randrange(1, 20_000))
    whole = AGENT % (hexed(8), hexed(16), len(body)) + body
    if kind == "noise":
        return [dice.randbytes(5000)]
    if kind == "cut":
        return [whole[:dice.randrange(len(whole))]]
    if kind == "long head":
        return [b"GET / HTTP/1.1\r\n"] + [b"X-%d: " % n + b"y" * 1000 + b"\r\n" for n in range(200)]
    if kind == "long body":
        return [AGENT % (hexed(8), hexed(16), 1 << 40)] + [body] * 20
    if kind == "page":
        return [whole.replace(b"Host: 127.0.0.1", b"Host: evil.example\r\nOrigin: http://evil.example")]
    if kind == "slow":
        return [whole[n:n + 1] for n in range(20)]
    return [whole * (50 if kind == "pipelined" else 1)]


def tcp(port, pieces):
    with socket.create_connection(("127.0.0.1", port), timeout=2) as s:
        s.settimeout(0.5)
        for piece in pieces:
            s.sendall(piece)
        s.recv(1000)


def dotnet():
    done["dotnet"] += 1
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(0.5)
        s.connect(os.environ["DOTNET_SOCKET"])
        s.sendall(dice.choice([b"", b"ADVR_V1\0", dice.randbytes(34), b"DOTNET_IPC_V1\0" + dice.randbytes(100)]))
        s.recv(100)


while not os.path.exists(os.path.join(folder, "over")):
    try:
        what = dice.random()
        if what < 0.7:
            tcp(int(os.environ["ZORKA_PORT"]), zorka())
        elif what < 0.8:
            done["pmcd"] += 1
            tcp(int(os.environ["PMCD_PORT"]), [dice.randbytes(100)])
        else:
            dotnet()
    except OSError:
        pass
    time.sleep(dice.expovariate(20))
    while os.path.exists(os.path.join(folder, "quiet")):
        time.sleep(0.1)
print("bad:", *(f"{kind}={n}" for kind, n in sorted(done.items())), sep=" ")
