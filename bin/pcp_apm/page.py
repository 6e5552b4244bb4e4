"""Where the page with charts is."""

import os
import subprocess
import urllib.parse

from pcp import pmapi

from .values import Trouble


def page(host, proxy, files):
    """Where the page is, with the host in its address; or a copy."""
    share, pmdas = (pmapi.pmContext.pmGetConfig(name) for name in ("PCP_SHARE_DIR", "PCP_PMDAS_DIR"))
    here = os.path.join(share, "apm", "apm.html")
    program = os.environ.get("APM_PMDA") or os.path.join(pmdas, "apm", "pmdaapm")
    if files:
        here = os.path.abspath(files[0])
        try:
            content = subprocess.run([program, "--page"], stdout=subprocess.PIPE, check=True).stdout
            with open(here, "wb") as out:
                out.write(content)
        except (OSError, subprocess.CalledProcessError) as e:
            raise Trouble(f"{here} cannot be written: {e}") from None
    elif not os.path.isfile(here):
        raise Trouble(f"{here} is not installed: run Install --clients, or give a FILE to write the page to")
    # The host of pmproxy is the one that is asked about, unless -p says otherwise; there it is `local:`.
    machine = "localhost" if host is None or ":" in host or "/" in host else host
    query = {"proxy": proxy or f"http://{machine}:44322", "hostspec": host if proxy and host else "local:"}
    print("file://" + urllib.parse.quote(here) + "?" + urllib.parse.urlencode(query, safe=":/"))
