# Sourced by tests of rules: by the edge of each, lines of made_archive.py where it fires ("+") and where it does not ("-").
# What is done with them says the test: rule NAME, the lines on standard input.
# shellcheck shell=bash

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
    "jvm jvm.event.gc jvm.event.exception jvm.event.contention" "lttng lttng.event.record" "dotnet dotnet.event.gc dotnet.event.exception dotnet.event.contention dotnet.event.pool dotnet.event.application"; do
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
