# What the tests of .NET need beside common.sh and filters.sh: processes of their own, which other tests
# and real runtimes on this machine are not, and values of processes by name, whatever their pid.
# shellcheck shell=bash

export DOTNET_PREFIX=q$$-
SOCKETS=$D/sockets
PORT=$D/port/dotnet.sock
mkdir -p "$SOCKETS"

# dotnet_config [LINE...]: only processes of this test are read; further keys of [dotnet].
dotnet_config() {
    DOTNET_KEYS="directories = [\"$SOCKETS\"]
listen = \"${LISTEN:-}\"
processes = [\"$DOTNET_PREFIX*;counters\", \"$DOTNET_PREFIX*;version=3;counters\"]
$(printf '%s\n' "$@")"
    write_config
}
# Programs of real runtimes have the same names in each test that runs them: only one does at a time, since
# its PMDA would read those of the other.
real_dotnet() {
    exec 7>"${TMPDIR:-/tmp}/apm-qa-real-dotnet.lock"
    flock -w 120 7
}
mine() { pminfo -h "$HOST" -f "apm.dotnet.$1" 2>/dev/null | grep -F "\"$DOTNET_PREFIX"; }
# dn METRIC NAME [ROW]: the value of the process NAME:PID, or of its row of a table.
dn() { pminfo -h "$HOST" -f "apm.dotnet.$1" 2>/dev/null | sed -nE "s/.* or \"$DOTNET_PREFIX$2:[0-9]+${3:+::$3}\"\] value //p"; }
dn_is() { [ "$(dn "${@:1:$#-1}")" = "${*: -1}" ]; }
# dn_least METRIC NAME [ROW] NUMBER
dn_least() {
    local v
    v=$(dn "${@:1:$#-1}")
    [ -n "$v" ] && [ "${v%%.*}" -ge "${*: -1}" ]
}
# dn_table METRIC...: a line `METRIC NAME ROW VALUE` for each value, all of one fetch.
dn_table() {
    pminfo -h "$HOST" -f "${@/#/apm.dotnet.}" 2>/dev/null | sed -nE "/^apm/ { s/^apm\.dotnet\.([a-z_.]+).*/\1/; h; d }
        s/.* or \"$DOTNET_PREFIX([^:]+):[0-9]+(::([^\"]*))?\"\] value (.*)/\1 \3 \4/; T; G; s/(.*)\n(.*)/\2 \1/p"
}
# dn_has METRIC...: whether each line on standard input is in that table.
dn_has() { ! grep -Fxv -f <(dn_table "$@"); }
streams() { dn_is session.state "$1" 3; }
# all_stream NUMBER: as many processes are read.
all_stream() { [ "$(mine session.state | grep -c 'value 3$')" = "$1" ]; }
# happened PEER NAME EVENT: how often, by the words of the fake runtimes.
happened() { grep "\"name\": \"$2\"" "$D/$1.out" | grep -c "\"event\": \"$3\""; }
# asked PEER NAME: the requests in their order.
asked() {
    python3 -B - "$D/$1.out" "$2" <<'END'
import json, sys
said = []
for line in open(sys.argv[1]):
    try:
        e = json.loads(line)
    except ValueError:
        continue
    if e["name"] != sys.argv[2]:
        continue
    words = {"ProcessInfo": "info", "collect": "collect", "unknown command": "unknown"}.get(e["event"])
    if words == "unknown":
        said.append(f"no {e['set']}.{e['command']}")
    elif words:
        said.append(words + str(e.get("version", e.get("collect"))))
    elif e["event"] in ("VIOLATION", "dropped", "resumed", "ended", "stop"):
        said.append(e["event"])
print(*said)
END
}
