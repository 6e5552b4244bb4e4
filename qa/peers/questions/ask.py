#!/usr/bin/python3
"""Asks what docs/questions.md says can be asked, for qa/131.

usage: ask.py live PAGE ARCHIVE         plays the scene ($D/go, $D/stop), asks all meanwhile, and writes when it was into $D/window. ARCHIVE is being written
       ask.py past PAGE ARCHIVE         asks an archive of that time

Commands and clicks are read out of the page's tables. For each row there is a check below: what was answered, and what is true of the
scene (play.py). Numbers are equal within 2 %, all else exactly. While the scene plays, a command that is not right is run again: its
interval is two seconds, and on a busy machine what happened in it may be some hundredths more or less. An archive is asked once.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from answers import Answer, code, judged  # noqa: E402
from clicks import CLICKS, PANELS, Page, boards, clicked  # noqa: E402
from commands import CHECKS  # noqa: E402
from truth import D, KNOWN, Processor, Resident, Truth, details, read  # noqa: E402

PATIENCE = float(os.environ.get("APM_PATIENCE", 120))


def rows_of(page, *heads):
    """{(question, of): (cell, cell)} of the table of a page that has these heads."""
    found, within = {}, False
    with open(page, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else []
            if tuple(cells) == ("question", "of", *heads):
                within = True
            elif not cells:
                within = False
            elif within and not set(line) <= set("|- \n"):
                cells = [cell.strip() for cell in re.split(r"\|", line.strip()[1:-1])]
                assert (cells[0], cells[1]) not in found, f"twice: {cells[:2]}"
                found[cells[0], cells[1]] = tuple(cells[2:])
    if not found:
        sys.exit(f"{page} has no table of {heads}")
    return found


def run(command):
    """Runs a line as it stands, and beside it with lines of JSON if it is one of pcp apm."""
    words = command.split()
    also = words[:2] == ["pcp", "apm"] and not {"events", "folded"} & set(words)
    lines = subprocess.Popen(["bash", "-c", command.replace("pcp apm", "pcp apm -j", 1)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, stdin=subprocess.DEVNULL) if also else None
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    text, at = done.stdout, time.time()
    lines = lines.communicate()[0] if lines else text if "events" in words else ""
    if done.returncode or not text.strip():
        raise LookupError(f"status {done.returncode}: {done.stderr.strip() or 'nothing'}")
    lines = [json.loads(line) for line in lines.splitlines()] if "events" in words or also else []
    # The table has these rows.
    for key in ("agent", "service", "runtime", "method", "trace"):
        if also and lines and key in lines[0] and str(lines[0][key])[:12] not in text:
            raise LookupError(f"{lines[0][key]} is not in the table")
    return Answer(text, lines, at)


def asked(command, wanted, truth, until):
    """Asks until all that is to be known of it is right: {row: (what is wrong, error)}."""
    left, found, tries = dict(wanted), {}, 0
    while left:
        tries += 1
        try:
            answer = run(command)
            details(f"--- {command}\n{answer.text[:3000]}")
        except LookupError as error:
            found.update({row: ([str(error)], 0) for row in left})
        else:
            for row, function in list(left.items()):
                found[row] = judged(function, answer, truth)
                if not found[row][0]:
                    del left[row]
        if not truth.live or time.monotonic() > until and tries > 3:
            break
        for row in left:
            details(f"{row}: {found[row][0]}")
    return found


def commands(page, live):
    """{command: {row: its check}} of the page's table."""
    found, table = {}, rows_of(page, "live", "in the past")
    for row in set(table) ^ set(CHECKS):
        sys.exit(f"{'no check of' if row in table else 'not in the page:'} {row}")
    for row, cells in table.items():
        command = code(cells[0 if live else 1])
        if command:
            found.setdefault(command, {})[row] = CHECKS[row]
        elif cells[0 if live else 1]:
            sys.exit(f"not one command: {row}")
    return found, list(table)


def checked(table):
    """The table of clicks, each of which has a check."""
    for number, checks in enumerate((CLICKS, PANELS)):
        for row in {row for row, cells in table.items() if code(cells[number])} ^ set(checks):
            sys.exit(f"{'no check of the click' if row in table else 'not in the page:'} {row}")
    return table


def told(order, found, name):
    """A line for each question, and how far the worst number of it is from the truth."""
    for row in order:
        if row in found:
            wrong, worst = found[row]
            print(f"{name}: {row[0]}{' (' + row[1] + ')' if row[1] else ''} {'yes' if not wrong else 'NO'}")
            details(f"{name}: {row}: {worst:.2%}" + "".join(f"\n        {one}" for one in wrong))


def written(name, value):
    with open(os.path.join(D, name + ".new"), "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    os.rename(os.path.join(D, name + ".new"), os.path.join(D, name))


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"waited in vain: {what}")
        time.sleep(0.1)


