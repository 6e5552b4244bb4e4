"""The rules for Grafana's own alerting: a file for $GF_PATHS_PROVISIONING/alerting. Conditions are those of Prometheus, which it asks."""
import json

import prometheus

SOURCE = "pmdaapm-prometheus"
HEAD = """# Alert rules of Grafana, made by clients/rules/make_rules.py of the same list as those of pmieconf and Prometheus: docs/alerts.md. For
# $GF_PATHS_PROVISIONING/alerting (by default /etc/grafana/provisioning/alerting), with the data source pmdaapm-prometheus of datasources/pmdaapm.yaml.
apiVersion: 1
groups:
  - orgId: 1
    name: pmdaapm
    folder: pmdaapm
    interval: 1m
    rules:
"""
# A condition of Prometheus has a series for what it holds of, whatever its value is, and none else: no data is well.
HOLDS = "is_number($A) || is_nan($A) || is_inf($A)"


def text(rule, known):
    """One rule. JSON's objects are YAML's too."""
    queries = [{"refId": "A", "datasourceUid": SOURCE, "relativeTimeRange": {"from": 600, "to": 0},
                "model": {"refId": "A", "expr": prometheus.expression(rule, known), "instant": True, "range": False}},
               {"refId": "B", "datasourceUid": "__expr__", "relativeTimeRange": {"from": 0, "to": 0},
                "model": {"refId": "B", "type": "math", "expression": HOLDS, "datasource": {"type": "__expr__", "uid": "__expr__"}}}]
    told = {key: value.replace("$value ", "$values.A.Value ") for key, value in prometheus.told(rule).items()}
    fields = {"uid": f"apm-{rule.name}", "title": rule.alert(), "condition": "B", "data": queries, "noDataState": "OK", "execErrState": "Error", "for": rule.hold or "0s",
              "annotations": told, "labels": {"severity": "warning"}}
    return "".join(f"      {'- ' if key == 'uid' else '  '}{key}: {json.dumps(value)}\n" for key, value in fields.items())


def files(rules, known):
    """Text of each file by its name."""
    return {"pmdaapm.yaml": HEAD + "".join(text(rule, known) for rule in rules if rule.prometheus != "")}
