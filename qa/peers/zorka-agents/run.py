#!/usr/bin/env python3
"""Real Zorka agents against this PMDA under a private pmcd: their programs' own counts must be those of pminfo.

usage: ZORKA_AGENTS="VERSION=JAR ..." run.py [SCENARIO...]

ZORKA_AGENTS     agent jars by version; those of 2.0.3, 1.90.6 and 1.90.5 have been tried, under Java 17
ZORKA_CLASSPATH  jars of H2, and of Jetty 9 with the servlet API: with them there are SQL statements, and the scenario `web`
APM_PMDA         as in qa/common.sh

Scenarios, each with every agent: threads, load, web, queue (two places in the agent's queue), errors (the proxy answers instead),
lost (the proxy drops answers), late (the collector comes later), restart, kill, pmcd (they happen while orders are placed), stopped
(the PMDA is stopped for 30 s), together (all agents and a second one of the first version at once), persisted (agents before 1.90.7
start again with the id they have kept). Without arguments all run. Prints what was checked; status 1: something differed.
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
QA = os.path.join(HERE, "..", "..")
AGENTS = dict(pair.split("=", 1) for pair in os.environ.get("ZORKA_AGENTS", "").split())
CLASSPATH = os.environ.get("ZORKA_CLASSPATH", "")
SQL = int("h2" in CLASSPATH)
# An agent waits 125 ms after a failed request, then twice as long each time.
MOST_WAIT = 250

PMCD = r"""
cd "$1" && . ./common.sh
ZORKA_PORT=$2; write_config </dev/null
pmcd_start
echo "$HOST"
while read -r command; do
    case $command in
        restart) kill "$(pmda_pid)"; wait_for 10 pmda_gone; gone=$(date +%s.%N); pmda_restart ;;
        kill) kill -9 "$(pmda_pid)"; wait_for 10 pmda_gone; gone=$(date +%s.%N); pmda_restart ;;
        pmcd) pmcd_stop; gone=$(date +%s.%N); pmcd_start ;;
        stopped) pid=$(pmda_pid); kill -STOP "$pid"; sleep 30; kill -CONT "$pid" ;;
        log) cp "$D/log/apm.log" "$3" ;;
    esac
    echo "${gone:-0}"