COUNTERS = ["apm.profiler.call.count", "apm.profiler.suspend.count", "apm.profiler.gc.count", "apm.zorka.span.count", "apm.dotnet.exceptions.count", "apm.dotnet.gc.count",
            "apm.dotnet.lock.contention.count", "apm.jvm.safepoint.time", "apm.mono.exceptions.count", "apm.mono.exceptions.by_site", "apm.mono.lock.top.count",
            "apm.mono.lock.contention.count", "apm.mono.gc.count", "apm.mono.gc.pause.count", "apm.mono.profile.methods.self", "apm.mono.runtime.gc_collections0",
            "apm.lttng.session.events", "apm.agent.lost"]


def still():
    """Until nothing has moved for as long as programs need to say what they have: they send once a second."""
    seen = lambda: subprocess.run(["pminfo", "-f", *COUNTERS], capture_output=True, text=True, check=False).stdout
    end, before = time.monotonic() + PATIENCE, None
    while (now := seen()) != before:
        if time.monotonic() > end:
            sys.exit("the scene does not rest")
        before = now
        time.sleep(1.3)


def second_after():
    """The next full second, when it has come."""
    at = int(time.time()) + 1
    time.sleep(max(0, at - time.time()))
    return at


def logged(archive):
    """How far an archive goes."""
    from pcp import pmapi
    import cpmapi
    try:
        return float(pmapi.pmContext(cpmapi.PM_CONTEXT_ARCHIVE, archive).pmGetArchiveEnd())
    except pmapi.pmErr:
        return 0.0


def live(page, archive):
    truth, known = Truth(True), commands(page, True)
    wanted, order = known
    still()
    begin = second_after()
    # Two samples of pmlogger later: what is at the begin is between two of the same. A first beat has what comes once.
    written("go", str(begin + 2.2))
    time.sleep(max(0, begin + 3 - time.time()))
    until = time.monotonic() + PATIENCE / 2
    table = checked(rows_of(page, "page", "Grafana"))
    # Rates of the page's rules take 30 s: a page of its own looks at them meanwhile.
    rules = {row: cells for row, cells in table.items() if code(cells[0]) == "#alerts"}
    beside = ThreadPoolExecutor(3)
    parts = rules, {row: cells for row, cells in table.items() if row not in rules}
    showing = [beside.submit(clicked, part, Page(os.environ["PAGE"], os.environ["WEB"]), truth, until) for part in parts]
    grafana = beside.submit(boards, table, truth, until)
    with ThreadPoolExecutor(int(os.environ.get("APM_ASK", 4))) as pool:
        # What is in memory only comes first.
        answers = list(pool.map(lambda one: asked(*one, truth, until), sorted(wanted.items(), key=lambda one: "trace" not in one[0])))
    found = {row: answer for one in answers for row, answer in one.items()}
    clicks = {}
    for shown in showing:
        clicks.update(shown.result())
    panels = grafana.result()
    written("stop", str(time.time() + 0.3))
    for source in Truth.SOURCES:
        wait_for(lambda: os.path.exists(os.path.join(D, source + ".truth")), source)
    still()
    end = second_after()
    wait_for(lambda: logged(archive) > end + 0.5, "pmlogger")
    # The sample of the archive is one about then.
    written("window", {"begin": begin, "end": end, "rss": KNOWN.rss.since(end - 3), "cpu": KNOWN.cpu.seen})
    told(order, found, "live")
    told(table, clicks, "page")
    told(table, panels, "Grafana")


def past(page, archive):
    truth, (wanted, order) = Truth(False), commands(page, False)
    KNOWN.cpu.seen = {name: list(map(tuple, seen)) for name, seen in truth.window["cpu"].items()}
    # With the day: a test may run over midnight.
    clock = lambda at: time.strftime('"@%Y-%m-%d %H:%M:%S"', time.gmtime(at))
    found, made = {}, {}
    for command, rows in wanted.items():
        line = command.replace("ARCHIVE", archive).replace("@10:42", clock(truth.begin)).replace("@10:43", clock(truth.end))
        made.setdefault(line.replace("-t 1m ", f"-t {truth.seconds:.0f}s "), {}).update(rows)
    with ThreadPoolExecutor(3) as pool:
        for one in pool.map(lambda one: asked(*one, truth, 0), made.items()):
            found.update(one)
    table = rows_of(page, "page", "Grafana")
    clicks = clicked(table, Page(os.environ["PAST"], "-"), truth, time.monotonic() + PATIENCE / 2)
    told(order, found, "past")
    told(table, clicks, "page of the past")


if __name__ == "__main__":
    pids = read("mono.out").split("\n")[0].split()[1:]
    pmda = int(os.environ["PMDA_PID"])
    KNOWN.jvm = json.loads(read("jvm.known"))
    KNOWN.cpu = Processor({"area": int(pids[0]), "stream": int(pids[1]), "jvm": KNOWN.jvm["pid"], "pmda": pmda})
    KNOWN.rss = Resident(pmda)
    if sys.argv[1] == "live":
        KNOWN.cpu.start()
        live(sys.argv[2], sys.argv[3])
    else:
        past(sys.argv[2], sys.argv[3])
