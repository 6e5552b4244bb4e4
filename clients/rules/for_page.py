"""The rules for the page: clients/page/build.py puts them into it, core/rules.js there judges them."""
import re

from condition import parsed
from rules import RULES


def rule(one):
    """A rule as the page has it."""
    comparisons, word = parsed(" or ".join(filter(None, (one.when, one.more))))
    return {"name": one.name, "summary": one.summary, "why": re.sub(r"\bthreshold\b", str(one.numbers["threshold"].value) if one.numbers else "", one.why), "look": one.look, "place": one.place, "remedy": one.remedy, "word": word,
            "always": one.always,
            "of": [{"metrics": c.metrics, "signs": c.signs, "op": c.op, "number": one.numbers[c.number].value if c.number in one.numbers else int(c.number),
                    "unit": c.unit} for c in comparisons]}


def rules():
    """All but those whose condition the list says for pmie only."""
    return [rule(one) for one in RULES if one.prometheus != ""]
