"""What is answered in qa/131: the output of a command, what a page shows, what a panel has."""

import re

from truth import PREFIX, stamp

TOLERANCE = 0.02


def checks_in(table):
    """A decorator of checks: those of a question, for each runtime that it is of, are in the table. A check yields (what, got, true) and, of numbers,
    what else they may differ by."""
    def check(question, *of):
        def kept(function):
            for one in of or ("all",):
                table[question, one] = function
            return function
        return kept
    return check


def code(cell):
    """What is between backquotes, of a cell that has one such."""
    found = re.findall(r"`([^`]*)`", cell)
    return found[0] if len(found) == 1 else None


def differs(got, true, rounded=0.0, more=0.0):
    """How far a number is from the truth, and whether that is near enough. All else is equal or not."""
    if isinstance(true, float) or isinstance(got, float):
        error = abs(got - true)
        return error / abs(true) if true else error, error <= TOLERANCE * abs(true) + max(more, rounded)
    return 0.0 if got == true else 1.0, got == true


def judged(function, answer, truth):
    """(what is wrong, the largest error of a number)."""
    best = None
    for one in [truth.at(*window) for window in answer.windows] if truth.live else [truth]:
        wrong, worst = [], 0.0
        try:
            for what, got, true, *more in function(answer, one):
                error, good = differs(got, true, answer.rounded, *more)
                worst = max(worst, error if good and not more else 0)
                if not good:
                    wrong.append(f"{what}: {got}, not {true}")
        except (LookupError, ValueError, TypeError, RuntimeError, AttributeError, ZeroDivisionError) as error:
            wrong.append(f"{type(error).__name__}: {error}")
        if best is None or (len(wrong), worst) < (len(best[0]), best[1]):
            best = wrong, worst
    return best


class Answer:
    """The output of a command, and of the same with lines of JSON. at: when it had ended."""

    def __init__(self, text, lines, at):
        self.text, self.json = text, lines
        # Reports have one digit behind the point.
        self.rounded = 0.0 if lines else 0.05
        # When its rates may have been: pcp apm says it, of pmrep it is the last two seconds that it ran.
        self.windows = [(at - 2 - n / 20, at - n / 20) for n in range(10)]
        if lines and lines[0].get("from"):
            self.windows = [(stamp(lines[0]["from"]), stamp(lines[0]["to"]))]

    def row(self, **keys):
        """The row of JSON with these cells; a name of Mono is without the test's own."""
        for one in self.json:
            if all(str(one.get(key, "")).replace(PREFIX, "") == value or (value.endswith("*") and str(one.get(key, "")).replace(PREFIX, "").startswith(value[:-1]))
                   for key, value in keys.items()):
                return one
        raise LookupError(f"no row {keys}")

    def report(self):
        """{name: {column: cell}} of a report of pmrep: its last time. A column without a name is that of its metrics."""
        lines = [re.split(r"\s{2,}", line.strip()) for line in self.text.splitlines() if line.strip()]
        heads = next(cells for cells in lines if not re.match(r"\d\d:\d\d:\d\d", cells[0]))
        body = [cells for cells in lines if re.match(r"\d\d:\d\d:\d\d", cells[0])]
        if not body:
            raise LookupError("an empty report")
        last, found = body[-1][0][:8], {}
        for cells in body:
            if cells[0].startswith(last):
                # With one instance a line, or one line of all.
                name, values = ("", cells[1:]) if re.match(r"[\d.]+$|N/A$", cells[1]) else (cells[1], cells[2:])
                found[name.replace(PREFIX, "")] = dict(zip(heads[-len(values):], values))
        return found

    def cell(self, name, column):
        """A number of a report: the first row whose name begins so."""
        for row, cells in self.report().items():
            if row.startswith(name):
                return float(cells[column])
        raise LookupError(f"no row {name}: {list(self.report())}")

    def values(self, metric):
        """{instance: value} of pminfo."""
        found, of = {}, None
        for line in self.text.splitlines():
            if line and not line.startswith(" "):
                of = line.strip()
            elif of == metric and (value := re.search(r'(?:or "(.*)"\] )?value (.*)', line)):
                found[value[1]] = value[2].strip('"')
        return found


class Seen(Answer):
    """What is seen of an address or a panel, which happened in the last seconds."""

    def __init__(self, seen, windows):
        self.seen, self.windows, self.rounded = seen, windows, 0.0
