"""The same tables again and again, on a terminal."""

import curses
import os
import sys
import time

from pcp import pmapi

from .tables import agents, methods, processes, services, stacks
from .trouble import Trouble


def top(reader):
    if reader.archive:
        raise Trouble("top works live only")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Trouble("top needs a terminal; pcp apm services prints the same once")
    try:
        curses.wrapper(lambda screen: draw(screen, reader))
    except curses.error as e:
        raise Trouble(f"top cannot use this terminal (TERM={os.environ.get('TERM', '')}): {e}") from None


def draw(screen, reader):
    views = {"s": ("services", services), "r": ("runtimes", processes), "a": ("agents", agents), "m": ("methods", methods), "k": ("stacks", stacks)}
    view, error = "s", ""
    curses.use_default_colors()
    curses.curs_set(0)
    screen.timeout(0)
    while True:
        tables = []
        try:
            tables, error = views[view][1](reader, "*", 200), ""
        except pmapi.pmErr as e:
            error = e.message()
            time.sleep(reader.interval)
            try:
                reader.context.pmReconnectContext()
            except pmapi.pmErr:
                pass
        high, wide = screen.getmaxyx()
        screen.erase()
        put = lambda y, text, how=0: y < high and screen.addnstr(y, 0, text, max(0, wide - 1), how)
        put(0, f"pcp apm top  {time.strftime('%H:%M:%S')}  {views[view][0]}   s services  r runtimes  a agents  m methods  k stacks  q quit", curses.A_BOLD)
        put(1, f"no answer: {error}" if error else "")
        y = 2
        for table in tables:
            for n, line in enumerate([*table.lines(wide - 1), *table.below(wide - 1)]):
                put(y, line, curses.A_REVERSE if n == 0 else 0)
                y += 1
            y += 1
        screen.refresh()
        if view == "a":
            time.sleep(min(1.0, reader.interval))
        while (key := screen.getch()) != -1:
            if key in (ord("q"), 27):
                return
            view = chr(key) if 0 < key < 256 and chr(key) in views else view
