# Part of 090: rules of pmieconf. Each is listed, can be changed, enabled and disabled, and is evaluated by pmie on an
# archive where it must fire and on one where it must not, by little, and live.
# shellcheck shell=bash disable=SC2154

rules=$D/rules
mkdir -p "$rules"
"$TOP/clients/rules/make_rules.py" "$D/made" || die "no rules"
cp -r "$D/made/pmieconf" "$rules/apm"
cp -r "$PCP_SYSCONF_DIR/pmieconf/global" "$rules/"
conf() { pmieconf -c -r "$rules" -f "$D/local" "$@"; }
made() { "${PMPYTHON:-/usr/bin/python3}" peers/made_archive.py "$1"; }
# evaluated: the rules as they are now, which print their names.
evaluated() {
    conf -F
    sed -E 's/syslog [0-9]+ min ".*" "(.*)"/print "\1"/' "$D/local" |
        awk '/^apm\./ { name = $1 } { sub(/print "/, "print \"" name " ") } { print }' >"$D/evaluated"
}
# fired ARCHIVE: names of the rules that fire, and of what.
fired() {
    evaluated
    pmie -a "$1" -c "$D/evaluated" -z >"$D/pmie.out" 2>&1
    details "$(cat "$D/pmie.out")"
    grep -oE 'apm\.[a-z_]+ .*@made' "$D/pmie.out" | sort -u
}
# rule NAME: lines "+ ..." and "- ..." on standard input: figures of the archive where it fires, and of the one where none does.
rule() {
    local line sign
    seen="$seen $1"
    while read -r sign line; do
        if [ "$sign" = + ]; then echo "$line" >>"$D/fires"; else echo "$line" >>"$D/silent"; fi
    done
}

