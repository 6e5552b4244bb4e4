"""Alerting rules for a Prometheus that scrapes pmproxy. Times are in seconds here, and bytes as they are."""
import json
import re

from condition import parsed
from lib.catalogue import Mistake

OVER = "5m"
HEAD = """# Alerting rules for Prometheus, made by clients/rules/make_rules.py of the same list as the rules of pmieconf: docs/alerts.md.
# A counter counts as its rate over five minutes. `look` is where to look first. Texts are not exported: what needs one, as the
# cause of collections for want of metaspace, is a rule of pmieconf only.
groups:
  - name: pmdaapm
    rules:
"""
SCRAPE = """# A job for Prometheus with what its rules need, and with every agent, runtime and service of all sources (apm.agent, .runtime, .service,
# .self). Boards of single sources need names: [apm], which costs ten times as much: docs/scale.md.
scrape_configs:
  - job_name: pmdaapm
    scrape_interval: 15s
    params:
      hostspec: ["local:"]
      # One text: pmproxy takes only the first of several. Its answer is empty if the last name does not exist: apm.self always does.
      names: ["{names}"]
    static_configs: [{{targets: ["localhost:44322"]}}]
"""
WHOLE = ("apm.agent", "apm.runtime", "apm.service", "apm.self")
# How a value is shown, by the unit of the comparison.
VALUES = {"%": "{{ $value | humanizePercentage }}", "count/sec": "{{ $value | humanize }} a second", "count/min": "{{ $value | humanize }} a second",
          "sec": "{{ $value | humanizeDuration }}", "msec": "{{ $value | humanizeDuration }}"}


def exported(name, known):
    """A metric by its name there, a counter as its rate."""
    metric = known.metric(name)
    there = name.replace(".", "_")
    return f"rate({there}[{OVER}])" if metric.counter else there


def compared(one, numbers, known):
    """A comparison in PromQL."""
    words = [word for pair in zip([exported(name, known) for name in one.metrics], one.signs + ("",)) for word in pair if word]
    left = " ".join(words)
    if not one.is_ratio() and known.metric(one.metrics[0]).units == "nanosec":
        left = f"({left}) / 1e9" if one.signs else f"{left} / 1e9"
    value = numbers[one.number].value if one.number in numbers else int(one.number)
    value = {"%": value / 100, "msec": value / 1000, "count/min": value / 60}.get(one.unit, value)
    return f"{left} {one.op} {value:g}"


def expression(rule, known):
    """The whole condition."""
    if rule.prometheus:
        # PromQL of its own has no metric that the rest of the rule has not.
        for there in set(re.findall(r"\bapm_\w+", rule.prometheus)) - {name.replace(".", "_") for name in rule.metrics()}:
            raise Mistake(f"{there}: the rule has no such metric")
        return rule.prometheus.format(**{name: f"{number.value / 100:g}" for name, number in rule.numbers.items()})
    comparisons, word = parsed(" or ".join(filter(None, (rule.when, rule.more))))
    return f" {word} ".join(compared(one, rule.numbers, known) for one in comparisons)


def told(rule):
    """What an alert says."""
    comparisons, _ = parsed(rule.when)
    value = VALUES.get(comparisons[0].unit, "")
    where = "{{ $labels.hostname }}" if rule.of_host else "{{ $labels.instname }} on {{ $labels.hostname }}"
    texts = {"summary": rule.summary, "description": f"{where}: {value}" if value else where, "look": rule.look, "remedy": rule.remedy}
    return {key: text for key, text in texts.items() if text}


def text(rule, known):
    """One rule. JSON's strings are YAML's too."""
    lines = [f"      - alert: {rule.alert()}", f"        expr: {json.dumps(expression(rule, known))}"]
    if rule.hold:
        lines.append(f"        for: {rule.hold}")
    lines += ["        labels: {severity: warning}", "        annotations:"]
    lines += [f"          {key}: {json.dumps(said)}" for key, said in told(rule).items()]
    return "\n".join(lines) + "\n"


def files(rules, known):
    """Text of each file by its name."""
    here = [rule for rule in rules if rule.prometheus != ""]
    names = {name for rule in here for name in rule.metrics() if not name.startswith(tuple(f"{tree}." for tree in WHOLE))}
    scraped = ",".join((*WHOLE[:-1], *sorted(names), WHOLE[-1]))
    return {"rules.yml": HEAD + "".join(text(rule, known) for rule in here), "scrape.yml": SCRAPE.format(names=scraped)}
