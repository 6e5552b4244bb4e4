"""Panels as Grafana's dashboard JSON has them."""
from .catalogue import Mistake

TYPES = {
    "timeseries": "timeseries",
    "states": "state-timeline",
    "table": "table",
    "csv": "table",
    "heatmap": "heatmap",
    "flamegraph": "flamegraph",
    "bars": "bargauge",
}

# Units of times in columns of CSV tables, by the end of the column's name.
COLUMN_UNITS = {"_ms": "ms", "_us": "µs"}


def check(panel, metrics):
    """A panel has one unit, and it is that of each of its metrics; tables have one a column."""
    for query, metric in zip(panel.queries, metrics):
        allowed = ("ns",) if hasattr(query, "per") else metric.shown()
        if panel.kind == "flamegraph" and metric.units == "nanosec":
            allowed = ("ns",)
        if panel.kind == "heatmap" and allowed == ("cps",):
            # The unit of a heat map is that of its ranges, which only the help text has.
            allowed = ("ms", "µs")
        if panel.kind == "csv" and metric.text:
            continue
        unit = query.unit if panel.kind == "table" and query.unit else panel.unit
        if panel.kind == "table" and not query.unit:
            continue
        if unit not in allowed:
            raise Mistake(f"{panel.title}: {query.metric} is shown in {' or '.join(allowed)}, not in {unit}")
    if panel.kind == "table" and any(not q.legend for q in panel.queries):
        raise Mistake(f"{panel.title}: a column has no title")
    if len({q.metric + q.legend for q in panel.queries}) != len(panel.queries):
        raise Mistake(f"{panel.title}: a query twice")


def defaults(panel):
    """fieldConfig.defaults."""
    made = {} if panel.unit in ("string", "table") else {"unit": panel.unit}
    if panel.unit == "bool":
        on, off = {"text": "connected", "color": "green"}, {"text": "gone", "color": "red"}
        made["mappings"] = [{"type": "value", "options": {"1": {**on, "index": 0}, "0": {**off, "index": 1}}}]
        made["unit"] = "none"
    if panel.kind == "timeseries":
        made["min"] = 0
        made["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 30 if panel.stacked else 8,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
    if panel.kind in ("table", "csv"):
        made["custom"] = {"align": "auto", "filterable": True, "inspect": panel.kind == "csv"}
    if panel.kind == "states":
        made["custom"] = {"fillOpacity": 70, "lineWidth": 0}
    if panel.kind in ("states", "bars"):
        made["color"] = {"mode": "palette-classic" if panel.kind == "bars" else "thresholds"}
        made["thresholds"] = {"mode": "absolute", "steps": [{"color": "green", "value": None}]}
    return made


def overrides(panel, metrics, source):
    """Units of a table's columns, links of its cells."""
    made = []

    def of(column, properties):
        made.append({"matcher": {"id": "byName", "options": column}, "properties": properties})

    if panel.kind == "table":
        for query, metric in zip(panel.queries, metrics):
            unit = query.unit or metric.shown()[0]
            if source == "valkey":
                made.append({"matcher": {"id": "byRegexp", "options": "/^(Last.*|Mean|Max)$/"}, "properties": [{"id": "unit", "value": unit}]})
                break
            if unit == "dateTimeAsIso":
                of(query.legend, [{"id": "unit", "value": unit}])
            elif unit not in ("string", "none"):
                of(query.legend, [{"id": "unit", "value": unit}, {"id": "decimals", "value": 2}])
        of("instance", [{"id": "custom.width", "value": 340}])
    for column, board in panel.link.items() if source != "valkey" else ():
        # A board that is named by a column is that of the row's source.
        url = f"/d/apm-{source}-{board}?${{datasource:queryparam}}&${{__url_time_range}}"
        if not board.startswith("${"):
            url += "&var-service=${__value.text}"
        of(column, [{"id": "links", "value": [{"title": "Open the board", "url": url}]}])
    return made


LEGEND = {"showLegend": True, "displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]}


def options(panel):
    """The options of the panel's type."""
    if panel.kind == "timeseries":
        return {"legend": LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}}
    if panel.kind == "states":
        legend = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
        return {"legend": legend, "showValue": "auto", "mergeValues": True, "rowHeight": 0.8, "tooltip": {"mode": "single", "sort": "none"}}
    if panel.kind in ("table", "csv"):
        made = {"showHeader": True, "cellHeight": "sm"}
        if panel.kind == "table":
            made["sortBy"] = [{"displayName": panel.queries[0].legend, "desc": True}]
        return made
    if panel.kind == "heatmap":
        return {
            "calculate": False,
            "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Oranges", "fill": "dark-orange", "scale": "exponential", "exponent": 0.5, "steps": 64, "reverse": False},
            "yAxis": {"axisPlacement": "left", "unit": panel.unit, "reverse": False},
            "rowsFrame": {"layout": "le", "value": "a second"},
            "cellValues": {"unit": "cps"},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": False},
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
        }
    if panel.kind == "bars":
        reduce = {"values": False, "calcs": ["lastNotNull"], "fields": ""}
        return {"displayMode": "gradient", "orientation": "horizontal", "valueMode": "color", "showUnfilled": True, "minVizHeight": 16, "minVizWidth": 8, "namePlacement": "auto", "sizing": "auto", "reduceOptions": reduce}
    return {}
