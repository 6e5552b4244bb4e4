#!/usr/bin/env python3
"""Fake .NET runtimes: processes with a diagnostics socket, without .NET (docs/protocols/dotnet.md).

usage: dotnet.py CAPTURE... [options]        a process for each capture (NAME.s2c.gz), until TERM
  --dir DIR         where the sockets are, and TMPDIR of the processes (default: $TMPDIR or /tmp)
  --connect PATH    no sockets: each runtime connects to PATH and advertises itself
  --suspend         with --connect: says when it is resumed
  --real            in real time, by NAME.chunks; else as fast as it is taken
  --split N         in pieces of N bytes
  --cut N           the process is killed after N bytes of the stream
  --clr VERSION --entry NAME --newest N --info N    what it is: newest CollectTracing (0 to 5) and ProcessInfo (0 to 3)
  --refuse HEX      each collect command is answered with this HRESULT
  --hang STEP       accept, info, collect, stream, stop or end: that is never done
  --half STEP       info, collect or stream: half of the answer, then end of file
  --uid N           the processes have this uid
  --loop            streams of made events, one collection, exception and wait each 50 ms, instead of captures

Each runtime is a process of its own (`sleep`, with the name and the uid that were asked for), which owns the
socket; this program answers for all of them. A session's stream is kept open after its last byte until
StopTracing. Sessions after the first one get an empty stream. Requests that a real runtime dies of, or that
are no single write, are VIOLATIONs.

Names begin with DOTNET_PREFIX of the environment, by which a PMDA can tell the processes of one test.
Prints a line of JSON for each thing that happens. As a module: `Runtime(...)`, `run(coroutine)`.
Standard library only.
"""

import argparse
import asyncio
import ctypes
import datetime
import gzip
import json
import os
import signal
import socket
import struct
import sys
import time

MAGIC = b"DOTNET_IPC_V1\0"
UNKNOWN_COMMAND, BAD_ENCODING, FAIL = 0x80131385, 0x80131384, 0x80004005
# The process of a reverse connection connects whenever a byte comes, and hands the connection over: so its
# credentials are those that the other side sees.
CONNECTS = """
import os, socket, sys
os.write(int(sys.argv[1]), b"\\n")
os.close(int(sys.argv[1]))
theirs = socket.socket(fileno=int(sys.argv[2]))
while theirs.recv(1):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(sys.argv[3])
        socket.send_fds(theirs, [b"y"], [s.fileno()])
    except OSError:
        theirs.send(b"n")
    s.close()
"""


