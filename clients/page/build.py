#!/usr/bin/env python3
"""Puts the parts of the page together: build.py > apm.html. cargo's build does it for pmdaapm, which has the page in
it (--page), and Install for what is installed beside `pcp apm page`.

index.html names the parts in their order. One of them is made here: the columns that pcp apm has too, and the list of rules of which
those of pmie and Prometheus are made. The hashes of the parts are in the page's content security policy: nothing else is run.
"""
import base64
import functools
import hashlib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "rules"), str(HERE.parent / "dashboards"), str(HERE.parent / "cli/pcp_apm")]

import columns  # noqa: E402
import for_page as rules  # noqa: E402

MADE = "core/lists.js"
SHEET = re.compile(r'<link rel="stylesheet" href="([^"]+)">\n')
SCRIPT = re.compile(r'<script src="([^"]+)"></script>\n')


def made():
    """The lists as a part."""
    lists = {"COLUMNS": columns.of_page(), "RULES": rules.rules()}
    return "".join(f"const {name} = {json.dumps(value, ensure_ascii=False)};\n" for name, value in lists.items())


@functools.cache
def part(name):
    text = made() if name == MADE else (HERE / name).read_text(encoding="utf-8")
    if "</script" in text or "</style" in text or "<!--" in text:
        sys.exit(f"{name}: would end its element in the page")
    return text


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(index):
    scripts = " ".join(digest(part(name)) for name in SCRIPT.findall(index))
    sheets = " ".join(digest(part(name)) for name in SHEET.findall(index))
    return (
        "default-src 'none'; connect-src http: https:; img-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'; "
        f"style-src {sheets}; script-src {scripts}"
    )


def main():
    index = (HERE / "index.html").read_text(encoding="utf-8")
    page = SHEET.sub(lambda m: f"<style>{part(m[1])}</style>\n", index)
    page = SCRIPT.sub(lambda m: f"<script>{part(m[1])}</script>\n", page)
    licence = (HERE / "uPlot/LICENSE").read_text(encoding="utf-8").strip()
    sys.stdout.write(page.replace("@LICENCE@", licence).replace("@POLICY@", policy(index)))


if __name__ == "__main__":
    main()
