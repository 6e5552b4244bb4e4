#!/usr/bin/env python3
"""Makes the dashboards of Grafana from lib/boards and the catalogue of metrics.

usage: make_dashboards.py [--catalogue FILE] OUTDIR

The files are OUTDIR/{vector,valkey,prometheus}/apm-BOARD.json. The catalogue is docs/metrics.md of this tree, so
that no program need be built, or the output of `pmdaapm --catalogue`. A metric that does not exist, a unit that
is not the metric's, two units in a panel or a counter that is not shown as a rate are errors."""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
METRICS = HERE.parent.parent / "docs" / "metrics.md"
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from lib import dashboard, prometheus, valkey, vector  # noqa: E402
from lib.boards import BOARDS  # noqa: E402
from lib.catalogue import Catalogue  # noqa: E402
from lib.made import write  # noqa: E402


def files(catalogue):
    """Path below the output folder and text of each file."""
    known = Catalogue(catalogue.read_text(encoding="utf-8"))
    for source in (vector, valkey, prometheus):
        for board in BOARDS:
            made = dashboard.rendered(board, BOARDS, source, known)
            text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
            yield f"{source.NAME}/apm-{board.uid}.json", text


def main():
    """Writes the files; returns the exit status."""
    parser = argparse.ArgumentParser(description="Makes the dashboards.")
    parser.add_argument("--catalogue", default=METRICS, type=Path, help="docs/metrics.md, or the output of pmdaapm --catalogue")
    parser.add_argument("outdir", type=Path)
    options = parser.parse_args()
    return write(options.outdir, files(options.catalogue))


if __name__ == "__main__":
    sys.exit(main())
