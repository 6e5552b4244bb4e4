# Part of 090: what people look with. Each command of pcp apm, each report of pmrep, view of pmchart, derived metric and rule of
# Prometheus has what all six sources bring, live and from an archive. Errors say what is wrong and are errors.
# shellcheck shell=bash disable=SC2016

export PCP_PYTHON_PROG=/usr/bin/python3 XDG_CACHE_HOME=$D/cache
/usr/bin/python3 -c 'import pcp.pmapi' 2>/dev/null || { echo "skipped: no python3-pcp (qa/setup)" >&2; exit 77; }
pmpython=$(command -v pmpython || echo /usr/bin/python3)
apm() { timeout 300 "$pmpython" "$TOP/clients/cli/pcp-apm" "$@"; }
live() { apm -h "$HOST" "$@" 2>>"$FULL"; }
# rows KEY [KEY...]: of lines of JSON these cells, sorted, each once.
rows() { /usr/bin/python3 -c 'import json, sys
cell = lambda value: "-" if value is None else str(value)
print(*sorted({" ".join(cell(json.loads(l).get(k)) for k in sys.argv[1:]) for l in sys.stdin}), sep="\n")' "$@"; }
# whole COMMAND: each kind of runtime has rows with the figures that it brings in the scene (qa/peers/one_view.py of qa/127).
whole() { /usr/bin/python3 "$QA/peers/one_view.py" scene "$1"; }

sed 's/on 1 \(sec\|minute\)/on 500 msec/' "$TOP/etc/pmlogger.conf" >"$D/pmlogger.conf"
background pmlogger -h "$HOST" -c "$D/pmlogger.conf" -l "$D/pmlogger.log" "$D/archive"
logger=$LAST
# Rates of a second in which everyone had some calls, and a burst of each .NET process.
rates() { /usr/bin/python3 -c 'import json, sys
v = [r for r in map(json.loads, sys.stdin) if r["calls_per_s"] is not None]
print(v)
sys.exit(not v or not all(0.5 < r["calls_per_s"] < 60 and r["average_ms"] < 1000 for r in v))'; }
complete() {
    live services -t 1 -j >"$D/services"
    live runtimes -t 1 -j >"$D/runtimes"
    for t in services runtimes; do whole $t <"$D/$t" || return 1; done
    rates <"$D/services" && live folded >"$D/folded" && grep -q '^webshop;' "$D/folded" && grep -q '^worker;' "$D/folded"
}
verdict "all sources have services" wait_for eval 'complete >>"$FULL" 2>&1'
# seen NUMBER KEYS COMMAND...: as many different rows with these cells, from as many seconds as it takes.
seen() {
    local number=$1 keys=$2
    shift 2
    : >"$D/seen"
    # shellcheck disable=SC2086 # words
    more() { live "$@" -j | rows $keys >>"$D/seen"; sort -u -o "$D/seen" "$D/seen"; [ "$(grep -c . "$D/seen")" -ge "$number" ]; }
    wait_for more "$@"
    grep . "$D/seen"
}

echo "== clients: agents"
live agents | head -1 | tr -s ' ' | sed 's/^ //'
live agents -j >"$D/agents"
rows source <"$D/agents"
rows state since <"$D/agents" >"$D/states"
verdict "each has a state and a time" eval 'grep -qE "^sending 20..-..-..T..:..:..(\.[0-9]+)?Z" "$D/states" && ! grep -E "(^| )-( |$)" "$D/states"'
echo "== clients: services"
live services -t 1 | head -1 | tr -s ' '
rows source service <"$D/services"
verdict "each kind has its figures" whole services <"$D/services"
# A pod of the scene has 6 to 16 calls a second, an agent of Zorka at most 6 pages.
verdict "rates are those of the scene" rates <"$D/services"
echo "chosen: $(live services 'shop/*' -t 1 -j | rows service | tr '\n' ' ')"
verdict "three pods of shop/orders" eval 'live services shop/orders -t 1 -j | grep -q "\"running\": 3[.0]*,"'
echo "== clients: runtimes"
live runtimes -t 1 | head -1 | tr -s ' '
rows source <"$D/runtimes"
verdict "each kind has its figures" whole runtimes <"$D/runtimes"
echo "== clients: methods"
live methods -t 1 -n 2 >"$D/two"
head -1 "$D/two" | tr -s ' ' | sed 's/^ //'
seen 10 "source service method" methods -t 1 | grep -v '^dotnet'
live methods --total | head -1 | tr -s ' ' | sed 's/^ //'
live methods --total -j | rows source method | grep '^dotnet'
two() { [ "$(wc -l <"$D/two")" = 3 ] || { live methods -t 1 -n 2 >"$D/two"; return 1; }; }
verdict "two rows" wait_for two
verdict "the first is the longest" wait_for eval 'live methods -t 1 -j | /usr/bin/python3 -c "import json, sys; v = [json.loads(l)[\"ms_per_s\"] for l in sys.stdin]; sys.exit(v != sorted(v, reverse=True) or len(v) < 5)"'
echo "== clients: stacks"
seen 2 "source service stack" stacks -t 1 shop/stock
live stacks --total -j | rows source service | uniq
echo "== clients: folded"
verdict "each line is frames and a number" eval '[ "$(wc -l <"$D/folded")" -gt 8 ] && ! grep -vE "^[^ ;]+(;[^;]+)* [0-9]+$" "$D/folded"'
cut -d';' -f1 "$D/folded" | sort -u
echo "== clients: traces"
# A page that has come as a whole: two spans of frontend, three of orders.
pages() { live -t 0.5 traces -j -n 500 frontend | grep -m 1 '"spans": 5, "services": 2' >"$D/traced"; }
wait_for pages
rows service operation <"$D/traced"
trace=$(sed 's/.*"trace": "\([0-9a-f]*\)".*/\1/' "$D/traced")
live trace "$trace" -j >"$D/tree"
rows depth service operation <"$D/tree" | sed 's/= [0-9]*/= N/'
verdict "drawn" same "$(live trace "$trace" | grep -c '█')" 5
verdict "the begin of its id will do" same "$(live trace "${trace:0:12}" -j)" "$(cat "$D/tree")"
echo "== clients: events"
kinds() { live events >"$D/events" && rows source kind <"$D/events" | grep -vE 'pause|session|pool|chunk|tree' >"$D/kinds" && [ "$(wc -l <"$D/kinds")" -ge 8 ]; }
wait_for kinds
cat "$D/kinds"
verdict "in their order" eval 'grep -o "^{.time.: .[^ ]*" "$D/events" | sort -c'
live events zorka.span profiler.call -x 'duration > 50000000' >"$D/slow"
verdict "a filter holds for each" eval '/usr/bin/python3 -c "import json, sys; v = [json.loads(l)[\"parameters\"][\"duration\"] for l in sys.stdin]; print(len(v)); sys.exit(not v or min(v) <= 50000000)" <"$D/slow"'
rows source kind <"$D/slow"
verdict "the newest two" same "$(live events lttng -n 2 | wc -l)" 2
background env PYTHONUNBUFFERED=1 "$pmpython" "$TOP/clients/cli/pcp-apm" -h "$HOST" events dotnet.exception -f -n 1 >"$D/follow.out" 2>&1
verdict "followed" wait_for eval '[ "$(wc -l <"$D/follow.out")" -gt 20 ]'
ends "$LAST"
verdict "none comes twice" eval 'sed "\$d" "$D/follow.out" | sort | uniq -d | head -1 | wc -l | grep -qx 0'
echo "== clients: top"
/usr/bin/python3 - "$pmpython" "$TOP/clients/cli/pcp-apm" -h "$HOST" -t 1 top >"$D/top.out" 2>&1 <<'END'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", LINES="60", COLUMNS="200")
    os.execvp(sys.argv[1], sys.argv[1:])
import fcntl, struct, termios
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
seen, begin = b"", time.monotonic()
keys = [("CALLS/S", b"a"), ("lttng::shophost/shop", b"m"), ("OrderController.list", b"k"), ("OrderStore.ofCustomer", b"q")]
while keys and time.monotonic() - begin < 300:
    if select.select([fd], [], [], 0.5)[0]:
        try:
            seen += os.read(fd, 65536)
        except OSError:
            break
    if keys[0][0].encode() in seen:
        print("saw", keys[0][0], flush=True)
        os.write(fd, keys.pop(0)[1])
        seen = b""
end = time.monotonic() + 120
while time.monotonic() < end:
    if select.select([fd], [], [], 0.2)[0]:
        try:
            if not os.read(fd, 65536):
                break
        except OSError:
            break
else:
    os.kill(pid, 9)
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
cat "$D/top.out"
echo "== clients: errors"
# wrong STATUS ARGS...: what is said
wrong() {
    local status=$1
    shift
    apm "$@" >"$D/wrong" 2>&1 </dev/null
    local got=$?
    [ $got = "$status" ] || echo "status $got"
    grep -m 1 . "$D/wrong" | sed "s,$D,D,g; s,unix:D/[^:]*,HOST,; s,${PCP_ARCHIVE_DIR:-/nowhere},ARCHIVES,"
}
wrong 1 -h unix:"$D/nothing" services
wrong 1 -a "$D/nothing" services
wrong 1 -h "$HOST" servces
wrong 1 -h "$HOST" agents x
wrong 1 -h "$HOST" -n none services
wrong 1 -h "$HOST" top
wrong 1 -h "$HOST" services -x 'duration > 1'
wrong 1 -h "$HOST" events java
wrong 1 -h "$HOST" events zorka.span -x 'durtion > 1'
wrong 2 -h "$HOST" --no-such
verdict "help is no error, and names each command" eval 'apm --help >"$D/help" 2>&1 && ! for c in agents services runtimes methods stacks folded traces trace events top page; do grep -q "^  $c" "$D/help" || echo "$c"; done | grep .'
/usr/bin/python3 peers/made_archive.py "$D/little" <<<'apm.agent.up mono::x.exe:7 1 0'
verdict "sources that are off are no error" eval 'apm -a "$D/little" agents | grep -q x.exe'
echo 'log mandatory on 200 msec { pmcd.numagents }' >"$D/other.conf"
pmlogger -h "$HOST" -c "$D/other.conf" -l "$D/other.log" -s 2 "$D/other" 2>>"$FULL"
wrong 1 -a "$D/other" services

echo "== clients: an archive"
logged_all() { apm -a "$D/archive" services -j >"$D/archived" 2>>"$FULL"; whole services <"$D/archived" >>"$FULL"; }
wait_for logged_all
ends "$logger"
apm -a "$D/archive" services -j >"$D/archived"
verdict "each kind has its figures" whole services <"$D/archived"
verdict "and in runtimes" eval 'apm -a "$D/archive" runtimes -j | whole runtimes'
apm -a "$D/archive" agents -j | rows source
apm -a "$D/archive" methods -j 2>>"$FULL" | rows source | uniq
apm -a "$D/archive" events zorka lttng mono -j 2>>"$FULL" >"$D/logged"
rows source kind <"$D/logged" | grep -v tree
verdict "the trace is the same" same "$(apm -a "$D/archive" trace "$trace" -j | rows depth span parent duration_ms)" "$(rows depth span parent duration_ms <"$D/tree")"
verdict "the newest five" same "$(apm -a "$D/archive" events zorka -n 5 | wc -l)" 5
wrong 1 -a "$D/archive" events -f
wrong 1 -a "$D/archive" events -x 'duration > 1'

echo "== clients: pmrep"
# With log profilers of Mono, which have rows that counters agents have not.
scene_peer streams mono_streams
streamed() { for m in gc.time lock.top.time exceptions.by_site profile.methods.self; do pminfo -h "$HOST" -f apm.mono.$m | grep -q ' value ' || return 1; done; }
verdict "log profilers are at work" wait_for streamed
sections=$(sed -n 's/^\[\(.*\)\]$/\1/p' "$TOP"/clients/reports/pmrep/*.conf)
# Four at once: pmcd's socket refuses more that connect at one moment.
report() { pmrep -c "$TOP/clients/reports/pmrep" -h "$HOST" -t 0.2 -s 2 ":$1" >"$D/report.$1" 2>&1; }
export -f report
export HOST TOP D
xargs -P 4 -I{} bash -c 'report {}' <<<"$sections"
for section in $sections; do
    report=$D/report.$section
    details "$section: $(cat "$report")"
    # No unknown metric, and a number in the last line.
    if ! grep -qE 'PM_ERR|nvalid|must|mpossible|not part' "$report" && tail -1 "$report" | grep -qE '[0-9]'; then echo "$section"; else echo "$section: NO"; fi
    grep -q "^#   pmrep :$section " "$TOP"/clients/reports/pmrep/*.conf || echo "$section is not in the list at the top"
done
echo "== clients: pmchart"
pminfo -h "$HOST" apm | sort >"$D/names"
for view in "$TOP"/clients/views/*; do
    grep -oE 'metric [^ ]+' "$view" | cut -d' ' -f2 | sort -u >"$D/charted"
    echo "$(basename "$view"): $(wc -l <"$D/charted") metrics, $(grep -c '^chart ' "$view") charts $(comm -23 "$D/charted" "$D/names" | tr '\n' ' ')"
    if command -v pmchart >/dev/null && command -v xvfb-run >/dev/null; then
        timeout 60 xvfb-run -a pmchart -a "$D/archive" -c "$view" -o "$D/view.png" -O -0 -s 10 -v 10 >>"$FULL" 2>&1 || echo "pmchart refuses it"
    fi
done
echo "== clients: derived metrics"
sed -n 's/^\(apm[^ (]*\) = .*/\1/p' "$TOP/clients/reports/derived.conf" | while read -r metric; do
    PCP_DERIVED_CONFIG=$TOP/clients/reports/derived.conf pmval -h "$HOST" -t 0.2 -s 2 -r "$metric" 2>&1 | tail -1 | grep -qE '[0-9]' && echo "$metric"
done
echo "== clients: rules of Prometheus"
verdict "each metric exists" same "$(grep -oE 'apm_[a-z0-9_]+' "$D/made/prometheus/rules.yml" | sort -u | comm -23 - <(tr . _ <"$D/names"))" ""
if command -v promtool >/dev/null; then promtool check rules "$D/made/prometheus/rules.yml" >"$D/promtool" 2>&1 || cat "$D/promtool"; fi
