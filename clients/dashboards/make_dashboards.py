#!/usr/bin/env python3
"""Makes the dashboards of clients/dashboards/dashboards from lib/boards and the catalogue of metrics.

usage: make_dashboards.py [--check] [--catalogue FILE] [OUTDIR]

The catalogue is the output of `pmdaapm --catalogue` (by default of $APM_PMDA, else of pmdaapm in
PATH). A metric that does not exist, a unit that is not the metric's, two units in a panel or a
counter that is not shown as a rate are errors. --check writes nothing: it fails if a file differs
from what would be written."""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from lib import dashboard, prometheus, valkey, vector  # noqa: E402
from lib.boards import BOARDS  # noqa: E402
from lib.catalogue import Catalogue, Mistake  # noqa: E402


def catalogue(path):
    """The text of the catalogue."""
    if path:
        return Path(path).read_text(encoding="utf-8")
    program = os.environ.get("APM_PMDA", "pmdaapm")
    return subprocess.run([program, "--catalogue"], check=True, capture_output=True, text=True).stdout


def files(known):
    """Text of each file by its path below the output folder."""
    for source in (vector, valkey, prometheus):
        for board in BOARDS:
            made = dashboard.rendered(board, BOARDS, source, known)
            text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
            yield f"{source.NAME}/apm-{board.uid}.json", text


def main():
    """Writes or compares the files; returns the exit status."""
    parser = argparse.ArgumentParser(description="Makes the dashboards.")
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--catalogue", help="output of pmdaapm --catalogue")
    parser.add_argument("outdir", nargs="?", default=HERE / "dashboards", type=Path)
    options = parser.parse_args()
    try:
        made = dict(files(Catalogue(catalogue(options.catalogue))))
    except Mistake as mistake:
        print(mistake, file=sys.stderr)
        return 1
    stale = {n for n, text in made.items() if not (options.outdir / n).is_file() or (options.outdir / n).read_text(encoding="utf-8") != text}
    found = {str(p.relative_to(options.outdir)) for p in options.outdir.rglob("*.json")}
    if options.check:
        for name in sorted(stale | (found - set(made))):
            print(f"{name} is stale: run clients/dashboards/make_dashboards.py", file=sys.stderr)
        return 1 if stale or found - set(made) else 0
    for name in sorted(stale):
        path = options.outdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[name], encoding="utf-8")
    for name in found - set(made):
        (options.outdir / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