def utf16(text):
    data = (text + "\0").encode("utf-16-le")
    return struct.pack("<I", len(data) // 2) + data


def message(set_, command, payload=b""):
    return MAGIC + struct.pack("<HBBH", 20 + len(payload), set_, command, 0) + payload


def start_time(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return int(f.read().rsplit(")", 1)[1].split()[19])


def capture(path):
    """The stream of a file, without the IPC answer."""
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data.startswith(MAGIC[:13]):
        data = data[struct.unpack("<H", data[14:16])[0]:]
    return data


def chunks(path):
    """(seconds, bytes) of the stream's parts."""
    plan = [line.split() for line in open(path, encoding="ascii")]
    plan = [(float(t), int(n)) for t, n in plan]
    return plan[1:] if plan and plan[0][1] == 28 else plan


def as_of_now(stream):
    """The same stream, begun now: the time of its header is set."""
    at = stream.find(b"Trace\x06")
    if at < 0:
        return stream
    at += 6
    t = datetime.datetime.now(datetime.timezone.utc)
    stamp = struct.pack("<8h", t.year, t.month, t.isoweekday() % 7, t.day, t.hour, t.minute, t.second, t.microsecond // 1000)
    return stream[:at] + stamp + stream[at + 16:]


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError("cut short")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize(form)))[0]

    def text(self):
        return self.take(2 * self.number("I")).decode("utf-16-le", "replace").rstrip("\0")


def collect_request(command, body):
    """A collect command's request as a dictionary; ValueError if a real runtime could die of it."""
    r = Reader(body)
    if command == 6 and r.number("I") != 0:
        raise ValueError("a session of user_events")
    asked = {"collect": command - 1, "mb": r.number("I"), "format": r.number("I")}
    if command in (3, 4):
        asked["rundown"] = r.number("B")
    if command >= 5:
        asked["rundown"] = r.number("Q")
    if command >= 4:
        asked["stacks"] = r.number("B")
    count = r.number("I")
    if asked["mb"] == 0 or asked["format"] != 1 or not 0 < count <= 1000:
        raise ValueError(f"mb {asked['mb']}, format {asked['format']}, {count} providers")
    asked["providers"] = {}
    for _ in range(count):
        keywords, level = r.number("Q"), r.number("I")
        name, arguments = r.text(), r.text()
        asked["providers"][name] = [keywords, level, arguments]
        if command == 6:
            enable = r.number("B")
            asked["providers"][name].append([enable, [r.number("I") for _ in range(r.number("I"))]])
    if r.at != len(body):
        raise ValueError(f"{len(body) - r.at} bytes too many")
    return asked


class Session:
    def __init__(self, number):
        self.id, self.stop, self.done = 0x7F0000001000 + 16 * number, asyncio.Event(), asyncio.Event()


class Runtime:
    """One process. `streams` are the bytes (or functions that make pieces: `async for`) of its sessions."""

    def __init__(self, *streams, name="fake", directory=None, connect=None, clr="9.0.7", command=None, newest=None, info=None,
                 plan=None, split=0, cut=None, hold=True, now=True, refuse=None, hang=None, half=None, uid=None, suspend=False,
                 own_pid=None, key=None, say=None):
        self.streams, self.short, self.connect, self.clr = streams, name, connect, clr
        self.name = os.environ.get("DOTNET_PREFIX", "") + name
        self.directory = directory or os.environ.get("TMPDIR") or "/tmp"
        self.command = command or f"/usr/bin/dotnet /srv/{self.name}.dll --serve"
        major = int(clr.split(".")[0]) if clr[0].isdigit() else 0
        self.newest = newest if newest is not None else {3: 2, 5: 2, 6: 2, 7: 2, 8: 3, 9: 4}.get(major, 5)
        self.info = info if info is not None else {3: 0, 5: 1, 6: 2, 7: 2}.get(major, 3)
        self.plan, self.split, self.cut, self.hold, self.now = plan, split, cut, hold, now
        self.refuse, self.hang, self.half, self.uid, self.suspend = refuse, hang, half, uid, suspend
        self.cookie, self.sessions, self.started, self.tasks = os.urandom(16), {}, 0, set()
        self.sent, self.stopped, self.violations, self.resumed = 0, 0, [], not suspend
        self.listener, self.path, self.out = None, None, say or self._print
        self._start(own_pid, key)

    def _start(self, own_pid, key):
        """The process: it owns the socket, so that its credentials are those that a client sees."""
        reverse = self.connect is not None
        self.listener = None if reverse else socket.socket(socket.AF_UNIX)
        self.connector, theirs = socket.socketpair() if reverse else (None, None)
        ready, told = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ctypes.CDLL(None).prctl(1, 9)
                if self.uid is not None:
                    os.setgroups([])
                    os.setresgid(self.uid, self.uid, self.uid)
                    os.setresuid(self.uid, self.uid, self.uid)
                    ctypes.CDLL(None).prctl(1, 9)
                os.set_inheritable(told, True)
                os.environ["TMPDIR"] = self.directory
                if reverse:
                    os.set_inheritable(theirs.fileno(), True)
                    os.execv("/usr/bin/python3", [self.name, "-S", "-c", CONNECTS, str(told), str(theirs.fileno()), self.connect])
                path = f"{self.directory}/dotnet-diagnostic-{own_pid or os.getpid()}-{key or start_time('self')}-socket"
                os.umask(0o177)
                self.listener.bind(path + ".new")
                self.listener.listen(255)
                script = 'printf "%s\\n" "$2" >&"$1"; eval "exec $1>&-"; exec -a "$3" sleep 1000000'
                os.execv("/bin/bash", ["bash", "-c", script, "bash", str(told), path, self.name])
            except BaseException as e:  # noqa: B902
                os.write(told, f"!{e}\n".encode())
            finally:
                os._exit(1)
        os.close(told)
        answer = b""
        while not answer.endswith(b"\n"):
            more = os.read(ready, 4096)
            if not more:
                raise OSError("the process did not start")
            answer += more
        os.close(ready)
        if answer.startswith(b"!"):
            raise OSError(answer.decode())
        self.path = answer.decode().strip() or None
        if reverse:
            theirs.close()
            self.connector.setblocking(False)
        else:
            # The socket gets its name when the process has its own, as with a real runtime.
            while open(f"/proc/{self.pid}/cmdline", "rb").read().split(b"\0")[0] != self.name.encode():
                time.sleep(0.001)
            os.link(self.path + ".new", self.path)
            os.unlink(self.path + ".new")
            self.listener.setblocking(False)

    async def _connection(self, loop):
        await loop.sock_sendall(self.connector, b"c")
        answered = loop.create_future()
        loop.add_reader(self.connector, answered.set_result, None)
        await answered
        loop.remove_reader(self.connector)
        said, fds, _, _ = socket.recv_fds(self.connector, 1, 1)
        if said != b"y":
            raise ConnectionRefusedError
        s = socket.socket(fileno=fds[0])
        s.setblocking(False)
        return s

    def _print(self, **what):
        print(json.dumps({"name": self.short, "pid": self.pid, "at": time.monotonic(), **what}), flush=True)

    @property
    def instance(self):
        return f"{self.name}:{self.pid}"

    def violation(self, text):
        self.violations.append(text)
        self.out(event="VIOLATION", text=text)

    def kill(self, leave=False):
        """As kill -9; the socket is left behind as a runtime leaves it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for task in self.tasks:
            task.cancel()
        if self.listener is not None:
            self.listener.shutdown(socket.SHUT_RDWR)
            # Not before the loop has forgotten its descriptor.
            asyncio.get_running_loop().call_later(0.1, self.listener.close)
            if not leave and os.path.exists(self.path):
                os.unlink(self.path)

    async def serve(self):
        if self.hang == "accept":
            return await asyncio.Event().wait()
        loop = asyncio.get_running_loop()
        if self.connect is not None:
            return await self._advertise(loop)
        while True:
            s, _ = await loop.sock_accept(self.listener)
            s.setblocking(False)
            self._spawn(self._guarded(s, b""))

    def begin(self):
        """Serves from now on."""
        self._spawn(self.serve())
        return self

    def _spawn(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _advertise(self, loop):
        wait = 0.01
        while True:
            s = None
            try:
                s = await self._connection(loop)
                await loop.sock_sendall(s, b"ADVR_V1\0" + self.cookie + struct.pack("<QH", self.pid, 0))
                wait = 0.01
                self.out(event="advertised")
                first = await loop.sock_recv(s, 65536)
            except OSError:
                first = b""
            if first:
                self._spawn(self._guarded(s, first))
            else:
                if s is not None:
                    s.close()
                await asyncio.sleep(wait)
                wait = min(wait * 1.25, 0.5)

    async def _guarded(self, s, first):
        try:
            await self._one(asyncio.get_running_loop(), s, first)
        except (OSError, ValueError) as e:
            self.out(event="peer gone", text=str(e))
        finally:
            s.close()

    async def _one(self, loop, s, first):
        data = first or await loop.sock_recv(s, 70000)
        if not data:
            return
        whole = len(data) >= 20 and struct.unpack("<H", data[14:16])[0] == len(data)
        if not whole or data[:14] != MAGIC:
            return self.violation(f"no single write of one request: {data[:64].hex()}")
        set_, command, body = data[16], data[17], data[20:]

        async def ok(payload=b"", step=""):
            answer = message(0xFF, 0, payload)
            if self.half == step:
                answer = answer[:len(answer) // 2]
            await loop.sock_sendall(s, answer)

        async def error(code):
            await loop.sock_sendall(s, message(0xFF, 0xFF, struct.pack("<I", code)))

        known = struct.pack("<Q", self.pid) + self.cookie + utf16(self.command) + utf16("Linux") + utf16("x64")
        more = utf16(self.name) + utf16(self.clr)
        infos = {0: (1, known), 4: (2, known + more), 8: (3, struct.pack("<I", 1) + known + more + utf16("linux-x64"))}
        if set_ == 4 and command in infos and infos[command][0] <= self.info:
            self.out(event="ProcessInfo", version=infos[command][0])
            if self.hang == "info":
                return await asyncio.Event().wait()
            await ok(infos[command][1], "info")
        elif set_ == 4 and command == 1 and self.info:
            self.resumed = True
            self.out(event="resumed")
            await ok(struct.pack("<I", 0))
        elif set_ == 2 and command == 1:
            await self._stop(ok, body)
        elif set_ == 2 and 2 <= command <= self.newest + 1:
            try:
                asked = collect_request(command, body)
            except ValueError as e:
                self.violation(str(e))
                return await error(BAD_ENCODING)
            self.out(event="collect", **asked)
            if self.hang == "collect":
                return await asyncio.Event().wait()
            if self.refuse is not None:
                return await error(self.refuse)
            session = Session(self.started)
            number, self.started = self.started, self.started + 1
            self.sessions[session.id] = session
            await ok(struct.pack("<Q", session.id), "collect")
            if self.half != "collect":
                await self._stream(loop, s, session, self.streams[number] if number < len(self.streams) else None)
        else:
            self.out(event="unknown command", set=set_, command=command)
            await error(UNKNOWN_COMMAND)

    async def _stop(self, ok, body):
        if len(body) != 8:
            return self.violation(f"StopTracing with {len(body)} bytes")
        session = self.sessions.get(struct.unpack("<Q", body)[0])
        self.out(event="stop", known=session is not None)
        if self.hang == "stop":
            return await asyncio.Event().wait()
        if session is not None:
            session.stop.set()
            if self.hang == "end":
                return await ok(body)
            # The runtime flushes first: whoever has stopped reading waits here for ever.
            await session.done.wait()
            self.stopped += 1
        return await ok(body)

    async def _stream(self, loop, s, session, stream):
        try:
            if self.hang == "stream":
                return await self._drained(loop, s, session)
            if callable(stream):
                async for piece in stream(session.stop):
                    await loop.sock_sendall(s, piece)
                    self.sent += len(piece)
                    await asyncio.sleep(0)
                self.out(event="ended")
                return None
            data = stream if stream is not None else EMPTY
            if self.now:
                data = as_of_now(data)
            if self.half == "stream":
                return await loop.sock_sendall(s, data[:len(data) // 2])
            data = data if self.cut is None else data[:self.cut]
            end = 1 if self.hold and data.endswith(b"\x06\x01") else 0
            held = data[:len(data) - end]
            began, at = time.monotonic(), 0
            plan = (self.plan if stream is not None else None) or [(0, len(held))]
            for seconds, count in plan + [(0, len(held))]:
                late = seconds - (time.monotonic() - began)
                if late > 0:
                    await asyncio.sleep(late)
                part, at = held[at:at + count], at + count
                for i in range(0, len(part), self.split or len(part) or 1):
                    await loop.sock_sendall(s, part[i:i + (self.split or len(part))])
                self.sent += len(part)
            self.out(event="sent", bytes=len(held))
            if self.cut is not None:
                os.kill(self.pid, signal.SIGKILL)
                return None
            if self.hold:
                await self._drained(loop, s, session)
                if self.hang == "end":
                    return await asyncio.Event().wait()
            return await loop.sock_sendall(s, data[len(held):])
        except OSError as e:
            self.out(event="dropped", text=str(e))
            return None
        finally:
            s.close()
            session.done.set()

    async def _drained(self, loop, s, session):
        """Until StopTracing, or until the reader is gone."""
        gone = asyncio.ensure_future(loop.sock_recv(s, 1))
        stop = asyncio.ensure_future(session.stop.wait())
        done, rest = await asyncio.wait({gone, stop}, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        # A reader that is still registered when its socket is closed is taken from the next
        # connection, which has the same descriptor.
        await asyncio.gather(*rest, return_exceptions=True)
        if gone in done and stop not in done:
            self.out(event="dropped", text="the connection was closed without StopTracing")
        else:
            self.out(event="ended")


def trace(now=None, ticks=None, pid=4711):
    """The head of a stream, with its Trace object."""
    now = time.time() if now is None else now
    ticks = time.monotonic_ns() if ticks is None else ticks
    t = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
    body = struct.pack("<8hqqiiii", t.year, t.month, t.isoweekday() % 7, t.day, t.hour, t.minute, t.second, t.microsecond // 1000,
                       ticks, 1_000_000_000, 8, pid, 2, 1_000_000)
    return b"Nettrace" + struct.pack("<I", 20) + b"!FastSerialization.1" + b"\5\5\1" + struct.pack("<iii", 4, 4, 5) + b"Trace\6" + body + b"\6"


EMPTY = trace() + b"\1"


async def forever(runtimes):
    for runtime in runtimes:
        runtime.begin()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    for runtime in runtimes:
        try:
            runtime.kill()
        except OSError:
            pass


def run(coroutine):
    return asyncio.run(coroutine)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("captures", nargs="+")
    for option in ("dir", "connect", "refuse", "hang", "half", "entry"):
        p.add_argument("--" + option)
    for option in ("split", "cut", "newest", "info", "uid"):
        p.add_argument("--" + option, type=int)
    p.add_argument("--clr", default="9.0.7")
    for option in ("suspend", "real", "loop"):
        p.add_argument("--" + option, action="store_true")
    a = p.parse_args()
    runtimes = []
    for path in a.captures:
        name = a.entry or os.path.basename(path).split(".")[0]
        streams = [capture(path)] if not a.loop else []
        if a.loop:
            import dotnet_made
            streams = [dotnet_made.busy]
        plan = path.replace(".s2c.gz", ".chunks")
        runtimes.append(Runtime(*streams, name=name, directory=a.dir, connect=a.connect, clr=a.clr, newest=a.newest, info=a.info,
                                plan=chunks(plan) if a.real and os.path.exists(plan) else None, split=a.split or 0, cut=a.cut,
                                refuse=int(a.refuse, 16) if a.refuse else None, hang=a.hang, half=a.half, uid=a.uid, suspend=a.suspend))
        runtimes[-1].out(event="listening", path=runtimes[-1].path)
    run(forever(runtimes))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
