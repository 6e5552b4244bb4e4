"""Queries of the PCP Vector data source: live values of one host."""
from .catalogue import Mistake
from .model import MATCHES, Average

NAME = "vector"
TYPE = "performancecopilot-vector-datasource"
KINDS = ("timeseries", "states", "table", "csv", "heatmap", "flamegraph", "bars")
REFRESH, SINCE = "5s", "now-5m"
TITLE = "Host (data source)"

FORMATS = {
    "table": "metrics_table",
    "csv": "csv_table",
    "heatmap": "heatmap",
    "flamegraph": "flamegraph_grafana",
}


def expression(query, metric, one=False):
    """The metric, or a derived one of the instances that the variable selects."""
    if isinstance(query, Average):
        return f"delta({query.metric}) / delta({query.per})"
    if one:
        return f"{query.metric}[${{instance:raw}}]"
    if query.match is None:
        return query.metric
    if metric.text:
        # libpcp 6.0.3 frees the values twice, and pmproxy ends; one instance by its name is fine.
        raise Mistake(f"{query.metric}: no matchinst() of texts")
    # In matchinst() a slash ends the expression unless it is escaped.
    pattern = MATCHES[query.match].replace("/", "\\/").format("${service:regex}")
    return f"matchinst(/{pattern}/, {query.metric})"


def query(panel, n, q, metric):
    """The target of a panel."""
    form = FORMATS.get(panel.kind, "time_series")
    if panel.kind == "csv" and len(panel.queries) != 1:
        raise Mistake(f"{panel.title}: the data source shows one CSV table a panel")
    legend = q.legend if panel.kind == "table" else f"{q.legend} $instance".strip()
    if not metric.indom:
        legend = q.legend or metric.name
    if panel.kind in ("heatmap", "flamegraph", "csv"):
        legend = ""
    target = {
        "refId": chr(65 + n),
        "expr": expression(q, metric, panel.kind == "csv"),
        "format": form,
        "options": {
            "rateConversion": metric.counter,
            # Shares of time are for eyes; a flame graph adds up times.
            "timeUtilizationConversion": metric.counter and panel.kind != "flamegraph",
        },
        "hide": False,
    }
    if legend:
        target["legendFormat"] = legend
    return target


def transformations(panel):
    """What Grafana does to the frames of the data source."""
    if panel.kind != "heatmap":
        return []
    # The data source takes what is behind the first hyphen of SERVICE::LO-HI for the upper bound;
    # names with hyphens and the word inf have to be repaired, or the rows stay unsorted.
    return [
        {"id": "renameByRegex", "options": {"regex": "/^(?:.*-)?inf$/", "renamePattern": "+Inf"}},
        {"id": "renameByRegex", "options": {"regex": "/^.*-(.+)$/", "renamePattern": "$1"}},
    ]


def variables(board):
    """The variables of a board behind the data source."""
    choice = board.choice
    if choice is None:
        return []
    listed = {"type": "query", "query": "apm.agent.name", "definition": "apm.agent.name", "sort": 1}
    service = {
        **listed,
        "name": "service",
        "label": choice.label,
        "regex": f"/{choice.agents}/",
        "many": not choice.one,
    }
    if not any(getattr(p, "kind", "") == "csv" for p in board.parts):
        return [service]
    return [
        service,
        {
            **listed,
            "name": "instance",
            "label": f"{choice.instance_label} (tables)",
            "regex": "/" + choice.instances.format("${service:regex}") + "/",
            "many": False,
        },
    ]
