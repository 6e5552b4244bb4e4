#!/usr/bin/env python3
"""A relay daemon of recorded dialogues, for tests without LTTng. Standard library only.

  lttng_mock.py serve PORT DIRECTORY... [options]   each directory has c2s.bin and s2c.bin (or .gz): one session
  lttng_mock.py facts DIRECTORY...                  what is in them, as JSON

Sessions are named as they were recorded; several with one name are allowed. Streams hand out their recorded indexes, packets
and metadata in order, at the recorded pace of one news per stream and --period, or as fast as they are asked for (0).
Options: --minor N  --period S  --in-order (news of all streams come in the recorded order, whoever is asked first)
--truncate N (close in the middle of the Nth reply)  --close N (close after N replies)  --oversize N (the Nth reply claims
2^31 streams or bytes)  --slow S (before each reply)  --garbage N (the Nth reply is noise)  --clients (all sessions have
another viewer)  --host NAME  --base N (first number of sessions and streams; a relay daemon that was restarted begins with
1 again)  --once (exit after one connection)
"""
import argparse, gzip, json, os, random, socket, struct, sys, threading, time, zlib

RECORD = 4371


def load(path):
    if os.path.exists(path + '.gz'):
        return gzip.open(path + '.gz').read()
    return open(path, 'rb').read()


