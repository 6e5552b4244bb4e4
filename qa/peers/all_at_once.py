"""Thousands of Mono agents that connect at the same moment and stay: all_at_once.py AGENTS.

Each says Hello and sends one sample as soon as it is connected; none tries again. Their process ids are above those
that Linux gives, so that none is that of this program, which has all the connections. Prints how many connections were made
within two minutes, and stays until the test makes the file `stop`.
"""

import os
import selectors
import socket
import struct
import sys
import time

import agent

count, seconds = int(sys.argv[1]), 120
address = ("127.0.0.1", int(os.environ["MONO_PORT"]))
who = [agent.header(agent.SECTIONS["System"], "Process Id", "i", agent.CONSTANT, 0),
       agent.header(agent.SECTIONS["Runtime"], "Command Line", "s", agent.CONSTANT, 1),
       agent.header(agent.SECTIONS["GC"], "Minor GC collections", "i", agent.MONOTONIC, 2)]
greeting = agent.hello(who)
waiting, connected = selectors.EpollSelector(), 0
sockets = []
for n in range(count):
    s = socket.socket()
    s.setblocking(False)
    sockets.append(s)
    s.connect_ex(address)
    waiting.register(s, selectors.EVENT_WRITE, n)
end = time.monotonic() + seconds
while waiting.get_map() and time.monotonic() < end:
    for key, _ in waiting.select(end - time.monotonic()):
        waiting.unregister(key.fileobj)
        if key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            connected += 1
            key.fileobj.send(greeting + agent.sample([agent.value(0, "i", 10_000_000 + key.data), agent.value(1, "s", "mono many.exe"),
                                                      agent.value(2, "i", key.data)]))
# One write, since the test reads it as soon as it is there.
sys.stdout.write(f"{connected} of {count} connected\n")
sys.stdout.flush()
agent.pause()
