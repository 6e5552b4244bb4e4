"""Queries of the Prometheus data source: history of all hosts that Prometheus scrapes by pmproxy."""
from .model import MATCHES, Average

NAME = "prometheus"
TYPE = "prometheus"
KINDS = ("timeseries", "table", "heatmap", "bars")
REFRESH, SINCE = "1m", "now-1h"
TITLE = "Data source"


def series(name):
    """The name of a metric at Prometheus."""
    return name.replace(".", "_")


def selected(name, match):
    """The series of the chosen hosts and instances."""
    chosen = ['hostname=~"$host"']
    if match is not None:
        # Prometheus anchors the expression at both ends.
        pattern = MATCHES[match].removeprefix("^").format("$service")
        pattern = pattern.removesuffix("$") if pattern.endswith("$") else pattern + ".*"
        chosen.append(f'instname=~"{pattern}"')
    return f"{series(name)}{{{','.join(chosen)}}}"


def rate(name, match):
    """Growth a second."""
    return f"rate({selected(name, match)}[$__rate_interval])"


def expression(panel, q, metric):
    """PromQL of a query."""
    if isinstance(q, Average):
        return f"{rate(q.metric, q.match)} / {rate(q.per, q.match)}"
    if not metric.counter:
        made = selected(q.metric, q.match)
    else:
        made = rate(q.metric, q.match)
        if metric.units == "nanosec":
            made += " / 1e9"
    if panel.kind == "heatmap":
        return f'sum by (le) (label_replace({made}, "le", "$1", "instname", ".*-([^-]+)"))'
    if panel.kind == "table":
        return f"max by (hostname, instname) ({made})"
    return made


def query(panel, n, q, metric):
    """The target of a panel; None if there is none: texts are not exported."""
    if metric.text:
        return None
    target = {"refId": chr(65 + n), "expr": expression(panel, q, metric), "hide": False}
    if panel.kind == "table":
        return {**target, "format": "table", "instant": True, "range": False}
    legend = "{{le}}" if panel.kind == "heatmap" else f"{{{{hostname}}}} {{{{instname}}}} {q.legend}"
    if panel.kind != "heatmap" and not metric.indom:
        legend = f"{{{{hostname}}}} {q.legend}"
    return {**target, "format": "time_series", "instant": False, "range": True, "legendFormat": legend.strip()}


def transformations(panel):
    """What Grafana does to the frames."""
    if panel.kind == "heatmap":
        return [{"id": "renameByRegex", "options": {"regex": "/^inf$/", "renamePattern": "+Inf"}}]
    if panel.kind != "table":
        return []
    names = {"instname": "instance", "hostname": "host"}
    order = {"hostname": 0, "instname": 1}
    values = [(chr(65 + n), q.legend) for n, q in enumerate(panel.queries)]
    for n, (ref, legend) in enumerate(values):
        column = f"Value #{ref}"
        names[column], order[column] = legend, n + 2
    return [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": names}},
    ]


def variables(board):
    """The variables of a board behind the data source."""
    hosts = "label_values(apm_self_uptime, hostname)"
    made = [query_variable("host", "Host", hosts, "", True)]
    if board.choice:
        services = f"label_values({series(board.choice.series)}, instname)"
        regex = f"/^{board.choice.series_regex}$/"
        made.append(query_variable("service", board.choice.label, services, regex, not board.choice.one))
    return made


def query_variable(name, label, query, regex, many):
    """A variable with the values of a label."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "query": {"query": query, "refId": f"variable-{name}"},
        "regex": regex,
        "sort": 1,
        "many": many,
    }
