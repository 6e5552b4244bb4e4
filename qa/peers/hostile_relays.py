"""Hostile relay daemons of LTTng: hostile_relays.py DIRECTORY, a recorded session (qa/corpus/lttng/live).

Prints "port NUMBER" of each, then "ready", and stays. Eight cut the dialogue, at one place after the other ("cut BYTES"); the others
send noise, say nothing, or have beacons, streams, sizes or sessions without end. Standard library only.
"""

import itertools
import random
import socket
import struct
import sys
import threading

import lttng_mock as mock

def replies(connection, options, spoil):
    """Serves the recorded session on a connection; spoil(number, command, reply) gives the bytes to send, None: close."""
    relayd = mock.Relayd(options)
    me, file = {'id': object(), 'minor': 4}, connection.makefile('rb')
    for number in itertools.count():
        head = file.read(16)
        if len(head) < 16:
            return
        size, command, _ = struct.unpack('>QII', head)
        reply = relayd.reply(command, file.read(size), me)
        reply = spoil(number, command, reply)
        if reply is None:
            return
        connection.sendall(reply)

class Options:
    directory, minor, period, base, clients, host = sys.argv[1:], 13, 0, 1, False, None

def named(host):
    return type('O', (Options,), {'host': host})

# The first bytes of the dialogue cut at one place after the other, one for each connection.
cut = itertools.count()
def cutting(connection):
    left = next(cut)
    print("cut", left, flush=True)
    def spoil(number, command, reply):
        nonlocal left
        if left <= len(reply):
            connection.sendall(reply[:left])
            return None
        left -= len(reply)
        return reply
    replies(connection, named('cut'), spoil)

def noise(connection):
    chance = random.Random(1)
    while True:
        connection.sendall(chance.randbytes(65536))

def silent(connection):
    while connection.recv(4096):
        pass

def beacons(connection):
    # Each is later than the one before, and says that there are new streams and new metadata.
    times = itertools.count(1 << 40, 1000)
    def spoil(number, command, reply):
        return struct.pack('>7QII', 0, 0, 0, next(times), 0, 0, 0, 5, 3) if command == 4 else reply
    replies(connection, named('beacons'), spoil)

def streams(connection):
    # Each question for new streams is answered with a thousand.
    ids = itertools.count(1000)
    def spoil(number, command, reply):
        if command != 7:
            return reply
        record = b'ust'.ljust(4096, b'\0') + b'ch'.ljust(255, b'\0')
        return struct.pack('>II', 1, 1000) + b''.join(struct.pack('>QQI', next(ids), 2, 0) + record for _ in range(1000))
    replies(connection, named('streams'), spoil)

def sizes(connection):
    # Every packet claims to have 2^60 bits, every metadata 2^62 bytes.
    def spoil(number, command, reply):
        if command == 4:
            return struct.pack('>7QII', 0, 1 << 60, 1 << 60, number, number + 1, 0, 0, 1, 0)
        return struct.pack('>QI', 1 << 62, 1) if command == 6 else reply
    replies(connection, named('sizes'), spoil)

def crowd(connection):
    # A list of sessions without end.
    def spoil(number, command, reply):
        if command != 2:
            return reply
        connection.sendall(struct.pack('>I', (1 << 32) - 1))
        for i in itertools.count():
            connection.sendall(struct.pack('>QIII64s255s', i, 1000000, 0, 1, b'crowd', b'session%d' % i))
    replies(connection, named('crowd'), spoil)

def serve(name, talk, listener):
    while True:
        connection, _ = listener.accept()
        def run():
            try:
                talk(connection)
            except (OSError, struct.error):
                pass
            finally:
                connection.close()
        threading.Thread(target=run, daemon=True).start()

for talk in (*[cutting] * 8, noise, silent, beacons, streams, sizes, crowd):
    listener = socket.create_server(('127.0.0.1', 0))
    print("port", listener.getsockname()[1], flush=True)
    threading.Thread(target=serve, args=(talk.__name__, talk, listener), daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
