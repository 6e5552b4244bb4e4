"""The conditions of the list: comparisons joined by `and` or `or`.

    METRIC [+|- METRIC ...]  OP  NUMBER UNIT
    METRIC / METRIC          OP  NUMBER %

OP is < > or ==. NUMBER may be the name of one of the rule's numbers. UNIT: % of a share (of time, or of the second metric),
count/sec, count/min, sec, msec, or nothing. A counter counts as its rate.
"""
import re
from dataclasses import dataclass

from lib.catalogue import Mistake
from model import METRIC

COMPARISON = re.compile(r"(?P<left>[a-z0-9_. +/-]+?) (?P<op><|>|==) (?P<number>\w+)(?P<unit>%| [a-z/]+|)")
UNITS = ("", "%", "count/sec", "count/min", "sec", "msec")


@dataclass(frozen=True)
class Comparison:
    """One of them; `metrics` and the signs between them."""

    metrics: tuple
    signs: tuple
    op: str
    number: str
    unit: str

    def is_ratio(self):
        """One metric is compared with another."""
        return self.signs == ("/",)


def comparison(text):
    """The comparison that this says."""
    found = COMPARISON.fullmatch(text.strip())
    words = found["left"].split() if found else []
    metrics, signs, unit = tuple(words[::2]), tuple(words[1::2]), found and found["unit"].strip()
    if not found or not all(map(METRIC.fullmatch, metrics)) or unit not in UNITS:
        raise Mistake(f"{text}: not a comparison")
    if not (set(signs) <= {"+", "-"} or signs == ("/",) and unit == "%"):
        raise Mistake(f"{text}: sums, or one metric by another in percent")
    return Comparison(metrics, signs, found["op"], found["number"], unit)


def parsed(text):
    """The comparisons, and the word between them, if any."""
    text = " ".join(text.split())
    words = set(re.findall(r" (and|or) ", text))
    if len(words) > 1:
        raise Mistake(f"{text}: both and, or")
    word = words.pop() if words else None
    return [comparison(part) for part in (text.split(f" {word} ") if word else [text])], word
