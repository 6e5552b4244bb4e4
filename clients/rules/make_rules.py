#!/usr/bin/env python3
"""Makes the rules of pmieconf, Prometheus and Grafana from rules.py.

usage: make_rules.py [--alert PROGRAM] OUTDIR      files OUTDIR/{pmieconf,prometheus,grafana}/*, and rules.json
       make_rules.py --table                       the table of docs/alerts.md

docs/metrics.md of this tree says what metrics there are, and which are counters: one that does not exist is an error. PROGRAM
is where the program that sends webhooks and mail will be."""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "dashboards")]

import grafana  # noqa: E402
import pmieconf  # noqa: E402
import prometheus  # noqa: E402
from lib.catalogue import Catalogue, Mistake  # noqa: E402
from lib.made import write  # noqa: E402
from rules import RULES  # noqa: E402


def checked():
    """The rules, whose names differ and whose metrics exist, and the metrics."""
    known = Catalogue((HERE.parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8"))
    for rule in RULES:
        for name in rule.metrics():
            known.metric(name)
        # pmieconf's files have them between quotes.
        for text in (rule.summary, rule.why, rule.look, rule.remedy, *(number.help for number in rule.numbers.values())):
            if '"' in text:
                raise Mistake(f"{text}: a quote")
    if len({rule.name for rule in RULES}) != len(RULES):
        raise Mistake("two rules of one name")
    return RULES, known


def table(rules):
    """What docs/alerts.md has of them."""
    yield "| rule | fires when | look at | then |"
    yield "| --- | --- | --- | --- |"
    for rule in rules:
        numbers = "; ".join(f"{name} {number.value}: {number.help[0].lower()}{number.help[1:].rstrip('.')}" for name, number in rule.numbers.items())
        here = f"`{rule.name}`" + ("" if rule.prometheus != "" else " (pmie only)")
        yield f"| {here} | {rule.why}{f' *{numbers}*' if numbers else ''} | `{rule.look}` | {rule.remedy} |"


def texts(program):
    """Path below the output folder and text of each file."""
    rules, known = checked()
    for name, text in pmieconf.files(rules, program).items():
        yield f"pmieconf/{name}", text
    for name, text in prometheus.files(rules, known).items():
        yield f"prometheus/{name}", text
    for name, text in grafana.files(rules, known).items():
        yield f"grafana/{name}", text
    # For `alert`, which gets no more of a rule than its summary.
    told = {rule.summary: {"rule": f"apm.{rule.name}", "look": rule.look, "remedy": rule.remedy} for rule in rules}
    yield "rules.json", json.dumps(told, indent=1) + "\n"


def main():
    """Writes the files; returns the exit status."""
    parser = argparse.ArgumentParser(description="Makes the rules.")
    parser.add_argument("--alert", default="/usr/share/pcp/apm/alert", metavar="PROGRAM")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("outdir", type=Path, nargs="?")
    options = parser.parse_args()
    if bool(options.outdir) == options.table:
        parser.error("OUTDIR or --table")
    if not options.table:
        return write(options.outdir, texts(options.alert))
    print("\n".join(table(checked()[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