class Dialogue:
    """One recorded session: streams with their indexes and packets, metadata in chunks."""

    def __init__(self, directory):
        requests, replies = load(directory + '/c2s.bin'), load(directory + '/s2c.bin')
        self.name, self.host, self.timer, self.format = os.path.basename(directory.rstrip('/')), 'vm', 200000, 0
        self.groups, self.indexes, self.packets, self.metadata, self.needs = [], {}, {}, {}, {}
        # Stream and place of each index, as they came.
        self.order = []
        self.session, minor, at = None, 4, 0
        last = {}
        q = 0
        while q + 16 <= len(requests):
            size, command, _ = struct.unpack_from('>QII', requests, q)
            body = requests[q + 16:q + 16 + size]
            q += 16 + size
            if at >= len(replies):
                break
            def take(n):
                nonlocal at
                at += n
                if at > len(replies):
                    raise EOFError
                return replies[at - n:at]
            try:
                if command == 1:
                    minor = min(struct.unpack_from('>I', body, 12)[0], struct.unpack('>QIII', take(20))[2])
                elif command == 2:
                    for _ in range(struct.unpack('>I', take(4))[0]):
                        if minor >= 15:
                            i, timer, _, _, h, n, form = struct.unpack('>QIIIIII', take(32))
                            host, name = take(h), take(n)
                        else:
                            i, timer, _, _, host, name = struct.unpack('>QIII64s255s', take(339))
                            form = 0
                        text = lambda b: b.split(b'\0')[0].decode()
                        if self.session in (None, i):
                            self.session, self.timer, self.format = i, timer, form
                            self.host, self.name = text(host), text(name)
                elif command in (3, 7):
                    status, count = struct.unpack('>II', take(8))
                    if command == 3:
                        self.session = struct.unpack_from('>Q', body)[0]
                    if status == 1 and count:
                        self.groups.append([take(RECORD) for _ in range(count)])
                        for r in self.groups[-1]:
                            i, trace, meta = struct.unpack_from('>QQI', r)
                            if meta:
                                self.metadata[i] = []
                            else:
                                self.indexes[i], self.packets[i], self.needs[i] = [], [], []
                elif command == 4:
                    stream, = struct.unpack('>Q', body)
                    reply = take(64)
                    status, flags = struct.unpack_from('>II', reply, 56)
                    # Retries say nothing, a repeated beacon neither.
                    if status == 1:
                        self.indexes[stream].append(reply[:56] + struct.pack('>II', 1, 0))
                        self.packets[stream].append(b'')
                        self.needs[stream].append(0)
                        self.order.append((stream, len(self.indexes[stream]) - 1))
                    elif status == 5 and last.get(stream) != reply[:56]:
                        self.indexes[stream].append(reply[:56] + struct.pack('>II', 5, 0))
                        self.order.append((stream, len(self.indexes[stream]) - 1))
                    if status == 5:
                        last[stream] = reply[:56]
                elif command == 5:
                    stream, offset, _ = struct.unpack('>QQI', body)
                    status, length, _ = struct.unpack('>III', take(12))
                    if status == 1:
                        self.packets[stream][-1] += take(length)
                        trace = self.trace(stream)
                        self.needs[stream][-1] = sum(len(b) for m, c in self.metadata.items() if self.trace(m) == trace for b in c)
                elif command == 6:
                    stream, = struct.unpack('>Q', body)
                    length, status = struct.unpack('>QI', take(12))
                    if length:
                        self.metadata[stream].append(take(length))
                elif command in (8, 9):
                    take(4)
            except EOFError:
                break
        # A packet whose bytes were not recorded ends its stream.
        for s, packets in self.packets.items():
            while packets and not self.whole(s, len(packets) - 1):
                packets.pop(); self.needs[s].pop()
                while self.status(self.indexes[s].pop()) != 1:
                    pass
        self.order = [(s, n) for s, n in self.order if n < len(self.indexes[s])]

    def records(self):
        return [r for g in self.groups for r in g]

    def trace(self, stream):
        return next(struct.unpack_from('>QQ', r)[1] for r in self.records() if struct.unpack_from('>Q', r)[0] == stream)

    @staticmethod
    def status(index):
        return struct.unpack_from('>I', index, 56)[0]

    def ok(self, stream):
        return [x for x in self.indexes[stream] if self.status(x) == 1]

    def content(self, stream, n):
        bits = struct.unpack_from('>QQQ', self.ok(stream)[n])[2]
        return self.packets[stream][n][:(bits + 7) // 8]

    def whole(self, stream, n):
        bits = struct.unpack_from('>QQQ', self.ok(stream)[n])[2]
        return len(self.packets[stream][n]) >= (bits + 7) // 8

    def facts(self):
        streams = {}
        for r in self.records():
            i, trace, meta = struct.unpack_from('>QQI', r)
            data = b''.join(self.metadata[i]) if meta else b''.join(self.content(i, n) for n in range(len(self.packets[i])))
            fact = {'trace': trace, 'channel': r[4116:].split(b'\0')[0].decode(), 'path': r[20:4116].split(b'\0')[0].decode(),
                    'bytes': len(data), 'crc32': zlib.crc32(data)}
            if not meta:
                fact['packets'] = len(self.packets[i])
                fact['beacons'] = len(self.indexes[i]) - len(self.packets[i])
            streams[str(i)] = fact
        return {'session': self.name, 'host': self.host, 'live_timer': self.timer, 'format': self.format, 'streams': streams}


class Served:
    """A dialogue as one viewer reads it."""

    def __init__(self, dialogue, session, base, period, in_order):
        self.d, self.id, self.base, self.period, self.in_order = dialogue, session, base, period, in_order
        self.reset()

    def reset(self):
        self.groups, self.started = list(self.d.groups), time.monotonic()
        self.next = {s: 0 for s in self.d.indexes}
        self.packet = {s: -1 for s in self.d.indexes}
        self.open, self.sent, self.released = set(), {m: 0 for m in self.d.metadata}, {}
        for m in self.d.metadata:
            self.released[m] = len(self.d.metadata[m][0]) if self.d.metadata[m] else 0

    def announce(self):
        if not self.groups:
            return []
        group = self.groups.pop(0)
        out = []
        for r in group:
            i, trace = struct.unpack_from('>QQ', r)
            if i in self.d.indexes:
                self.open.add(i)
            out.append(struct.pack('>QQ', i + self.base, trace) + r[16:])
        return out

    def flags(self, trace):
        new = any(self.released[m] > self.sent[m] for m in self.sent if self.d.trace(m) == trace)
        return (1 if new else 0) | (2 if self.groups else 0)

    def index(self, stream):
        if stream not in self.open:
            return struct.pack('>7QII', *[0] * 7, 4, 0)
        n, trace = self.next[stream], self.d.trace(stream)
        if n == len(self.d.indexes[stream]):
            self.open.discard(stream)
            return struct.pack('>7QII', *[0] * 7, 3, self.flags(trace))
        early = self.period and time.monotonic() < self.started + n * self.period
        if early or self.in_order and self.d.order[sum(self.next.values())] != (stream, n):
            return struct.pack('>7QII', *[0] * 7, 2, self.flags(trace))
        self.next[stream] += 1
        reply = self.d.indexes[stream][n]
        if self.d.status(reply) == 1:
            self.packet[stream] += 1
            for m in self.sent:
                if self.d.trace(m) == trace:
                    self.released[m] = max(self.released[m], self.d.needs[stream][self.packet[stream]])
        return reply[:60] + struct.pack('>I', self.flags(trace))

    def read(self, stream, offset, length):
        n = self.packet.get(stream, -1)
        if n < 0 or struct.unpack_from('>Q', self.d.ok(stream)[n])[0] != offset or length > len(self.d.packets[stream][n]):
            return struct.pack('>III', 3, 0, 0)
        return struct.pack('>III', 1, length, 0) + self.d.packets[stream][n][:length]

    def meta(self, stream):
        if stream not in self.sent:
            return struct.pack('>QI', 0, 3)
        data = b''.join(self.d.metadata[stream])[self.sent[stream]:self.released[stream]]
        self.sent[stream] += len(data)
        return struct.pack('>QI', len(data), 1 if data else 2) + data


class Relayd:
    def __init__(self, options):
        self.o, self.lock, self.replies = options, threading.Lock(), 0
        self.sessions = [Served(Dialogue(d), options.base + n, options.base - 1 + 1000 * n, options.period, options.in_order)
                         for n, d in enumerate(options.directory)]
        self.owner = {}

    def reply(self, command, body, me):
        one = struct.unpack_from('>Q', body)[0] if len(body) >= 8 else 0
        if command == 1:
            me['minor'] = min(struct.unpack_from('>I', body, 12)[0], self.o.minor)
            return struct.pack('>QIII', 1, 2, self.o.minor, 0)
        if command == 2:
            shown = [s for s in self.sessions if not s.__dict__.get('over') and (me['minor'] >= 15 or s.d.format == 0)]
            out = struct.pack('>I', len(shown))
            for s in shown:
                clients = 1 if self.o.clients or s in self.owner else 0
                host, name = (self.o.host or s.d.host).encode(), s.d.name.encode()
                head = struct.pack('>QIII', s.id, s.d.timer, clients, len(s.d.records()))
                out += head + (struct.pack('>III', len(host), len(name), s.d.format) + host + name if me['minor'] >= 15
                               else struct.pack('64s255s', host, name))
            return out
        if command == 8:
            me['created'] = True
            return struct.pack('>I', 1)
        session = next((s for s in self.sessions if s.id == one and not s.__dict__.get('over')), None)
        if command == 3:
            status = (6 if not me.get('created') else 3 if not session or (session.d.format and me['minor'] < 15)
                      else 2 if self.o.clients or session in self.owner else 1)
            if status != 1:
                return struct.pack('>II', status, 0)
            self.owner[session] = me['id']
            session.reset()
            records = session.announce()
            return struct.pack('>II', 1, len(records)) + b''.join(records)
        if command in (7, 9):
            mine = session and self.owner.get(session) == me['id']
            if command == 9:
                if mine:
                    del self.owner[session]
                return struct.pack('>I', 1 if mine else 2)
            if not mine:
                return struct.pack('>II', 3, 0)
            records = session.announce()
            if not records and not session.open:
                session.over = True
                return struct.pack('>II', 4, 0)
            return struct.pack('>II', 1, len(records)) + b''.join(records)
        for s in self.sessions:
            stream = one - s.base
            if self.owner.get(s) == me['id'] and (stream in s.d.indexes or stream in s.d.metadata):
                if command == 4:
                    return s.index(stream)
                if command == 5:
                    return s.read(stream, *struct.unpack_from('>QI', body, 8))
                return s.meta(stream)
        return {4: struct.pack('>7QII', *[0] * 7, 4, 0), 5: struct.pack('>III', 3, 0, 0), 6: struct.pack('>QI', 0, 3)}.get(command)

    def spoil(self, command, reply):
        """Applies the faults. Returns the bytes, and whether to close behind them."""
        self.replies += 1
        n = self.replies
        if n == self.o.truncate:
            return reply[:len(reply) // 2], True
        if n == self.o.garbage:
            return random.Random(n).randbytes(len(reply)), False
        if self.o.oversize and n >= self.o.oversize and command in (2, 3, 5, 6, 7):
            return {2: struct.pack('>I', 1 << 31), 5: struct.pack('>III', 1, 1 << 31, 0),
                    6: struct.pack('>QI', 1 << 31, 1)}.get(command, struct.pack('>II', 1, 1 << 31)), False
        return reply, n == self.o.close

    def converse(self, connection):
        me, file = {'id': object(), 'minor': 4}, connection.makefile('rb')
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while len(head := file.read(16)) == 16:
                size, command, _ = struct.unpack('>QII', head)
                body = file.read(min(size, 1 << 16))
                time.sleep(self.o.slow)
                with self.lock:
                    reply = self.reply(command, body, me)
                    if reply is None:
                        print(f'command {command} does not exist', flush=True)
                        connection.sendall(struct.pack('>I', 11))
                        break
                    reply, end = self.spoil(command, reply)
                connection.sendall(reply)
                if end:
                    break
        except (OSError, struct.error) as error:
            print(f'connection: {error}', flush=True)
        finally:
            with self.lock:
                self.owner = {s: o for s, o in self.owner.items() if o is not me['id']}
            connection.close()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('what', choices=['serve', 'facts'])
    p.add_argument('directory', nargs='+')
    p.add_argument('--minor', type=int, default=15)
    p.add_argument('--period', type=float, default=0)
    p.add_argument('--in-order', action='store_true')
    p.add_argument('--slow', type=float, default=0)
    p.add_argument('--base', type=int, default=1)
    p.add_argument('--host')
    for name in ('truncate', 'close', 'oversize', 'garbage'):
        p.add_argument('--' + name, type=int, default=0)
    for name in ('clients', 'once'):
        p.add_argument('--' + name, action='store_true')
    o = p.parse_args()
    if o.what == 'facts':
        print(json.dumps({os.path.basename(d.rstrip('/')): Dialogue(d).facts() for d in o.directory}, indent=1, sort_keys=True))
        return
    port = int(o.directory.pop(0))
    relayd = Relayd(o)
    listener = socket.create_server(('127.0.0.1', port))
    print(f'listening on {listener.getsockname()[1]}', flush=True)
    while True:
        connection, _ = listener.accept()
        thread = threading.Thread(target=relayd.converse, args=(connection,), daemon=True)
        thread.start()
        if o.once:
            thread.join()
            return


if __name__ == '__main__':
    main()