done
"""

PROPERTIES = """
scripts = init.bsh, shop.bsh
zabbix = no
zabbix.active = no
snmp = no
nagios = no
log = DEBUG
zorka.hostname = {name}
agent.attrs.local.service = {name}
agent.attrs.local.host = host
tracer = yes
tracer.net = yes
tracer.net.protocol = cbor
tracer.net.http.url = http://127.0.0.1:{port}
tracer.net.http.qlen = {queue}
tracer.net.app.name = shop
tracer.net.env.name = test
tracer.min.trace.time = 0
tracer.min.method.time = 0
tracer.tuner = no
"""


class Run:
    """What one scenario has started, and what it found."""

    differed = 0

    def __init__(self, directory):
        self.directory, self.host, self.processes, self.number = directory, None, [], 0

    def path(self, name):
        return os.path.join(self.directory, name)

    def check(self, what, got, expected):
        if got == expected:
            print(f"  {what}: {got}", flush=True)
        else:
            Run.differed += 1
            print(f"  {what}: {got}, EXPECTED {expected}", flush=True)

    def start(self, *command, **kwargs):
        process = subprocess.Popen(command, text=True, **kwargs)
        self.processes.append(process)
        return process

    def collector(self, port):
        self.bash = self.start("bash", "-c", PMCD, "pmcd", QA, str(port), self.path("apm.log"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.host = self.bash.stdout.readline().strip()
        if not self.host.startswith("unix:"):
            raise SystemExit(f"pmcd does not start: {self.host}")

    def command(self, name):
        """Gives the time at which the last PMDA had gone; 0: the first one is there."""
        self.bash.stdin.write(name + "\n")
        self.bash.stdin.flush()
        return float(self.bash.stdout.readline())

    def values(self, metric):
        out = subprocess.run(["pminfo", "-h", self.host, "-f", metric], capture_output=True, text=True, check=False).stdout
        return {name: int(value) for name, value in re.findall(r'inst \[\d+ or "(.*)"\] value (\d+)', out)}

    def settle(self, seconds):
        """Until no trace has come for so long."""
        last, since = None, time.time()
        while time.time() - since < seconds:
            now = self.values("apm.zorka.request.trc.count"), self.values("apm.zorka.request.session.count")
            if now != last:
                last, since = now, time.time()
            time.sleep(0.2)

    def end(self):
        for process in reversed(self.processes):
            if process.stdin:
                process.stdin.close()
                process.wait(30)
            else:
                process.kill()
                process.wait()


def free_port():
    return int(subprocess.run(["bash", "-c", '. "$0"/common.sh; free_port', QA], capture_output=True, text=True, check=True).stdout)


class Proxy:
    def __init__(self, run, upstream, *rules):
        self.port, self.log = free_port(), run.path(f"proxy{len(run.processes)}")
        run.start(sys.executable, os.path.join(HERE, "proxy.py"), str(self.port), str(upstream), self.log, *rules)
        while not os.path.exists(self.log):
            time.sleep(0.05)

    def rows(self, since=0.0):
        """Time, end of the path and status of each request."""
        with open(self.log, encoding="utf-8") as file:
            rows = [line.split() for line in file]
        return [row for row in rows if float(row[0]) >= since]

    def answers(self, since=0.0):
        return collections.Counter((row[1], int(row[2])) for row in self.rows(since))

    def most_errors(self):
        """Most error answers in a row."""
        most = now = 0
        for row in self.rows():
            now = now + 1 if int(row[2]) >= 300 else 0
            most = max(most, now)
        return most


class Agent:
    """A JVM with an agent that runs Shop."""

    def __init__(self, run, version, port, name=None, queue=100_000, **arguments):
        self.run, self.version, self.modern = run, version, version[0] == "2" or version >= "1.90.7"
        self.name = name or f"shop-{version}"
        self.home = run.path(self.name)
        run.number += 1
        self.files = {what: run.path(f"{run.number}.{what}") for what in ("counts", "stop", "end")}
        self.instance = f"{self.name}/host" if self.modern else self.name
        if not os.path.exists(self.home):
            self.install(port, queue)
        arguments = {"sql": SQL, **arguments, **self.files}
        opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util")]
        self.process = run.start(
            os.environ.get("JAVA", "java"), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *opens,
            f"-javaagent:{AGENTS[version]}={self.home}", "-cp", f"{run.directory}:{CLASSPATH}", "Shop",
            *(f"{key}={value}" for key, value in arguments.items()),
            stdout=open(run.path(f"{run.number}.out"), "w", encoding="utf-8"), stderr=subprocess.STDOUT,
        )  # fmt: skip

    def install(self, port, queue):
        os.makedirs(os.path.join(self.home, "scripts"))
        os.makedirs(os.path.join(self.home, "log"))
        with open(os.path.join(HERE, "shop.bsh"), encoding="utf-8") as file:
            script = file.read().replace("ATTRIBUTES", ", tracer.formatAttrs(_agent_attrs)" if self.modern else "")
        with open(os.path.join(self.home, "scripts", "shop.bsh"), "w", encoding="utf-8") as file:
            file.write(script)
        with open(os.path.join(self.home, "zorka.properties"), "w", encoding="utf-8") as file:
            file.write(PROPERTIES.format(name=self.name, port=port, queue=queue))

    def create(self, what):
        with open(self.files[what], "w", encoding="utf-8"):
            pass

    def counts(self):
        """The program's own, when it is done."""
        while not os.path.exists(self.files["counts"]):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended: {self.run.directory}")
            time.sleep(0.1)
        with open(self.files["counts"], encoding="utf-8") as file:
            return collections.Counter({name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", file.read())})

    def end(self):
        self.create("end")
        self.process.wait(30)

    def check(self, counts):
        """The program's counts against the metrics."""
        types = {"statement": "db" if self.modern else "SQL", "request": "http" if self.modern else "HTTP"}
        expected = {types.get(name, name): counts[name] for name in ("order", "item", "job", "statement", "request") if counts[name]}
        got = {name.split("::")[1]: n for name, n in self.run.values("apm.zorka.type.count").items() if name.startswith(self.instance + "::")}
        self.run.check(f"{self.name} spans", got, expected)
        if counts["order"]:
            self.run.check(f"{self.name} failed orders", self.run.values("apm.zorka.type.errors").get(f"{self.instance}::order"), counts["refused"])
            reports = self.run.values("apm.zorka.exception.count").get(self.instance)
            self.run.check(f"{self.name} exceptions", reports, counts["refused"] + counts["unread"])

    def waits(self):
        """How long the agent has waited before it tried a trace again."""
        found = set()
        for name in glob.glob(os.path.join(self.home, "log", "zorka.log*")):
            with open(name, encoding="utf-8", errors="replace") as file:
                found.update(int(wait) for wait in re.findall(r"Will retry \(wait=(\d+)\)", file.read()))
        self.run.check(f"{self.name} longest wait of {sorted(found)} ms is short", max(found, default=0) <= MOST_WAIT, True)


def one_by_one(run, rules, settle=3, **arguments):
    for version in AGENTS:
        proxy = Proxy(run, run.port, *rules)
        agent = Agent(run, version, proxy.port, **arguments)
        counts = agent.counts()
        run.settle(settle)
        print(f"  answers {dict(proxy.answers())}")
        if "queue" not in arguments:
            agent.check(counts)
        else:
            run.check(f"{agent.name} traces that were sent", run.values("apm.zorka.trace.count").get(agent.instance), proxy.answers()["trc", 202])
        agent.waits()
        agent.end()


def threads(run):
    one_by_one(run, (), threads=8, rounds=150)


def load(run):
    for version in AGENTS:
        agent = Agent(run, version, run.port, threads=4, jobs=3000)
        first = None
        while (traces := run.values("apm.zorka.trace.count").get(agent.instance, 0)) < 12_000:
            first = first or traces and (time.time(), traces)
            time.sleep(0.05)
        if first:
            print(f"  {agent.name}: {(traces - first[1]) / (time.time() - first[0]):.0f} requests/s, {traces - first[1]} of them")
        run.settle(3)
        agent.check(agent.counts())
        agent.waits()
        agent.end()


def web(run):
    one_by_one(run, (), threads=4, web=60)


def queue(run):
    one_by_one(run, (), queue=2, threads=4, rounds=100, pause=0)


def errors(run):
    one_by_one(run, ("3:500", "7:412", "11:401", "17:503", "25:400", "31:500", "40:412"), threads=2, rounds=30)


def lost(run):
    one_by_one(run, ("/9:lost",), threads=2, rounds=30)


def late(run):
    agents = [Agent(run, version, run.port, threads=2, rounds=20) for version in AGENTS]
    counts = [agent.counts() for agent in agents]
    time.sleep(2)
    run.collector(run.port)
    run.settle(20)
    for agent, count in zip(agents, counts):
        agent.check(count)


def through(run, command):
    """Orders are placed while something happens to the PMDA; what it accepts afterwards must be what it shows."""
    agents = []
    for version in AGENTS:
        proxy = Proxy(run, run.port)
        agents.append((Agent(run, version, proxy.port, threads=2, rounds=100_000, gap=15), proxy))
    time.sleep(10)
    gone = run.command(command)
    time.sleep(8)
    for agent, _ in agents:
        agent.create("stop")
    counts = [agent.counts() for agent, _ in agents]
    run.settle(8)
    for (agent, proxy), count in zip(agents, counts):
        accepted = proxy.answers(gone)
        print(f"  answers of this PMDA {dict(accepted)}")
        traces = run.values("apm.zorka.trace.count").get(agent.instance, 0) + run.values("apm.zorka.duplicate.count").get(agent.instance, 0)
        run.check(f"{agent.name} traces", traces, accepted["trc", 202])
        run.check(f"{agent.name} has at most one error answer in a row", proxy.most_errors() <= 1, True)
        if command == "stopped":
            agent.check(count)
            agent.waits()


def restart(run):
    through(run, "restart")


def kill(run):
    through(run, "kill")


def pmcd(run):
    through(run, "pmcd")


def stopped(run):
    through(run, "stopped")


def together(run):
    versions = [*AGENTS, next(iter(AGENTS))]
    agents = [Agent(run, version, run.port, name=f"shop-{i}", threads=2, rounds=200, gap=5) for i, version in enumerate(versions)]
    counts = [agent.counts() for agent in agents]
    run.settle(3)
    for agent, count in zip(agents, counts):
        agent.check(count)
        agent.waits()


def persisted(run):
    for version in AGENTS:
        total, proxy = collections.Counter(), Proxy(run, run.port)
        for _ in range(2):
            agent = Agent(run, version, proxy.port, threads=2, rounds=20)
            if agent.modern:
                agent.end()
                break
            total += agent.counts()
            run.settle(3)
            agent.check(total)
            agent.end()
        else:
            run.check(f"{agent.name} registrations", sum(n for (path, _), n in proxy.answers().items() if path == "register"), 1)


SCENARIOS = (threads, load, web, queue, errors, lost, late, restart, kill, pmcd, stopped, together, persisted)


def main():
    if not AGENTS:
        raise SystemExit(__doc__)
    scenarios = [s for s in SCENARIOS if s.__name__ in sys.argv[1:] or not sys.argv[1:] and (s is not web or "jetty" in CLASSPATH)]
    for scenario in scenarios:
        print(scenario.__name__, flush=True)
        directory = tempfile.mkdtemp(suffix=".zorka")
        sources = [os.path.join(HERE, "Shop.java")] + ([os.path.join(HERE, "ShopWeb.java")] if "jetty" in CLASSPATH else [])
        subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-d", directory, "-cp", CLASSPATH, *sources], check=True)
        before, run = Run.differed, Run(directory)
        run.port = free_port()
        try:
            if scenario is not late:
                run.collector(run.port)
            scenario(run)
            run.command("log")
            with open(run.path("apm.log"), encoding="utf-8") as file:
                run.check("panics or errors in the log", [line for line in file if re.search("panic|ERROR", line)], [])
        finally:
            run.end()
        if Run.differed == before:
            shutil.rmtree(directory)
        else:
            print(f"  kept: {directory}")
    return min(Run.differed, 1)


if __name__ == "__main__":
    sys.exit(main())
