"""A board as Grafana's dashboard JSON, for one data source."""
from . import panels
from .model import Row

DATASOURCE = "${datasource}"


def rendered(board, boards, source, catalogue):
    """The dashboard; `source` is one of the modules vector, valkey and prometheus."""
    here = {"type": source.TYPE, "uid": DATASOURCE}
    made, x, y, high = [], 0, 0, 0
    parts = [p for p in board.parts if p.only is None or source.NAME in p.only]
    for n, part in enumerate(parts):
        if isinstance(part, Row):
            following = parts[n + 1 : n + 2]
            if not following or isinstance(following[0], Row):
                continue
            x, y, high = 0, y + high, 0
            made.append({"id": len(made) + 1, "type": "row", "title": part.title, "collapsed": False, "panels": [], "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
            y += 1
            continue
        metrics = [catalogue.metric(q.metric) for q in part.queries]
        for query in part.queries:
            if hasattr(query, "per"):
                catalogue.metric(query.per)
        panels.check(part, metrics)
        if part.kind not in source.KINDS:
            continue
        targets = [source.query(part, n, q, m) for n, (q, m) in enumerate(zip(part.queries, metrics))]
        kept = [(q, m, t) for q, m, t in zip(part.queries, metrics, targets) if t]
        if source.NAME == "valkey" and part.kind == "table":
            kept = kept[:1]
        if not kept:
            continue
        if x + part.w > 24:
            x, y, high = 0, y + high, 0
        made.append(panel(part, kept, source, here, len(made) + 1, (x, y)))
        x, high = x + part.w, max(high, part.h)
    return {
        "uid": f"apm-{source.NAME}-{board.uid}",
        "title": f"APM {source.NAME.capitalize()}: {board.title}",
        "description": board.help,
        "tags": ["pmdaapm", f"apm-{source.NAME}"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "",
        "fiscalYearStartMonth": 0,
        "refresh": source.REFRESH,
        "time": {"from": source.SINCE, "to": "now"},
        "timepicker": {},
        "annotations": {"list": []},
        "links": links(source, boards),
        "templating": {"list": [datasource(source)] + [variable(v, here) for v in source.variables(board)]},
        "panels": made,
    }


def panel(part, kept, source, here, number, place):
    """A panel at its place in the grid of 24 columns."""
    queries, metrics, targets = zip(*kept)
    part = type(part)(**{**vars(part), "queries": list(queries)})
    made = {
        "id": number,
        "type": panels.TYPES[part.kind],
        "title": part.title,
        "gridPos": {"x": place[0], "y": place[1], "w": part.w, "h": part.h},
        "datasource": here,
        "targets": [{**t, "datasource": here} for t in targets],
        "fieldConfig": {"defaults": panels.defaults(part), "overrides": panels.overrides(part, metrics, source.NAME)},
        "options": panels.options(part),
    }
    if part.help:
        made["description"] = part.help
    if changes := source.transformations(part):
        made["transformations"] = changes
    return made


def links(source, boards):
    """Links to all boards; the data source, hosts and the time go along, the service does not."""
    kept = "${datasource:queryparam}" + ("" if source.NAME == "vector" else "&${host:queryparam}")
    return [
        {
            "type": "link",
            "title": board.title,
            "url": f"/d/apm-{source.NAME}-{board.uid}?{kept}",
            "tooltip": board.help,
            "icon": "dashboard",
            "tags": [],
            "asDropdown": False,
            "includeVars": False,
            "keepTime": True,
            "targetBlank": False,
        }
        for board in boards
    ]


def datasource(source):
    """The variable with the data source."""
    return {
        "type": "datasource",
        "name": "datasource",
        "label": source.TITLE,
        "query": source.TYPE,
        "regex": "",
        "refresh": 1,
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "skipUrlSync": False,
    }


ALL = {"text": "All", "value": "$__all", "selected": True}


def variable(wanted, here):
    """A variable of the board."""
    made = {"hide": 0, "skipUrlSync": False, **wanted}
    if wanted["type"] == "textbox":
        word = {"text": wanted["query"], "value": wanted["query"]}
        return {**made, "current": word, "options": [{**word, "selected": True}]}
    many = made.pop("many")
    made.update({"datasource": here, "refresh": 2, "multi": many, "includeAll": many, "options": []})
    if many:
        made.update({"current": ALL, "allValue": ".*"})
    return made
