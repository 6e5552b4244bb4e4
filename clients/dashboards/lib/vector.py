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


def expression(query, metric):
    """The metric, or a derived one of the instances that the variable selects."""
    if isinstance(query, Average):
        return f"delta({query.metric}) / delta({query.per})"
    if query.match is None:
        return query.metric
    if metric.text:
        # libpcp 6.0.3 frees texts of derived metrics twice, and pmproxy ends (docs/grafana.md).
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
        "expr": expression(q, metric),
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
    metric, regex = choice.listed()
    return [
        {
            "type": "query",
            "name": "service",
            "label": choice.label,
            "query": metric,
            "regex": f"/{regex}/",
            "sort": 1,
            "many": not choice.one,
        }
    ]
