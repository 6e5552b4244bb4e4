"""`pcp apm export`: a program of its own, which is started with the options as they are."""

import os
import sys

from pcp import pmapi

from .trouble import Trouble

PROGRAM = "pmdaapm-export"
# Options whose words follow them, before the command.
SHORT, LONG = set("aAhnOpSTtxZ"), {"--archive", "--align", "--host", "--origin", "--start", "--finish", "--interval", "--filter", "--timezone"}


def arguments(words):
    """Those of the program if the command is `export`, else `None`: the options may be before it and behind."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        at += 2 if words[at] in LONG or len(words[at]) == 2 and words[at][1] in SHORT else 1
    return words[:at] + words[at + 1:] if words[at:at + 1] == ["export"] else None


def run(words):
    """Becomes the program."""
    here = os.path.dirname(os.path.realpath(sys.argv[0]))
    places = [os.environ.get("APM_EXPORT"), os.path.join(here, PROGRAM), os.path.join(pmapi.pmContext.pmGetConfig("PCP_BINADM_DIR"), PROGRAM)]
    for program in filter(None, places):
        if os.access(program, os.X_OK):
            os.execv(program, [PROGRAM, *words])
    raise Trouble(f"{PROGRAM} is not installed: it comes with the agent (package pcp-pmda-apm)")
