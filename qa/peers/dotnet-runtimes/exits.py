#!/usr/bin/env python3
"""What being read does to programs of real .NET runtimes while they start and end: signals, hangs, wrong status.

  exits.py RUNTIME WAY [COUNT [AT_ONCE]]   COUNT (1000) programs, AT_ONCE (16) at a time, each read when it ends
  exits.py starts RUNTIME [ROUNDS [WAY]]   16 programs at once, ROUNDS (10) times, processors busy, meters wanted at 5 s
                                           of age as the PMDA does: by it, or WAY is unread or a client's

RUNTIME is 31, 9 or 10. WAY:
  unread                nobody reads
  client, client:counters, client:events, client:meters, client:meters-alone
                        a plain client of EventPipe: EventCounters and the runtime's events, one of them, meters beside
                        both, meters beside events without EventCounters
  pmda[:LINES]          the PMDA as it comes, but for min_age = "0", so that a program need not live for 5 s; and with
                        further lines of [dotnet]: 'pmda:processes = ["*;counters"]'

A program ends at a time that no report of counters decides, 0 to 1.2 s after it was seen to be read: with data
that came (client), in session.state 3 (PMDA), or in state 0 with a reason (a version that is not read). It throws,
collects and waits for locks before. Programs of "starts" end 3 to 9 s (APM_PAUSE) after they are read: while meters
are asked for, at their first reports, or later (25 s on a machine with a load of 30). One that has not ended 120 s
(APM_END) later hangs: APM_HUNG, a command with a PID, can look at it. Those that end by a signal are counted by it;
dmesg has their threads. Runs itself in a pid namespace of its own (root, or unshare -r).
"""
import collections, os, random, select, shutil, subprocess, sys, tempfile, threading, time

sys.dont_write_bytecode = True
import churn

READ, END = 120, int(os.environ.get("APM_END", 120))
# Longest time from the first report of the PMDA, or the age of 5 s, to the end of a program of "starts".
PAUSE = float(os.environ.get("APM_PAUSE", 9))
METERS = ("System.Diagnostics.Metrics", 2, 4, 'SessionId=SHARED;Metrics="*";RefreshInterval=1;MaxTimeSeries=1000;MaxHistograms=20;ClientId=exits')
CLIENTS = {"client": churn.DEFAULT, "client:counters": churn.DEFAULT[:1], "client:events": churn.DEFAULT[1:], "client:meters": churn.DEFAULT + [METERS],
           "client:meters-alone": churn.DEFAULT[1:] + [METERS]}
BUSY = 4
STARTS = """processes = ["*;counters"]
meters = ["*"]"""
results, lock, slowest = collections.Counter(), threading.Lock(), [0.0]


def result(what, process=None):
    with lock:
        results[what] += 1
    if process is not None and process.poll() is None:
        tasks = f"/proc/{process.pid}/task"
        threads = [" ".join(open(f"{tasks}/{t}/{of}").read().strip() for of in ("comm", "wchan")) for t in os.listdir(tasks)]
        print(f"{what}: {process.pid}, load {open('/proc/loadavg').read().split()[0]}, threads: {', '.join(threads)}", flush=True)
        if "APM_HUNG" in os.environ:
            subprocess.run([os.environ["APM_HUNG"], str(process.pid)])


