#!/usr/bin/env python3
"""Values of a pmseries query through pmproxy: a line HOST INSTANCE VALUE MILLISECONDS each, newest last.

usage: series.py EXPRESSION [URL]

Standard library only.
"""

import http.client
import json
import sys
import urllib.parse


def ask(connection, path, **query):
    # The connection stays: pmproxy 6.0.3 cuts answers above 4 KB to clients that close it.
    body = urllib.parse.urlencode(query)
    connection.request("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = json.loads(connection.getresponse().read())
    return answer if isinstance(answer, list) else []


def main():
    address = sys.argv[2] if len(sys.argv) > 2 else "localhost:44322"
    connection = http.client.HTTPConnection(address, timeout=30)
    expression = sys.argv[1]
    found = ask(connection, "/series/query", expr=expression if "[" in expression else expression + "[count:1]")
    names = ",".join(sorted({value["series"] for value in found}))
    if not names:
        return
    # Labels of a value with an instance are those of its instance, which has an id like a series.
    labelled = ",".join(sorted({value.get("instance", value["series"]) for value in found}))
    hosts = {row["series"]: row["labels"].get("hostname", "?") for row in ask(connection, "/series/labels", series=labelled)}
    instances = {row["instance"]: row["name"] for row in ask(connection, "/series/instances", series=names)}
    for value in sorted(found, key=lambda v: v["timestamp"]):
        print(hosts.get(value.get("instance", value["series"]), "?"), instances.get(value.get("instance"), "-").replace(" ", "_"),
              value["value"].replace(" ", "_"), round(float(value["timestamp"])))


if __name__ == "__main__":
    main()
