# Part of 090: tables of event records, of all sources at work. Each cell is that of pmevent's records, the newest first, and
# the slowest are the 50 slowest of all; for two and for twenty streams. Python's csv and the rules of Grafana's PCP data
# source find the same cells, as many in each line as in the header. It ends the peers of the scene.
# shellcheck shell=bash disable=SC2016,SC2154

export TZ=UTC
# tables KIND: is every table of the kind that of pmevent's records?
tables() {
    local metric=apm.$1 slowest=()
    pmevent -h "$HOST" -s 1 "$metric.highres_records" >"$D/records" || return
    pminfo -h "$HOST" -f "$metric.table" >"$D/newest"
    if pminfo -h "$HOST" "$metric.slowest" >>"$FULL" 2>&1; then
        pminfo -h "$HOST" -f "$metric.slowest" >"$D/slowest"
        slowest=("$D/slowest")
    fi
    echo "$1${slowest:+ and slowest}: $(python3 peers/tables.py "$1" "$D/records" "$D/newest" "${slowest[@]}")"
}
# Nobody is connected: no record comes any more.
gone() { [ "$(pminfo -h "$HOST" -f apm.agent.up | grep -c ' value 0$')" -ge "$1" ] && ! pminfo -h "$HOST" -f apm.agent.up | grep -q ' value 1$'; }

echo "== tables"
many() { at_least apm.profiler.event.call.count shop/orders/orders-5f6c-aa1 60 && at_least apm.profiler.event.call.count shop/stock/stock-77d9-ee5 60; }
verdict "there are more calls than lines" wait_for many
# Records come in pieces of a call; tables and records must be of the same moment.
kill "${SCENE_PIDS[@]}"
wait "${SCENE_PIDS[@]}" 2>/dev/null
SCENE_PIDS=()
verdict "the peers are gone" wait_for gone 16
for kind in mono.event.sample profiler.event.{call,pause,chunk} zorka.event.{span,exception} lttng.event.record \
    dotnet.event.{gc,exception,contention,pool}; do
    tables "$kind"
done
echo "== tables: a filter is for records only"
cc -O2 -Wall -o "$D/evclient" peers/evclient.c -lpcp || exit 1
lines() {
    printf '%s\n' 'set apm.profiler.event.pause.filter duration < 0' 'records apm.profiler.event.pause.records apm.profiler.param.duration' \
        'get apm.profiler.event.pause.table' | "$D/evclient" "$HOST"
}
lines >"$D/filtered"
verdict "no record" grep -q '^ *missed 0' "$D/filtered"
verdict "but lines" less 5 "$(grep -c 'shop/orders/orders-5f6c-aa1,' "$D/filtered")"

echo "== tables: twenty more pods, with other figures"
export PROFILER_PORT
peer_now twenty <<'END'
import os, random, sys
sys.path.insert(0, os.path.join(os.environ["PYTHONPATH"], "scene"))
import java_pods
pods = [java_pods.Pod("orders" if n % 2 else "stock", f"twenty-{n}", random.Random(100 + n), 1 + n / 4) for n in range(20)]
for _ in range(14):
    for pod in pods:
        pod.half_second()
END
verdict "they are gone" wait_for gone 36
for kind in profiler.event.{call,pause}; do tables "$kind"; done