class States(threading.Thread):
    """The PMDA's word for each process: state, and whether there is a reason."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.host, self.states, self.reasons, self.meters, self.ended = host, {}, {}, {}, False

    def run(self):
        while not self.ended:
            out = subprocess.run(["pminfo", "-h", self.host, "-f", "apm.dotnet.session.state", "apm.dotnet.session.reason", "apm.dotnet.meter"],
                                 capture_output=True, text=True).stdout
            into = None
            for line in out.splitlines():
                if line.startswith("apm."):
                    into = {"state": self.states, "reason": self.reasons}.get(line.rstrip().rsplit(".", 1)[1], self.meters)
                elif '"] value ' in line:
                    name, value = line.split(' or "', 1)[1].split('"] value ', 1)
                    into[int(name.split("::")[0].rsplit(":", 1)[1])] = value.strip('"')
            time.sleep(0.15)

    def settled(self, pid):
        """3, or 0 and why: `None` within the time."""
        end = time.monotonic() + READ
        while time.monotonic() < end:
            state = self.states.get(pid)
            if state == "3" or state == "0" and self.reasons.get(pid):
                return state
            time.sleep(0.1)
        return None


def say(process, line):
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def ends(program, session=None):
    """Tells the program to end, takes what it still sends, and notes how it ended."""
    process = program.process
    try:
        say(process, b"exit")
        begun = time.monotonic()
        while session and time.monotonic() < begun + END:
            if select.select([session.s], [], [], 1)[0] and not session.s.recv(1 << 16):
                break
        code = process.wait(END)
        with lock:
            slowest[0] = max(slowest[0], time.monotonic() - begun)
        result("status 0" if code == 0 else f"signal {-code}" if code < 0 else f"status {code}")
    except subprocess.TimeoutExpired:
        result("hangs at its end", process)
        process.kill()
        process.wait()
    except OSError as e:
        process.kill()
        result(f"{e}, code {process.wait()}")


def started(runtime, folder):
    program = churn.Program.__new__(churn.Program)
    try:
        program.__init__(runtime, folder)
        return program
    except (EOFError, TimeoutError, OSError) as e:
        process = getattr(program, "process", None)
        result(f"does not start: {e}", process)
        if process:
            process.kill()
            process.wait()
        return None


def one(runtime, way, folder, states):
    program = started(runtime, folder)
    if program is None:
        return
    session = None
    try:
        if way in CLIENTS:
            session = churn.Session(program.path, runtime, CLIENTS[way])
            session.read(0.5)
        elif states:
            state = states.settled(program.pid)
            with lock:
                results[f"(state {state} when it was told to end)"] += 1
        program.run("throw 20")
        program.run("gc 1")
        program.run("lock 3 1")
        pause = random.uniform(0, 1.2)
        session.read(pause) if session else time.sleep(pause)
    except (EOFError, TimeoutError, OSError, RuntimeError) as e:
        result(f"while it is read: {e!r}, code {program.process.poll()}")
        program.process.kill()
        program.process.wait()
        return
    ends(program, session)


def exits(runtime, way, count, at_once, folder):
    stage = states = None
    if way.startswith("pmda"):
        stage = churn.Stage(folder, way.partition(":")[2])
        states = States(stage.host)
        states.start()
    left = iter(range(count))

    def worker():
        while True:
            with lock:
                if next(left, None) is None:
                    return
            one(runtime, way, folder, states)

    threads = [threading.Thread(target=worker) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if stage:
        states.ended = True
        states.join()
        stage.close()


def starts(runtime, rounds, way, folder):
    stage = states = None
    if way == "pmda":
        stage = churn.Stage(folder, STARTS, age="5s")
        states = States(stage.host)
        states.start()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]

    def life():
        program = started(runtime, folder)
        if program is None:
            return
        session = None
        if states:
            state = states.settled(program.pid)
            with lock:
                results[f"(state {state} when it was told to end)"] += 1
            # Its session is opened again, with meters, when the first counters have come.
            time.sleep(random.uniform(3, PAUSE))
            with lock:
                results["(meters had come)"] += program.pid in states.meters
        else:
            time.sleep(5)
        if way in CLIENTS:
            try:
                first = churn.Session(program.path, runtime, CLIENTS[way][:-1] if METERS in CLIENTS[way] else CLIENTS["client"])
                first.read(1.5)
                first.stop()
                session = churn.Session(program.path, runtime, CLIENTS[way])
                session.read(random.uniform(1.5, 3.5))
            except (EOFError, TimeoutError, OSError, RuntimeError) as e:
                result(f"while it is read: {e!r}, code {program.process.poll()}", program.process)
                program.process.kill()
                program.process.wait()
                return
        elif not states:
            time.sleep(random.uniform(3, PAUSE))
        ends(program, session)

    try:
        for _ in range(rounds):
            threads = [threading.Thread(target=life) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    if stage:
        states.ended = True
        states.join()
        stage.close()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if os.environ.get("APM_CHURN") != "inside":
        # The shell is the namespace's init: it reaps.
        inside = ["unshare", "-pf", "--mount-proc"] + (["-r"] if os.getuid() else [])
        inside += ["bash", "-c", '"$@"; exit $?', "init", sys.executable] + sys.argv
        sys.exit(subprocess.run(inside, env=dict(os.environ, APM_CHURN="inside")).returncode)
    folder = tempfile.mkdtemp(suffix=".exits")
    os.chmod(folder, 0o755)
    begun = time.monotonic()
    try:
        if sys.argv[1] == "starts":
            rounds, way = (sys.argv[3:] + ["10", "pmda"][len(sys.argv[3:]):])[:2]
            starts(sys.argv[2], int(rounds), way, folder)
        else:
            count, at_once = (sys.argv[3:] + ["1000", "16"][len(sys.argv[3:]):])[:2]
            exits(sys.argv[1], sys.argv[2], int(count), int(at_once), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    told = ", ".join(f"{n} {what}" for what, n in sorted(results.items()))
    load = " ".join(open("/proc/loadavg").read().split()[:3])
    print(f"{' '.join(sys.argv[1:])}: {told}; slowest end {slowest[0]:.1f} s; {time.monotonic() - begun:.0f} s, load {load}", flush=True)
    sys.exit(set(w for w in results if w[0] != "(") != {"status 0"})


main()
