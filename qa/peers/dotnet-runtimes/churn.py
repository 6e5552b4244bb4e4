#!/usr/bin/env python3
"""Acceptance run with real .NET runtimes: processes come and go, other tools have sessions with them, the
PMDA is killed and pmcd restarted. Nobody may die, hang or keep a session of ours, and figures must be true.

  churn.py [MINUTES [PROCESSES [RUNTIMES]]]    10 20 9,10,31
  churn.py cost [RUNTIME]                      processor time of programs without and with the PMDA's session

Runs itself in a pid namespace of its own (root, or unshare -r), so it reads nobody else's processes.
"""
import json, os, random, re, select, shutil, signal, socket, struct, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
QA = os.path.dirname(os.path.dirname(HERE))
STAGE = r"""
. "$1/common.sh"
write_config </dev/null
pmcd_start
echo "host $HOST"
while read -r what; do
    pmda=$(pgrep -P "$PMCD_PID" -x pmdaapm)
    case $what in
    kill) kill -9 "${pmda:?no PMDA}"; until pmcd_answers apm.self.version; do sleep 1; kill -HUP "$PMCD_PID"; done ;;
    restart) kill "$PMCD_PID"; wait "$PMCD_PID" 2>/dev/null; pmcd_start ;;
    off) kill "$PMCD_PID"; wait "$PMCD_PID" 2>/dev/null; while pgrep -x pmdaapm >/dev/null; do sleep 0.1; done ;;
    off-9) kill -9 "${pmda:?no PMDA}"; kill "$PMCD_PID"; wait "$PMCD_PID" 2>/dev/null ;;
    on) pmcd_start ;;
    log) cp "$D/log/apm.log" "$2" ;;
    pid) echo "$pmda"; continue ;;
    esac
    echo "done $what"
done
"""
CLR = "Microsoft-Windows-DotNETRuntime"
DEFAULT = [("System.Runtime", 0, 4, "EventCounterIntervalSec=1"), (CLR, 0x1C001, 4, None)]
faults, notes, lock = [], {}, threading.Lock()


def fault(text):
    with lock:
        faults.append(text)
        print("FAULT", time.strftime("%T"), text, flush=True)


def note(key, n=1):
    with lock:
        notes[key] = notes.get(key, 0) + n


# ---- the diagnostics socket, spec of docs/protocols/dotnet.md 2

def text(s):
    if s is None:
        return struct.pack("<I", 0)
    raw = (s + "\0").encode("utf-16-le")
    return struct.pack("<I", len(raw) // 2) + raw


def request(command, payload):
    return b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, command, 0) + payload


def exactly(s, n):
    got = b""
    while len(got) < n:
        part = s.recv(n - len(got))
        if not part:
            raise EOFError(f"end after {len(got)} of {n} bytes")
        got += part
    return got


def answer(s):
    head = exactly(s, 20)
    size, group, code = struct.unpack("<HBB", head[14:18])
    body = exactly(s, size - 20)
    if code == 0xFF:
        raise RuntimeError(f"error {struct.unpack('<I', body[:4])[0]:#x}")
    return body


class Session:
    """A session of another tool."""

    def __init__(self, path, runtime, providers=DEFAULT):
        self.path, self.bytes = path, 0
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(15)
        self.s.connect(path)
        array = struct.pack("<I", len(providers)) + b"".join(
            struct.pack("<QI", keywords, level) + text(name) + text(arguments) for name, keywords, level, arguments in providers)
        if runtime == "31":
            self.s.sendall(request(3, struct.pack("<IIB", 16, 1, 0) + array))
        else:
            self.s.sendall(request(5, struct.pack("<IIQB", 16, 1, 0, 0) + array))
        self.id, = struct.unpack("<Q", answer(self.s))
        if exactly(self.s, 8) != b"Nettrace":
            raise RuntimeError("no stream")

    def read(self, seconds):
        end, data = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0:
            if select.select([self.s], [], [], left)[0]:
                data = self.s.recv(1 << 16)
                if not data:
                    return False
                self.bytes += len(data)
                time.sleep(0.02)
        return True

    def stop(self):
        """Asks on another connection while this one is read to its end."""
        other = socket.socket(socket.AF_UNIX)
        other.settimeout(15)
        other.connect(self.path)
        other.sendall(request(1, struct.pack("<Q", self.id)))
        while data := self.s.recv(1 << 16):
            self.bytes += len(data)
        answer(other)
        other.close()
        self.s.close()


