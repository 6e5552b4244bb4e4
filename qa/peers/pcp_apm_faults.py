#!/usr/bin/python3
"""What pcp apm says when something goes wrong: pcp_apm_faults.py PYTHON PCP-APM HOST ARCHIVE FOLDER

Runs each command against each fault. Each ends with the status that it should, with at most one line on standard error, which
begins with the program's name, and without a traceback. Prints a line for each fault: the lines that were said.
"""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

PYTHON, PROGRAM, HOST, ARCHIVE, FOLDER = sys.argv[1:]
TABLES = ["agents", "services", "runtimes", "methods", "stacks", "folded"]
# Those of event records, which the archive has none of.
RECORDS = ["events", "traces", "trace 4bf9", "tree", "folded -l"]
# Of an archive.
PAGE = [f"page {FOLDER}/fault.html"]
FORMS = [(re.escape(HOST), "HOST"), (re.escape(ARCHIVE), "ARCHIVE"), (re.escape(FOLDER), "D"), (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"),
         # The words of PCP 7 and 6.
         ("archive log", "archive"), ("Incorrect record type in an archive", "Corrupted record in a PCP archive"), (r"(nosuch\.invalid): [^:]*", r"\1: REASON")]


def run(words, stdout=subprocess.PIPE, **also):
    """(status, output, standard error)"""
    done = subprocess.run([PYTHON, PROGRAM, *words], stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=300, check=False, **also)
    return done.returncode, done.stdout, done.stderr


def fault(name, runs, statuses=(1,)):
    """runs: {words: (status, output, standard error)}. One line, or each different one."""
    said, wrong = {}, []
    for words, (status, _, error) in runs.items():
        lines = error.splitlines()
        if status not in statuses or len(lines) > 1 or "Traceback" in error or lines and not lines[0].startswith("pcp-apm: "):
            wrong.append(f"{words}: status {status}: {error}")
        line = lines[0] if lines else "(nothing)"
        for form, instead in FORMS:
            line = re.sub(form, instead, line)
        said.setdefault(line, []).append(words)
    print(f"== {name}")
    for line, by in said.items():
        print(line if len(said) == 1 else f"{', '.join(by)}: {line}")
    print(*(f"WRONG: {line}" for line in wrong), sep="\n", end="\n" if wrong else "")


def closed(words):
    """Its output is read by nobody."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return run(words, writer)
    finally:
        os.close(writer)


def interrupted(words, terminal=False):
    """Ctrl-C while it waits: a program that waits stands still in the kernel for half a second."""
    error = os.path.join(FOLDER, "error")
    with open(error, "w", encoding="utf-8") as to:
        if terminal:
            pid, fd = pty.fork()
            if not pid:
                os.dup2(to.fileno(), 2)
                os.environ.update(TERM="xterm")
                os.execv(PYTHON, [PYTHON, PROGRAM, *words])
        else:
            pid = subprocess.Popen([PYTHON, PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=to, stdin=subprocess.DEVNULL).pid
            fd = None
        still, begin = 0, time.monotonic()
        while still < 10 and time.monotonic() - begin < 120:
            if fd is not None and select.select([fd], [], [], 0)[0]:
                os.read(fd, 65536)
            with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                still = still + 1 if "pmapi" in maps.read() and stat.read().rsplit(")", 1)[1].split()[0] == "S" else 0
            time.sleep(0.05)
        os.kill(pid, signal.SIGINT)
        if fd is not None:
            # What it writes at its end, until the other side is closed.
            try:
                while os.read(fd, 65536):
                    pass
            except OSError:
                pass
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(error, encoding="utf-8") as said:
        return status, "", said.read()


def each(of, words, how=run, **also):
    return {command: how([*words, *command.split()], **also) for command in of}


def copied(name, change):
    """An archive with something wrong in it."""
    path = os.path.join(FOLDER, name)
    for end in ("0", "meta", "index"):
        with open(f"{ARCHIVE}.{end}", "rb") as source, open(f"{path}.{end}", "wb") as to:
            to.write(change(end, bytearray(source.read())))
    return path


def overwritten(end, data, which="0"):
    if end == which:
        data[len(data) // 2:len(data) // 2 + 400] = b"x" * 400
    return data


live, logged = ["-h", HOST], ["-a", ARCHIVE]
fault("a reader that has ended", {**each([*TABLES, "page"], logged, closed), "page, live": closed(["page"]), "version": closed(["--version"])})
fault("a reader that has ended, live", each(["services", "methods", "stacks"], [*live, "-t", "1"], closed))
with open("/dev/full", "w", encoding="utf-8") as full:
    fault("a full disk", {**each([*TABLES, "page"], logged, run, stdout=full), "page, live": run(["page"], full)})
fault("a page that has no room", {"page": run([*logged, "page", "/dev/full"])})
fault("no output at all", each(["agents", "services"], logged, run, stdout=None, preexec_fn=lambda: os.close(1)))
fault("no pmcd there", each([*TABLES, *RECORDS, "top"], ["-h", f"unix:{FOLDER}/nothing"]))
fault("no such host", each(["services"], ["-h", "nosuch.invalid"]))
fault("no pmcd at a port", each([*TABLES, *RECORDS], ["-h", "127.0.0.1:1"]))
fault("no archive", each([*TABLES, *RECORDS, *PAGE], ["-a", f"{FOLDER}/nothing"]))
with open(os.path.join(FOLDER, "text"), "w", encoding="utf-8") as file:
    file.write("no archive\n")
fault("no archive, but a file", each([*TABLES, *RECORDS, *PAGE], ["-a", file.name]))
fault("a damaged archive", each([*TABLES, *PAGE], ["-a", copied("bad", overwritten)]))
fault("damaged metadata", each([*TABLES, *RECORDS, *PAGE], ["-a", copied("meta", lambda end, data: overwritten(end, data, "meta"))]))
fault("no label", each([*TABLES, *RECORDS, *PAGE], ["-a", copied("empty", lambda end, data: b"")]))
os.chmod(f"{ARCHIVE}.meta", 0)
fault("no rights", each([*TABLES, *RECORDS, *PAGE], logged, run, **({"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {})))
os.chmod(f"{ARCHIVE}.meta", 0o600)
fault("no records", each(RECORDS, logged))
fault("the wrong time", each(["services", "methods", *PAGE], [*logged, "-S", "@2099-01-01"]))
fault("Ctrl-C", {command: interrupted([*live, "-t", "1000", command]) for command in ("services", "methods", "stacks", "traces")}, (130,))
fault("Ctrl-C, on a terminal", {"top": interrupted([*live, "-t", "1000", "top"], True)}, (130,))
fault("Ctrl-C of what goes on until then", {"events": interrupted([*live, "events", "-f"])}, (0,))
