"""A table for people, as wide as the terminal, or lines of JSON."""

import json
import os
import re
import sys
import textwrap
import time
import unicodedata

# What a peer's text must not do to a terminal: control it, or turn the direction of a line.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
# No column of texts is cut to less. Where there is no terminal none is cut, but blanks make no column wider than the latter:
# one long name costs its own line, not all of them.
LEAST, MOST = 8, 48


def to_json(value):
    """A line of JSON that a terminal may show: only the line's own escapes stand for controls."""
    return UNSAFE.sub(lambda c: f"\\u{ord(c[0]):04x}", json.dumps(value, ensure_ascii=False))


def shown(text):
    """A text that a terminal may show."""
    return UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def at_text(ns):
    """A time for programs."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9)) + f".{ns % 10**9:09d}Z"


def terminal():
    """The columns of the terminal; `None` if the output is none."""
    if not sys.stdout.isatty():
        return None
    said = os.environ.get("COLUMNS", "")
    try:
        return int(said) if said.isdecimal() and int(said) else os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def width(text):
    """The columns that a terminal takes for a text."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text, most, head=None):
    """A text of at most so many columns: its begin, of `head` characters, and more of its end, where names differ. Without `head` it stays indented."""
    if width(text) <= most:
        return text
    if head is None and text.startswith(" "):
        inner = text.lstrip(" ")
        blanks = min(len(text) - len(inner), most // 2)
        return " " * blanks + cut(inner, most - blanks)
    head = (most - 1) // 3 if head is None else head
    begin, end = text[:head], text[-(most - 1 - head):] if most - 1 > head else ""
    while end and width(begin) + 1 + width(end) > most:
        end = end[1:]
    while begin and width(begin) + 1 + width(end) > most:
        begin = begin[:-1]
    return begin + "…" + end


class Table:
    """Columns are (heading, key, digits); digits `None` is text. Notes are numbered and stand below.

    leave_out: a column of numbers that no row has is not shown, and where a terminal is too narrow for the others, those
    that have no room come below, beside the first column again.
    """

    def __init__(self, title, columns, leave_out=False):
        self.title, self.columns, self.rows, self.notes, self.leave_out = title, columns, [], [], leave_out
        # Further keys of each line of JSON.
        self.also = {}

    def add(self, *cells, **also):
        self.rows.append((cells, also))

    def note(self, text):
        """The mark of a note: equal ones have one."""
        if text not in self.notes:
            self.notes.append(text)
        return f"[{self.notes.index(text) + 1}]"

    @staticmethod
    def text(cell, digits):
        if cell is None:
            return "-"
        return shown(str(cell)) if digits is None else f"{cell:.{digits}f}"

    @staticmethod
    def widths(rows, most, columns):
        """Columns of the columns, so that their sum is at most `most` if that can be."""
        wide = [max(map(width, column)) for column in zip(*rows)]
        texts = [n for n, (_, _, digits) in enumerate(columns) if digits is None]
        least = {n: max(LEAST, width(rows[0][n])) for n in texts}
        if most is None:
            return [min(w, MOST) if n in texts else w for n, w in enumerate(wide)]
        while sum(wide) + 2 * (len(wide) - 1) > most:
            can = [n for n in texts if wide[n] > least[n]]
            if not can:
                break
            wide[max(can, key=lambda n: wide[n])] -= 1
        return wide

    def lines(self, most=None):
        """Lines of the table, headings first. `most`: columns of the terminal."""
        if not self.leave_out:
            yield from self.block(range(len(self.columns)), most)
            return
        there = [n for n, (_, _, digits) in enumerate(self.columns) if digits is None or any(cells[n] is not None for cells, _ in self.rows)]
        for number, block in enumerate(self.blocks(there, most)):
            if number:
                yield ""
            yield from self.block(block, most)

    def blocks(self, there, most):
        """The columns, in as many parts as the terminal needs; each begins with the first one."""
        texts = [n for n in there if self.columns[n][2] is None]
        blocks, block = [], texts
        for n in there[len(texts):]:
            if most is not None and block != texts[:1] and sum(self.narrow([*block, n])) > most:
                blocks.append(block)
                block = texts[:1]
            block = [*block, n]
        return [*blocks, block]

    def narrow(self, columns):
        """What columns take with the blanks between them, names cut as far as that is still a name."""
        least = 2 * LEAST
        for n in columns:
            heading, _, digits = self.columns[n]
            wide = max([width(heading), *[width(self.text(cells[n], digits)) for cells, _ in self.rows]])
            yield (wide if digits is not None else max(width(heading), min(wide, least))) + (2 if n != columns[0] else 0)

    def block(self, columns, most):
        """Lines of these columns."""
        chosen = [self.columns[n] for n in columns]
        rows = [[heading for heading, _, _ in chosen]]
        rows += [[self.text(cells[n], self.columns[n][2]) for n in columns] for cells, _ in self.rows]
        wide = self.widths(rows, most, chosen)
        for row in rows:
            parts = []
            for cell, (_, _, digits), w in zip(row, chosen, wide):
                cell = cell if most is None or digits is not None else cut(cell, w)
                blanks = " " * (w - width(cell))
                parts.append(cell + blanks if digits is None else blanks + cell)
            line = "  ".join(parts).rstrip()
            # Numbers are not cut one by one: a terminal that is too narrow for them loses the last ones.
            yield line if most is None else cut(line, most, most - 1)

    def below(self, most=None):
        """The notes."""
        for number, text in enumerate(self.notes, 1):
            mark = f"[{number}] "
            yield from textwrap.wrap(mark + shown(text), most, subsequent_indent=" " * len(mark)) if most else [mark + shown(text)]

    def show(self, as_json):
        """Prints it."""
        if as_json:
            for cells, also in self.rows:
                print(to_json({"table": self.title, **{key: cell for cell, (_, key, _) in zip(cells, self.columns)}, **also, **self.also}))
            return
        most = terminal()
        print("\n".join(self.lines(most)))
        if self.notes:
            print("", *self.below(most), sep="\n")
