#!/usr/bin/env python3
"""Starts and ends of real Mono programs, read in each way or not at all: their status, output and the time that
their end takes, against the same program without any reader.

usage: ends.py [--count N] [--parallel P] [--run SECONDS] PORT WAY...

WAY: area (nothing is set), module, stream (mono-log opens the connection), bash (bash opens it), pipe (output=|...), file, all (module and
stream). Needs Shop.exe in the present directory, the module and mono-log in lib/. Each way prints a line:

    stream: 40 of 40 as without a reader

and on standard error the times. Without a reader means for stream, pipe, file and all: the log profiler with output to
/dev/null, whose own helper thread makes each end a second longer. Status 1: some program started, ended or wrote
otherwise, or the median end of a kind is 1.5 s longer than without: what waits for a reader waits for 2 s at least.
Those without a reader run at the same time, since a busy machine makes all of them slower.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time

OPTIONS = "counter,exception,monitor,maxframes=8,gc"
# Command, its status.
ENDS = [("end", 0), ("exit 3", 3), ("throw-out", None), ("kill", None), ("TERM", None)]
WORK = ["throw 20", "collect 2 1", "lock 2 5", "allocate 300"]
PATIENCE = 300


def commands(way, port):
    """The command line of a program, and environment that it needs."""
    log = "log:nodefaults," + OPTIONS + ",output=" + {"pipe": f"|bash -c \\'exec cat >/dev/tcp/127.0.0.1/{port}\\'", "file": "%p.mlpd", "plain-log": "/dev/null"}.get(way, "#7")
    module = f"--profile=apm:address=127.0.0.1:{port},interval=100,retry=200"
    connect = f"{{ exec 7<>/dev/tcp/127.0.0.1/{port}; }} 2>/dev/null || exec 7>/dev/null; exec \"$@\""
    if way in ("stream", "all"):
        line = [os.path.abspath("lib/mono-log"), "--address", f"127.0.0.1:{port}", "--options", OPTIONS]
        return line + (["--", module] if way == "all" else []) + ["Shop.exe"]
    mono = {"area": [], "plain": [], "module": [module]}.get(way, ["--profile=" + log])
    line = ["mono"] + mono + ["Shop.exe"]
    return ["bash", "-c", connect, "bash"] + line if way == "bash" else line


def run(way, port, end, seconds):
    """Status, output without process ids and times, and the seconds that the end took."""
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.abspath("lib"))
    env.pop("MONO_ENV_OPTIONS", None)
    program = subprocess.Popen(commands(way, port), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    killer = threading.Timer(PATIENCE + seconds, program.kill)
    killer.start()
    try:
        program.stdin.write("\n".join(WORK) + "\n")
        program.stdin.flush()
        out = [program.stdout.readline() for _ in range(1 + len(WORK))]
        time.sleep(seconds)
        begin = time.monotonic()
        if end == "TERM":
            program.terminate()
        else:
            program.stdin.write(end + "\n")
            program.stdin.flush()
        program.stdin.close()
        out.append(program.stdout.read())
        status = program.wait()
        took = time.monotonic() - begin
    except BrokenPipeError:
        return program.wait(), "broken pipe", 0.0
    finally:
        hung = not killer.is_alive()
        killer.cancel()
        program.stdout.close()
    text = " ".join(line.split(",")[0] for line in out[1:])
    return ("HANG" if hung else status), text, took


def many(way, port, count, parallel, seconds):
    """Results by end, of `count` programs."""
    results, rest, lock = {end: [] for end, _ in ENDS}, list(range(count)), threading.Lock()

    def work():
        while True:
            with lock:
                if not rest:
                    return
                end = ENDS[rest.pop() % len(ENDS)][0]
            try:
                result = run(way, port, end, seconds)
            except OSError as error:
                result = repr(error), "", 0.0
            with lock:
                results[end].append(result)

    threads = [threading.Thread(target=work) for _ in range(parallel)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("ways", nargs="+", choices=["area", "module", "stream", "bash", "pipe", "file", "all"])
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=5)
    parser.add_argument("--run", type=float, default=0.0, help="seconds between start and end")
    a = parser.parse_args()
    failed = 0
    for way in a.ways:
        kind = "plain" if way in ("area", "module") else "plain-log"
        references = {}
        beside = threading.Thread(target=lambda: references.update(many(kind, a.port, max(len(ENDS), min(a.count, 50)), 2, 0)))
        beside.start()
        found = many(way, a.port, a.count, a.parallel, a.run)
        beside.join()
        good = 0
        for end, results in found.items():
            want = references[end]
            same = [r[:2] == want[0][:2] and r[0] != "HANG" for r in results]
            if end in dict(ENDS) and dict(ENDS)[end] is not None:
                same = [s and r[0] == dict(ENDS)[end] for s, r in zip(same, results)]
            good += sum(same)
            for wrong in [r for r, s in zip(results, same) if not s][:3]:
                print(f"{way}, end {end!r}: {wrong}, without: {want[0]}", file=sys.stderr)
            if not results:
                continue
            took, plain = [statistics.median(r[2] for r in x) for x in (results, want)]
            longest, plainly = [max(r[2] for r in x) for x in (results, want)]
            print(f"{way}, end {end!r}: {len(results)} ended in {took:.3f} s, at most {longest:.3f}; without a reader {plain:.3f}, "
                  f"at most {plainly:.3f}", file=sys.stderr)
            if took > plain + 1.5:
                failed += 1
                print(f"{way}: the end {end} takes longer")
        failed += good != a.count
        print(f"{way}: {good} of {a.count} as without a reader", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
