"""What can be asked for: commands, and options, none of which a command ignores."""

import os

from pcp import pmapi

from .trouble import Trouble

COMMANDS = [
    ("agents", "who is connected, in which state, since when"),
    ("services [PATTERN]", "services and programs: rate, failures, latency, pauses (without a command: this)"),
    ("runtimes [PATTERN]", "processes, pods and agents: processor time, pauses, heap, memory, exceptions, locks"),
    ("methods [PATTERN]", "methods by time, of the services that match"),
    ("stacks [PATTERN]", "stacks by time, of the services that match"),
    ("folded [PATTERN]", "all stacks for flamegraph.pl or speedscope: FRAME;FRAME MICROSECONDS; --slowest: of slow calls"),
    ("traces [PATTERN]", "traces through the services that match, the slowest first; --failed: those that failed"),
    ("trace ID", "one trace through all services as a tree, with times and errors; the begin of the id will do"),
    ("tree [PATTERN | ID]", "the slowest calls, of services that match or of a trace, as trees of methods; --bottom-up: what took their time"),
    ("events [SOURCE.KIND ...]", "event records as lines of JSON"),
    ("export [SOURCE.KIND ...]", "event records to OpenTelemetry and others: export --help"),
    ("top", "services, runtimes, agents, methods and stacks on a terminal, until q is pressed"),
    ("page [FILE]", "the address of a page with charts for a browser, live or of an archive; with FILE, a copy of it"),
]
KNOWN = {name.split()[0]: name for name, _ in COMMANDS}
# Options by commands, and those of a source. The rest, -h, -a, -V and -?, are everybody's.
OF = {"j": ["agents", "services", "runtimes", "methods", "stacks", "folded", "traces", "trace", "tree", "events", "page"], "k": ["methods", "stacks"],
      "n": ["agents", "services", "runtimes", "methods", "stacks", "folded", "traces", "tree", "events"], "e": ["traces"], "x": ["events"], "f": ["events"], "p": ["page"],
      "b": ["tree"], "l": ["folded"], "t": ["services", "runtimes", "methods", "stacks", "folded", "traces", "trace", "tree", "top", "events"]}
LIVE, ARCHIVE = "tfx", "ASTOzZ"
NAMES = {"a": "archive", "A": "align", "b": "bottom-up", "e": "failed", "f": "follow", "h": "host", "j": "json", "k": "total", "l": "slowest", "n": "rows", "O": "origin", "p": "proxy", "S": "start",
         "t": "interval", "T": "finish", "V": "version", "x": "filter", "z": "hostzone", "Z": "timezone"}
# Those of pcp(1) itself come in the environment.
OF_PCP = {"PCP_ALIGN_TIME": "A", "PCP_INTERVAL": "t", "PCP_ORIGIN_TIME": "O", "PCP_START_TIME": "S", "PCP_FINISH_TIME": "T", "PCP_SAMPLES": "s"}


class Options(pmapi.pmOptions):
    """What was asked for."""

    def __init__(self):
        super().__init__("a:A:befh:jkln:O:p:S:t:T:x:zZ:V?")
        self.said, self.given = {}, {letter for name, letter in OF_PCP.items() if os.environ.get(name)}
        self.pmSetShortUsage("[options] [command]")
        self.pmSetOptionCallback(self.one)
        self.pmSetOverrideCallback(self.seen)
        self.pmSetLongOptionHeader("Commands")
        for name, what in COMMANDS:
            self.pmSetLongOptionText(f"  {name:<26}{what}")
        self.pmSetLongOptionHeader("General options")
        self.pmSetLongOptionAlign()
        self.pmSetLongOptionArchive()
        self.pmSetLongOptionHost()
        self.pmSetLongOptionOrigin()
        self.pmSetLongOptionStart()
        self.pmSetLongOptionFinish()
        self.pmSetLongOptionInterval()
        self.pmSetLongOptionTimeZone()
        self.pmSetLongOptionHostZone()
        self.pmSetLongOptionVersion()
        self.pmSetLongOptionHelp()
        self.pmSetLongOptionHeader("Options of commands")
        self.pmSetLongOption("json", 0, "j", "", "lines of JSON")
        self.pmSetLongOption("total", 0, "k", "", "methods, stacks: since they are counted, not a second")
        self.pmSetLongOption("failed", 0, "e", "", "traces: those that failed, the newest first")
        self.pmSetLongOption("slowest", 0, "l", "", "folded: of the slowest calls only, those of tree")
        self.pmSetLongOption("bottom-up", 0, "b", "", "tree: methods by their own time, with their callers")
        self.pmSetLongOption("rows", 1, "n", "N", "at most N rows, or the newest N event records")
        self.pmSetLongOption("filter", 1, "x", "EXPRESSION", "events: only those for which it holds")
        self.pmSetLongOption("follow", 0, "f", "", "events: go on until interrupted")
        self.pmSetLongOption("proxy", 1, "p", "URL", "page: where pmproxy is [default http://HOST:44322]")

    def seen(self, option):
        """Each option. Elsewhere in PCP -n and -p are a name space and a port, and -V is PCP's version."""
        self.given.add(option)
        return int(option in ("n", "p", "k", "V"))

    def one(self, option, argument, _index):
        """An option of ours."""
        if option not in NAMES:
            self.pmUsageMessage()
        self.said[NAMES.get(option, option)] = argument or True

    def check(self, command, operands, archive):
        """That the command has these words, and that it ignores none of these options."""
        if command not in KNOWN:
            raise Trouble(f"no command {command}: {', '.join(KNOWN)} (pcp apm --help)")
        most = {"agents": 0, "top": 0, "events": 1000}.get(command, 1)
        if len(operands) > most:
            raise Trouble(f"{operands[most]}: too many words (usage: {KNOWN[command]})")
        if command == "trace" and not "".join(operands):
            raise Trouble("trace needs the id of one, or the begin of it: pcp apm traces lists them")
        if len(self.pmGetOptionHosts() or []) > 1:
            raise Trouble("one host at a time (-h)")
        if "s" in self.given:
            raise Trouble("--samples of pcp has no meaning: events have -n, top goes on")
        for option in sorted(self.given & set(NAMES)):
            if command not in OF.get(option, KNOWN):
                raise Trouble(f"--{NAMES[option]} is an option of {' and '.join(filter(None, (', '.join(OF[option][:-1]), OF[option][-1])))}")
            if option in LIVE and archive:
                raise Trouble("filters work live; for an archive use pmevent -x" if option == "x" else f"--{NAMES[option]} works live only")
            if option in ARCHIVE and not archive:
                raise Trouble(f"--{NAMES[option]} works with an archive only (-a)")
        if command == "top" and archive:
            raise Trouble("top works live only")
        if "p" in self.given and archive:
            raise Trouble("--proxy works live only: the page of an archive asks nobody")
        needs = {"events": "f", "folded": "l"}.get(command)
        if "t" in self.given and (needs and needs not in self.given or "k" in self.given):
            raise Trouble("--interval has no meaning " + (f"without --{NAMES[needs]}" if needs else "with --total"))

    def rows(self, default):
        """The number of -n."""
        if "rows" not in self.said:
            return default
        try:
            number = int(self.said["rows"])
        except ValueError:
            number = 0
        if number < 1:
            raise Trouble(f"-n {self.said['rows']}: a number of rows, from 1 on")
        return number
