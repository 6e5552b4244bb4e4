"""What the list of rules is made of."""
import re
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Threshold:
    """A number that can be changed with `pmieconf modify`."""

    value: int
    help: str


@dataclass(frozen=True)
class Rule:
    """A condition, and what to do when it is true. rules.py says what the fields are."""

    name: str
    summary: str
    when: str
    why: str
    look: str
    place: str
    remedy: str
    # By name; the one called threshold is that of the rule.
    numbers: dict
    hold: str = "5m"
    # What pmie shows of each instance, if not what follows from the condition.
    shows: Optional[str] = None
    # Conditions that only one of them can say; prometheus="": it cannot say that one.
    pmie: Optional[str] = None
    prometheus: Optional[str] = None
    # Five samples must agree of the first comparison, as `pmie` says.
    always: bool = False
    # What only Prometheus has besides.
    more: str = ""
    # Also fires without an instance: a metric of the PMDA itself.
    of_host: bool = False

    def alert(self):
        """The name in Prometheus: java_latency is ApmJavaLatency."""
        return "Apm" + "".join(word.capitalize() for word in self.name.split("_"))

    def metrics(self):
        """All metrics of its conditions."""
        return sorted({name for text in (self.when, self.pmie, self.more) for name in METRIC.findall(text or "")})


METRIC = re.compile(r"\bapm(?:\.[a-z0-9_]+)+")
