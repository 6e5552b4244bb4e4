"""JVMs of one service for the scene: processes that map the files of captures as a JVM does (qa/peers/jvm.py), of three
collectors. Their counters go on, each at its own pace, until this program is told to end.

usage: jvm_processes.py CAPTURE...     paths of *.hsperf.gz; prints "ready N" when all are there"""
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECOND = 10**9
# What a process adds each half second: counters of its own pace `n`, those of time in ticks of 1 ns.
STEPS = [
    ("sun.gc.collector.0.invocations", lambda n: n),
    ("sun.gc.collector.0.time", lambda n: n * SECOND // 200),
    ("sun.rt.safepoints", lambda n: 2 * n),
    ("sun.rt.safepointTime", lambda n: n * SECOND // 100),
    ("sun.rt.safepointSyncTime", lambda n: n * SECOND // 1000),
    ("java.cls.loadedClasses", lambda n: 3 * n),
    ("java.threads.started", lambda n: n),
    ("java.ci.totalTime", lambda n: n * SECOND // 500),
]
# From JDK 22 on.
CPU = ("sun.threads.total_gc_cpu_time", lambda n: n * SECOND // 250)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    command = [sys.executable, os.path.join(HERE, "..", "jvm.py")]
    jvms = [subprocess.Popen([*command, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            for path in sys.argv[1:]]
    try:
        for jvm in jvms:
            assert jvm.stdout.readline().startswith("ready")
        print("ready", len(jvms), flush=True)
        while True:
            for n, jvm in enumerate(jvms, 1):
                for name, step in [*STEPS, CPU] if "jdk25" in sys.argv[n] else STEPS:
                    print("add", name, step(n), file=jvm.stdin)
                    assert jvm.stdout.readline() == "ok\n"
            time.sleep(0.5)
    finally:
        # They end when nobody writes to them any more.
        for jvm in jvms:
            jvm.stdin.close()
            jvm.wait()


if __name__ == "__main__":
    main()
