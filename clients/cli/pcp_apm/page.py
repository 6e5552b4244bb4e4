"""The page with charts: made by the PMDA's program, or the copy that Install --clients put here."""

import os
import re
import subprocess
import urllib.parse

from pcp import pmapi

from .past import filled
from .table import to_json
from .trouble import Trouble


def page(host, proxy, files, as_json, data=None):
    """Prints the address of a page for a browser; `files` has the place where it is written. data: of an archive, which is in the page then."""
    share, pmdas = (pmapi.pmContext.pmGetConfig(name) for name in ("PCP_SHARE_DIR", "PCP_PMDAS_DIR"))
    installed = os.path.join(share, "apm", "apm.html")
    program = os.environ.get("APM_PMDA") or os.path.join(pmdas, "apm", "pmdaapm")
    query = {"proxy": proxy, "hostspec": host or "local:"} if proxy else asked_there(host)
    if not files and data is None and os.path.isfile(installed):
        return told(address(installed) + "?" + urllib.parse.urlencode(query, safe=":/"), as_json)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.abspath(files[0] if files else os.path.join(cache, "pmdaapm", "apm.html" if data is None else "archive.html"))
    try:
        if os.access(program, os.X_OK):
            asked = [program, "--page", "--proxy", query["proxy"], "--hostspec", query["hostspec"]]
            made, rest = subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout, ""
        elif os.path.isfile(installed):
            with open(installed, "rb") as f:
                made, rest = f.read(), "?" + urllib.parse.urlencode(query, safe=":/")
        else:
            raise Trouble(f"there is neither {program} nor {installed}: run Install or Install --clients")
        if data is not None:
            made, rest = filled(made, data), ""
        if not files:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(made)
    except OSError as e:
        raise Trouble(f"{e.filename or path}: {e.strerror}" + (": make its directory first" if isinstance(e, FileNotFoundError) else "")) from None
    except subprocess.CalledProcessError as e:
        raise Trouble(f"{program} --page makes no page (status {e.returncode})") from None
    return told(address(path) + rest, as_json)


def told(where, as_json):
    """Prints the address of the page."""
    print(to_json({"page": where}) if as_json else where)


def asked_there(host):
    """pmproxy on the host itself, where that is `local:`."""
    if host is None or host.startswith(("local:", "unix:")):
        return {"proxy": "http://localhost:44322", "hostspec": host or "local:"}
    machine = re.fullmatch(r"(?:pcps?://)?(\[[0-9A-Fa-f:.]+\]|[^][:/?@]+)(?::44321)?", host)
    if not machine:
        raise Trouble(f"{host}: no name of a host with a pmproxy; -p URL names one that can ask it")
    return {"proxy": f"http://{machine[1]}:44322", "hostspec": "local:"}


def address(path):
    """The address of a file."""
    return "file://" + urllib.parse.quote(path)
