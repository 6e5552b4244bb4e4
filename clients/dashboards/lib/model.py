"""What boards consist of, without a word of Grafana or of a data source."""
from dataclasses import dataclass, field


@dataclass
class Query:
    """A metric in a panel.

    legend: words before the name of the instance, or the title of a table's column.
    match: how the instances belong to the variable `service`: a key of MATCHES, None for all.
    unit: of a table's column, where the metric allows several.
    """

    metric: str
    legend: str = ""
    match: str | None = None
    unit: str | None = None


@dataclass
class Average(Query):
    """The mean of a sum: the growth of `metric` divided by the growth of `per`."""

    per: str = ""


# Regular expressions of instance names; {} is the choice of a variable.
MATCHES = {
    "is": "^({})$",  # the instance is a service
    "row": "^({})::",  # SERVICE::ROW
    "stack": "^({}),",  # SERVICE,FRAME,FRAME
    "path": "^({})(/.*)?$",  # SERVICE/POD, APP/HOST or just APP
    "paths": "^({})(/[^:]*)?::",  # the same with a row: APP/HOST::ROW
    "process": "^({}):",  # PROGRAM:PID and PROGRAM:PID::ROW
    "session": "^({})(::.*)?$",  # HOST/SESSION or HOST/SESSION::CLASS
}


@dataclass
class Panel:
    """A panel: kind is timeseries, states, table, csv, heatmap, flamegraph or bars.

    only: the data sources that can carry it; None for all. In tables and CSV tables `link` maps a
    column to the board that a click opens, the cell being its variable `service`.
    """

    title: str
    kind: str
    unit: str
    queries: list
    help: str = ""
    w: int = 12
    h: int = 8
    only: tuple | None = None
    link: dict = field(default_factory=dict)
    stacked: bool = False


@dataclass
class Row:
    """A heading."""

    title: str
    only: tuple | None = None


@dataclass
class Choice:
    """The variable `service` of a board.

    source: the source of apm.agent.service whose services are the choices.
    agents: a regular expression of apm.agent.name instead; its first group is a choice.
    series: metric of Prometheus and the regular expression of its instance names.
    parts: what a service consists of.
    one: exactly one is chosen, otherwise any number.
    """

    label: str
    source: str
    series: str
    series_regex: str = "(.*)"
    parts: str = "pod"
    one: bool = False
    agents: str = ""

    def listed(self):
        """The metric that has the choices and the regular expression of each."""
        if self.agents:
            return "apm.agent.name", self.agents
        return "apm.agent.service", f"^{self.source}::(.*)$"


@dataclass
class Board:
    """A board; uid is the name of the source, so that a cell with it can be a link."""

    uid: str
    title: str
    help: str
    parts: list
    choice: Choice | None = None