echo "== rules: the list"
conf modify global delta "10 sec"
conf list all 2>&1 | grep -oE 'rule: apm\.[a-z_]+ .*' | sed 's/^rule: //'
seen=
echo "== rules: each"
# A rule is silent for ever in an archive that lacks one of its metrics.
logged() { sed -n '/predicate =/,/enabled/p' "$rules"/apm/* | grep -oE 'apm\.[a-z_.0-9]+' | sort -u |
    while read -r metric; do
        for group in "$TOP"/etc/pmlogconf/*; do
            while read -r node; do case $metric. in "$node".*) continue 3 ;; esac; done < <(sed -n 's/^\t\(apm.*\)/\1/p' "$group")
        done
        echo "$metric"
    done; }
verdict "the groups of pmlogconf have the metrics of all rules" same "$(logged)" ""
rule agent_lost <<'END'
+ apm.agent.lost profiler::shop/orders/a 3 1
+ apm.agent.lost mono::x.exe:7 3 0
- apm.agent.lost profiler::shop/orders/a 3 0
END
rule agent_silent <<'END'
+ apm.agent.up profiler::a 1 0
+ apm.agent.idle profiler::a 301000000000 0
- apm.agent.up profiler::a 1 0
- apm.agent.idle profiler::a 299000000000 0
- apm.agent.up mono::gone 0 0
- apm.agent.idle mono::gone 900000000000 0
END
rule mono_gc_share <<'END'
+ apm.mono.counter.gc.minor_gc_time x.exe:7 0 1100000000
+ apm.mono.counter.gc.major_gc_time x.exe:7 0 950000000
+ apm.mono.counter.gc.minor_gc_time y.exe:8 0 950000000
+ apm.mono.counter.gc.major_gc_time y.exe:8 0 950000000
- apm.mono.counter.gc.minor_gc_time x.exe:7 0 1000000000
- apm.mono.counter.gc.major_gc_time x.exe:7 0 950000000
END
rule java_pauses <<'END'
+ apm.profiler.suspend.time shop/orders/a 0 1010000000
+ apm.profiler.suspend.time shop/orders/b 0 990000000
- apm.profiler.suspend.time shop/orders/b 0 990000000
END
rule java_errors <<'END'
+ apm.profiler.service.count shop/orders 0 100
+ apm.profiler.service.errors shop/orders 0 6
+ apm.profiler.service.count shop/stock 0 100
+ apm.profiler.service.errors shop/stock 0 4
- apm.profiler.service.count shop/orders 0 100
- apm.profiler.service.errors shop/orders 0 5
- apm.profiler.service.count shop/few 0 9
- apm.profiler.service.errors shop/few 0 9
END
rule java_latency <<'END'
+ apm.profiler.service.latency.p99 shop/orders 5001000000 0
- apm.profiler.service.latency.p99 shop/orders 4999000000 0
END
rule zorka_errors <<'END'
+ apm.zorka.service.count orders 0 100
+ apm.zorka.service.errors orders 0 6
- apm.zorka.service.count orders 0 100
- apm.zorka.service.errors orders 0 5
END
rule zorka_latency <<'END'
+ apm.zorka.service.latency.p99 orders 5001000000 0
- apm.zorka.service.latency.p99 orders 4999000000 0
END
rule dotnet_gc_share <<'END'
+ apm.dotnet.gc.pause.total shop:7 0 2010000000
- apm.dotnet.gc.pause.total shop:7 0 1990000000
END
rule dotnet_starvation <<'END'
+ apm.dotnet.pool.starvation shop:7 0 1
- apm.dotnet.pool.starvation shop:7 0 0
END
rule dotnet_exceptions <<'END'
+ apm.dotnet.exceptions.count shop:7 0 1010
- apm.dotnet.exceptions.count shop:7 0 990
END
rule dotnet_locks <<'END'
+ apm.dotnet.lock.contention.time shop:7 0 10100000000
- apm.dotnet.lock.contention.time shop:7 0 9900000000
END
rule jvm_heap <<'END'
+ apm.jvm.gc.heap.total shop:7 86000000 0
+ apm.jvm.gc.heap.max shop:7 100000000 0
+ apm.jvm.gc.pause.count shop:7 0 1
+ apm.jvm.gc.heap.total idle:8 95000000 0
+ apm.jvm.gc.heap.max idle:8 100000000 0
+ apm.jvm.gc.pause.count idle:8 9 0
- apm.jvm.gc.heap.total shop:7 84000000 0
- apm.jvm.gc.heap.max shop:7 100000000 0
- apm.jvm.gc.pause.count shop:7 0 1
END
rule jvm_gc_share <<'END'
+ apm.jvm.gc.pause.total shop:7 0 1010000000
+ apm.jvm.gc.pause.total idle:8 5 0
- apm.jvm.gc.pause.total shop:7 0 990000000
END
rule jvm_metaspace <<'END'
+ apm.jvm.gc.last_cause shop:7 "Metadata GC Threshold" 0
+ apm.jvm.gc.last_cause idle:8 "Metadata GC Threshold" 0
- apm.jvm.gc.last_cause shop:7 "Allocation Failure" 0
END
rule jvm_container_limit <<'END'
+ apm.jvm.memory.limit shop:7 99000000 0
+ apm.jvm.memory.limit idle:8 101000000 0
- apm.jvm.memory.limit shop:7 101000000 0
END
rule jvm_container_memory <<'END'
+ apm.jvm.memory.working_set shop:7 80000000 0
+ apm.jvm.memory.working_set idle:8 91000000 0
- apm.jvm.memory.working_set shop:7 90000000 0
END
rule jvm_safepoints <<'END'
+ apm.jvm.safepoint.time shop:7 0 1500000000
+ apm.jvm.safepoint.sync_time shop:7 0 520000000
+ apm.jvm.safepoint.time idle:8 5 0
+ apm.jvm.safepoint.sync_time idle:8 5 0
- apm.jvm.safepoint.time shop:7 0 1500000000
- apm.jvm.safepoint.sync_time shop:7 0 480000000
END
rule mono_pauses <<'END'
+ apm.mono.gc.pause.total shop.exe:7::minor 0 2010000000
- apm.mono.gc.pause.total shop.exe:7::minor 0 1990000000
END
rule mono_exceptions <<'END'
+ apm.mono.exceptions.count shop.exe:7 0 1010
- apm.mono.exceptions.count shop.exe:7 0 990
END
rule mono_locks <<'END'
+ apm.mono.lock.contention.time shop.exe:7 0 10100000000
- apm.mono.lock.contention.time shop.exe:7 0 9900000000
END
rule lttng_discarded <<'END'
+ apm.lttng.session.discarded web1/web 0 1
- apm.lttng.session.discarded web1/web 9 0
END
rule lttng_session <<'END'
+ apm.lttng.session.up web1/web 0 0
- apm.lttng.session.up web1/web 1 0
END
for kind in "mono mono.event.sample mono.event.gc mono.event.exception mono.event.contention" "java profiler.event.call" "zorka zorka.event.span" \
    "lttng lttng.event.record" "dotnet dotnet.event.gc dotnet.event.exception dotnet.event.contention dotnet.event.pool dotnet.event.application"; do
    # shellcheck disable=SC2086 # words
    set -- $kind
    source=$1
    shift
    rule "${source}_records_lost" < <(for metric; do printf -- '+ apm.%s.lost one 5 0\n- apm.%s.lost one 5 0\n' "$metric" "$metric"; done; echo "+ apm.$1.lost two 0 1")
done
rule refused <<'END'
+ apm.self.names.rejected - 0 1
+ apm.self.instances.rejected - 7 0
+ apm.self.connection.refused - 7 0
+ apm.self.memory.refused - 7 0
- apm.self.names.rejected - 7 0
- apm.self.instances.rejected - 7 0
- apm.self.connection.refused - 7 0
- apm.self.memory.refused - 7 0
END
rule panics <<'END'
+ apm.self.panics - 0 1
- apm.self.panics - 1 0
END
made "$D/yes" <"$D/fires" && made "$D/no" <"$D/silent" || echo "no archives"
fired "$D/yes"
verdict "all are silent below" same "$(fired "$D/no")" ""
verdict "that was each rule" same "$(tr ' ' '\n' <<<"${seen# }" | sort | tr '\n' ' ')" "$(for file in "$rules"/apm/*; do basename "$file"; done | sort | tr '\n' ' ')"
echo "== rules: changed, disabled, enabled"
made "$D/slow" <<<'apm.profiler.service.latency.p99 shop/orders 300000000 0'
verdict "300 ms are no reason" same "$(fired "$D/slow")" ""
conf modify apm.java_latency threshold 250
echo "250 ms: $(fired "$D/slow")"
conf disable apm.java_latency
verdict "disabled" same "$(fired "$D/slow")" ""
conf enable apm.java_latency
echo "enabled: $(fired "$D/slow")"
verdict "a threshold must be a number" eval '! conf modify apm.java_latency threshold often >>"$FULL" 2>&1'

echo "== rules: live"
conf modify apm.java_latency threshold 1
conf modify apm.zorka_latency threshold 1
conf modify apm.dotnet_starvation threshold 0
conf modify global delta "1 sec"
evaluated
background pmie -b -U "$(id -un)" -h "$HOST" -c "$D/evaluated" >"$D/pmie.out" 2>&1
pmie=$LAST
for name in java_latency zorka_latency dotnet_starvation; do
    verdict "$name fires" wait_for grep -qE "apm\.$name .*(shop/orders|orders|webshop)" "$D/pmie.out"
done
ends "$pmie"
verdict "pmie understands each of them" eval '! grep -E "^pmie:|^Error|rror:|illegal" "$D/pmie.out"'
verdict "no panic is seen" eval '! grep -E "apm\.(panics|refused|agent_lost) " "$D/pmie.out"'
