"""What is answered in qa/131: the output of a command, what a page shows, what a panel has."""

import re

from truth import PREFIX, stamp


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
