"""Queries of the PCP Valkey (Redis) data source: history of all hosts that pmproxy has discovered."""
from .model import MATCHES, Average

NAME = "valkey"
TYPE = "performancecopilot-valkey-datasource"
# Tables have one metric: the data source has no table of several. Records and stacks are no series.
KINDS = ("timeseries", "states", "table", "heatmap", "bars")
REFRESH, SINCE = "1m", "now-1h"
TITLE = "Data source"


def expression(query, one=False):
    """All instances of the chosen hosts: a filter on instances would select metrics, not values."""
    assert not one
    # No rate(): pmseries makes one series without labels of all hosts. rateConversion does it.
    return f'{query.metric}{{hostname =~ "^(${{host:pipe}})$"}}'


def query(panel, n, q, metric):
    """The target of a panel; None if there is none."""
    if isinstance(q, Average) or (panel.kind == "table" and metric.text):
        return None
    legend = "$hostname"
    if metric.indom:
        legend += " $instance"
    # The words stay behind the instance, where the filter by names does not see them.
    if q.legend and panel.kind != "heatmap":
        legend += f" {q.legend}"
    return {
        "refId": chr(65 + n),
        "expr": expression(q),
        "format": "time_series",
        "options": {"rateConversion": metric.counter, "timeUtilizationConversion": metric.counter},
        "legendFormat": legend,
        "hide": False,
    }


def transformations(panel):
    """What Grafana does to the frames: the choice of instances, rows of a heat map, rows of a table."""
    made = []
    matches = {q.match for q in panel.queries}
    if matches != {None}:
        (match,) = matches
        # Names are "HOST INSTANCE WORDS".
        pattern = MATCHES[match].removeprefix("^").removesuffix("$").format("${service:raw}")
        end = "( |$)" if MATCHES[match].endswith("$") else ""
        pattern = f"/^[Tt]ime$|^[^ ]+ {pattern}{end}/"
        made.append({"id": "filterFieldsByName", "options": {"include": {"pattern": pattern}}})
    if panel.kind == "heatmap":
        made += [
            {"id": "renameByRegex", "options": {"regex": "/^.*-inf$/", "renamePattern": "+Inf"}},
            {"id": "renameByRegex", "options": {"regex": "/^.*-(.+)$/", "renamePattern": "$1"}},
        ]
    if panel.kind == "table":
        reducers = ["lastNotNull", "mean", "max"]
        made.append({"id": "reduce", "options": {"reducers": reducers, "mode": "seriesToRows"}})
    return made


def variables(board):
    """The variables of a board behind the data source."""
    made = [
        {
            "type": "query",
            "name": "host",
            "label": "Host",
            "query": "label_values(hostname)",
            "regex": "",
            "sort": 1,
            "many": True,
        }
    ]
    if board.choice:
        # Labels of instances do not reach the server of PCP 6: there is no list to choose from.
        made.append({"type": "textbox", "name": "service", "label": f"{board.choice.label} (regex)", "query": ".*"})
    return made
