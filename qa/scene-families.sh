# Part of 090: all six sources at work without a runtime. Each family of metrics (apm.SOURCE.NAME) has values; those of two
# instances differ; counters go on; pmproxy answers with and without redis.
# shellcheck shell=bash disable=SC2016

echo "== families"
# families: those of which no metric has a value.
families() {
    pminfo -h "$HOST" -f apm 2>/dev/null | awk '/^apm\./ { split($1, n, "."); f = n[1] "." n[2] "." n[3]; if (!(f in seen)) seen[f] = 0 }
        / value / { seen[f]++ } END { for (f in seen) if (!seen[f]) print f }' | grep -v -e '\.param$' -e '^apm\.jvm\.cpus$' | sort | tr '\n' ' '
}
# A JVM has a limit of processors where the machine is a container. Waits are off (dotnet.waits), sessions are those of old Zorka agents while they last, the
# shared area of Mono is that of real processes, and no Mono walks its heap; nobody has asked a JVM for its classes. Parameters never have values.
none="apm.dotnet.wait apm.jvm.histogram apm.jvm.profile apm.jvm.records apm.mono.heap apm.mono.pool apm.mono.runtime apm.zorka.sessions "
full() { [ "$(families)" = "$none" ]; }
verdict "each family has values" wait_for full
details "without values: $(families)"
sums() { for m in apm.mono.counter.gc.minor_gc_collections apm.profiler.call.count apm.zorka.span.count apm.lttng.class.count apm.dotnet.gc.pause.count; do
    pminfo -h "$HOST" -f $m | awk -v m=$m '/ value / { s += $NF; n++; seen[$NF] } END { print m, n, s, length(seen) }'
done; }
sums >"$D/before"
grown() { sums >"$D/after" && join "$D/before" "$D/after" | awk '$6 <= $3 { bad++ } END { exit bad }'; }
verdict "counters of each source go on" wait_for grown
details "$(cat "$D/before" "$D/after")"
own() { sums >"$D/after" && awk '$4 < ($2 > 2 ? 2 : $2) { bad++ } END { exit bad }' "$D/after"; }
verdict "instances have figures of their own" wait_for own
verdict "no agent has faults" same "$(pminfo -h "$HOST" -f apm.agent.errors | awk '/ value / { s += $NF } END { print s }')" 0
verdict "several instances of each" eval "awk '\$2 < 3 { bad++ } END { exit bad }' '$D/after'"
context() { curl -sf "$WEB/pmapi/context?hostspec=$1" | grep -o '"context":[0-9]*' | cut -d: -f2; }
verdict "pmproxy has event metrics by the socket" eval 'curl -sf "$WEB/pmapi/fetch?context=$(context local:)&names=apm.zorka.event.span.count" | grep -q "\"value\":"'
verdict "and series by redis" eval 'curl -sf "$WEB/series/ping" | grep -q "\"success\":true"'

echo "== one name for one thing"
one_name() { /usr/bin/python3 "$QA/peers/one_name.py" "$HOST" >"$D/names" 2>&1; }
verdict "leaves of all runtimes and services are what the sources have" wait_for one_name
details "$(cat "$D/names")"
pminfo -h "$HOST" -l apm.service.instances | grep -o '"\(runtime\|service\|source\)":"[a-z0-9/.A-Z]*"' | sort | uniq -c | sort -rn >"$D/labels"
verdict "each has a runtime" same "$(grep -o '"runtime":"[a-z]*"' "$D/labels" | cut -d: -f2 | sort | tr -d '"\n')" dotnetjavajvmmonozorka
details "$(cat "$D/labels")"