# ---- programs

class Program:
    def __init__(self, runtime, folder):
        self.runtime, self.truth, self.true = runtime, {}, True
        environment = dict(os.environ, TMPDIR=folder)
        self.process = subprocess.Popen([os.path.join(HERE, "setup"), "run", runtime], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.pid, self.started, self.gone = self.process.pid, time.monotonic(), False
        self.folder, self.found = folder, None
        self.line(120)
        start = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()[19]
        self.path = f"{folder}/dotnet-diagnostic-{self.pid}-{start}-socket"

    def line(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise TimeoutError("no answer of the program")
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("the program has ended")
        return json.loads(line)

    def run(self, command, seconds=60):
        self.process.stdin.write((command + "\n").encode())
        self.process.stdin.flush()
        result = self.line(seconds)
        word = result.pop("command")
        for key, value in result.items():
            self.truth[word, key] = self.truth.get((word, key), 0) + value

    def cpu(self):
        return sum(int(open(f"/proc/{self.pid}/task/{t}/schedstat").read().split()[0]) for t in os.listdir(f"/proc/{self.pid}/task")) / 1e9

    def exceptions(self):
        return sum(v for (word, _), v in self.truth.items() if word == "throw")

    def name(self):
        return f"{self.pid} of .NET {self.runtime}"


METRICS = ["apm.dotnet.session.state", "apm.dotnet.exceptions.by_type", "apm.dotnet.exceptions.count", "apm.dotnet.lock.contention.count", "apm.dotnet.gc.count",
           "apm.dotnet.gc.pause.count", "apm.dotnet.events.lost", "apm.dotnet.session.errors", "apm.self.memory.rss"]


class Stage:
    """A private pmcd with the PMDA, and the latest values of all processes."""

    def __init__(self, folder, lines='processes = ["*;counters", "*;version=3;counters"]', age="0"):
        self.folder = folder
        keys = f'directories = ["{folder}"]\nlisten = "{folder}/port"\n{lines}\n'
        self.bash = subprocess.Popen(["bash", "-c", STAGE, "stage", QA, folder + "/apm.log"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, env=dict(os.environ, DOTNET_KEYS=keys, DOTNET_AGE=age), text=True)
        self.host = self.bash.stdout.readline().split()[1]
        self.values, self.life = {}, 0

    def order(self, what):
        self.life += 1
        self.bash.stdin.write(what + "\n")
        self.bash.stdin.flush()
        got = self.bash.stdout.readline()
        if got.strip() != "done " + what:
            fault(f"{what}: {got!r}")
        self.life += 1

    def pid(self):
        self.bash.stdin.write("pid\n")
        self.bash.stdin.flush()
        return int(self.bash.stdout.readline())

    def fetch(self):
        out = subprocess.run(["pminfo", "-h", self.host, "-f"] + METRICS, capture_output=True, text=True).stdout
        values, metric = {}, None
        for line in out.splitlines():
            if line and not line[0].isspace():
                metric = line.split()[0]
            elif m := re.match(r'\s+inst \[\d+ or "[^":]*:(\d+)(?:::)?([^"]*)"\] value (\d+)', line):
                values[metric, int(m[1]), m[2]] = int(m[3])
            elif m := re.match(r"\s+value (\d+)", line):
                values[metric, 0, ""] = int(m[1])
        self.values = values
        return values

    def value(self, metric, program, row=""):
        return self.values.get(("apm.dotnet." + metric, program.pid, row))

    def wait_streaming(self, program, fetch=False):
        """Whether it is streaming within 15 s."""
        end = time.monotonic() + 15
        while time.monotonic() < end:
            if fetch:
                self.fetch()
            if self.value("session.state", program) == 3:
                return True
            time.sleep(0.3)
        return False

    def close(self):
        self.bash.stdin.close()
        self.bash.wait(30)


def life(stage, runtime, folder, programs, stop):
    """Programs one after the other."""
    while not stop.is_set():
        try:
            program = Program(runtime, folder)
        except (OSError, EOFError, TimeoutError, IndexError) as e:
            fault(f"{runtime} does not start: {e}")
            return
        note(f"programs of {runtime}")
        life_of_pmda = stage.life
        with lock:
            programs.append(program)
        try:
            found = stage.wait_streaming(program)
            if found:
                note("found")
            elif stage.life == life_of_pmda:
                fault(f"{program.name()} is not streaming after 15 s: {stage.value('session.state', program)}")
            end = time.monotonic() + random.uniform(3, 25)
            while time.monotonic() < end and not stop.is_set():
                program.run(random.choice(["gc 3", "throw 30", "lock 3 400", "allocate 20", "sleep 500", "orders 100"]))
                time.sleep(random.uniform(0, 1))
            way = random.choice(["exit", "exit", "term", "kill"])
            if found and way == "exit" and not stop.is_set():
                compare(stage, program, life_of_pmda)
            program.gone = True
            if way == "exit":
                program.process.stdin.write(b"exit\n")
                program.process.stdin.flush()
            else:
                program.process.send_signal(signal.SIGTERM if way == "term" else signal.SIGKILL)
            code = program.process.wait(20)
            if way == "exit" and code != 0:
                fault(f"{program.name()} ends with {code}: {program.process.stderr.read()[-300:]!r}")
            note("end by " + way)
        except subprocess.TimeoutExpired:
            fault(f"{program.name()} hangs at its end ({way})")
            program.process.kill()
        except (EOFError, BrokenPipeError, TimeoutError) as e:
            code = program.process.poll()
            fault(f"{program.name()}: {e}, after {time.monotonic() - program.started:.1f} s, code {code}, PMDA life {life_of_pmda}..{stage.life}")
            program.process.kill()
        finally:
            program.gone = True
            with lock:
                programs.remove(program)


def compare(stage, program, life_of_pmda):
    """Figures of a program whose whole life one PMDA has seen; two intervals and a fetch later at most."""
    # The runtime's own locks count too.
    waits = sum(v for (word, key), v in program.truth.items() if (word, key) == ("lock", "waits"))
    want = [("exceptions.count", "", program.exceptions(), 0), ("lock.contention.count", "", waits, 1000)]
    for generation in range(3):
        n = sum(v for (_, key), v in program.truth.items() if key == f"gen{generation}")
        want.append(("gc.count", f"gen{generation}", n, 5))
    end, wrong = time.monotonic() + 6, None
    while wrong != [] and time.monotonic() < end:
        time.sleep(0.5)
        got = [(metric, stage.value(metric, program, row) or 0, n, more) for metric, row, n, more in want]
        wrong = [x for x in got if not x[2] <= x[1] <= x[2] + x[3]]
    if stage.life != life_of_pmda:
        note("not compared: the PMDA was restarted")
    elif stage.value("events.lost", program):
        note("not compared: events were lost")
    else:
        for metric, got, n, _ in wrong:
            types = {k[2]: v for k, v in stage.values.items() if k[:2] == ("apm.dotnet.exceptions.by_type", program.pid)}
            fault(f"{program.name()}: {metric} {got}, really {n} {types if 'exc' in metric else ''}")
        note("figures compared", len(want))


def other_tool(programs, stop):
    while not stop.is_set():
        with lock:
            young = [p for p in programs if not p.gone and time.monotonic() - p.started > 1]
        if not young:
            time.sleep(0.5)
            continue
        program = random.choice(young)
        try:
            session = Session(program.path, program.runtime)
            if session.read(random.uniform(1, 6)):
                session.stop()
            note("sessions of other tools")
        except (OSError, EOFError, RuntimeError) as e:
            if not program.gone:
                time.sleep(1)
                if not program.gone and program.process.poll() is None:
                    fault(f"another tool with {program.name()}: {e!r}")


def probe(program):
    """How many sessions the process still takes: 64 if nobody has one."""
    sessions = []
    try:
        for _ in range(65):
            sessions.append(Session(program.path, program.runtime, DEFAULT[:1]))
    except (RuntimeError, EOFError, OSError):
        pass
    free = len(sessions)
    for session in sessions:
        session.stop()
    return free


def churn(folder, minutes, processes, runtimes):
    stage, programs, stop = Stage(folder), [], threading.Event()
    threads = [threading.Thread(target=life, args=(stage, runtimes[i % len(runtimes)], folder, programs, stop)) for i in range(processes)]
    threads += [threading.Thread(target=other_tool, args=(programs, stop)) for _ in range(5)]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    begun, orders, rss = time.monotonic(), ["kill", "restart"], []
    next_order = begun + min(90, minutes * 20)
    while time.monotonic() - begun < minutes * 60:
        values = stage.fetch()
        rss.append(values.get(("apm.self.memory.rss", 0, ""), 0))
        if time.monotonic() > next_order:
            order = orders.pop(0)
            orders.append(order)
            stage.order(order)
            note("PMDA: " + order)
            next_order = time.monotonic() + min(90, minutes * 20)
        time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join(60)
    print("resident memory of the PMDA:", rss[0], rss[len(rss) // 2], rss[-1])
    # Nobody keeps a session of ours, however we end.
    for way in ["off", "off-9"]:
        last = [Program(runtime, folder) for runtime in runtimes]
        idle = [len(os.listdir(f"/proc/{p.pid}/task")) for p in last]
        for p in last:
            stage.wait_streaming(p, True)
        streaming = [len(os.listdir(f"/proc/{p.pid}/task")) for p in last]
        time.sleep(2)
        stage.order(way)
        time.sleep(4)
        after = [len(os.listdir(f"/proc/{p.pid}/task")) for p in last]
        for p, a, b, c in zip(last, idle, streaming, after):
            free = probe(p)
            print(f"{way}: {p.runtime}: threads {a} new, {b} streaming, {c} after; {free} sessions free", flush=True)
            if free != 64:
                fault(f"{way}: {p.name()} has room for {free} sessions, not 64")
            p.process.stdin.write(b"exit\n")
            p.process.stdin.flush()
            if p.process.wait(20) != 0:
                fault(f"{way}: {p.name()} ends with {p.process.returncode}")
        if way == "off":
            stage.order("on")
    stage.close()


def cost(folder, runtime):
    """Least processor time of three runs, without and with the PMDA's default session."""
    stage = Stage(folder)
    work = {"throw 60000": 60000, "allocate 8000": 8000 * 1024, "gc 300": 300, "lock 20 5": 19, "burn 3000": None}
    rows = {}
    for state in ("without", "with"):
        if state == "without":
            stage.order("off")
        else:
            stage.order("on")
        for command, units in work.items():
            best = None
            for _ in range(3):
                program = Program(runtime, folder)
                program.run("throw 100"), program.run("allocate 20"), program.run("gc 3")
                if state == "with":
                    stage.wait_streaming(program, True)
                    time.sleep(1)
                before, rounds = program.cpu(), program.truth.get(("burn", "rounds"), 0)
                program.run(command, 300)
                used = program.cpu() - before
                if units is None:
                    used /= program.truth["burn", "rounds"] - rounds
                best = min(best or used, used)
                program.process.stdin.write(b"exit\n")
                program.process.stdin.flush()
                program.process.wait(20)
            rows[command, state] = best
    for command, units in work.items():
        a, b = rows[command, "without"], rows[command, "with"]
        each = f", {(b - a) / units * 1e9:+9.0f} ns each" if units else " a round"
        print(f".NET {runtime} {command:15} {a * 1000:9.2f} ms without, {b * 1000:9.2f} ms with: {(b / a - 1) * 100:+6.1f} %{each}")
    stage.close()


def main():
    if os.environ.get("APM_CHURN") != "inside":
        # The shell is the namespace's init: it reaps.
        inside = ["unshare", "-pf", "--mount-proc"] + (["-r"] if os.getuid() else [])
        inside += ["bash", "-c", '"$@"; exit $?', "init", sys.executable] + sys.argv
        sys.exit(subprocess.run(inside, env=dict(os.environ, APM_CHURN="inside")).returncode)
    folder = tempfile.mkdtemp(suffix=".churn")
    os.chmod(folder, 0o755)
    try:
        if sys.argv[1:2] == ["cost"]:
            cost(folder, (sys.argv[2:] or ["9"])[0])
        else:
            arguments = sys.argv[1:] + ["10", "20", "9,10,31"][len(sys.argv) - 1:]
            churn(folder, float(arguments[0]), int(arguments[1]), arguments[2].split(","))
        print(json.dumps(notes, indent=1, sort_keys=True))
        print(f"{len(faults)} faults")
    finally:
        if os.environ.get("APM_KEEP"):
            print("kept:", folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
