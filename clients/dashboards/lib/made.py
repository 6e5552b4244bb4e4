"""Files that are made of lists: all of them or none."""
import sys

from .catalogue import Mistake


def write(outdir, made):
    """Writes texts by their paths below a folder; returns the exit status. made: (path, text), which may end with a mistake."""
    try:
        texts = dict(made)
    except Mistake as mistake:
        print(mistake, file=sys.stderr)
        return 1
    for name, text in texts.items():
        path = outdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0
