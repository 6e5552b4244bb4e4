# Sourced after common.sh: a private pmcd and PMDA with all sources at work, without a network, a real
# runtime or root, beside other tests:
#
#   scene_start         three Mono processes of two programs, two more with log profilers (unless SCENE_STREAMS=no),
#                       five Java pods of two services, four Zorka agents of three services, one live session of
#                       LTTng, three .NET processes of two programs, three JVMs of one
#   scene_proxy [redis] a private pmproxy, its port in $PROXY_PORT and its URL in $WEB; with redis also a private
#                       redis or valkey (then queries of /series work)
#   scene_proxy_runs    begins it again, after a test has ended it
#   scene_stop          ends it all before the script ends
#
# One of the Mono processes ends after 40 s and comes back with another pid, unless SCENE_STEADY is set.
#
# Figures differ between instances, and go on until the end. Instances: pminfo -h "$HOST" -f apm.agent.source.
# Further lines of apm.toml are on the standard input of scene_start if SCENE_CONFIG is set. With SCENE_TCP pmcd
# answers at localhost:$PMCD_PORT too, as always; event metrics need $HOST or the host `local:` of pmproxy.
# shellcheck shell=bash

SCENE_PIDS=()
# scene_peer NAME PROGRAM ARGS...
scene_peer() {
    local name=$1 program=$2
    shift 2
    background env MONO_PORT="$MONO_PORT" ZORKA_PORT="$ZORKA_PORT" PROFILER_PORT="$PROFILER_PORT" DOTNET_PREFIX="${SCENE_PREFIX:-}" \
        PYTHONDONTWRITEBYTECODE=1 python3 -u "$QA/peers/scene/$program.py" "$@" >"$D/scene-$name.out" 2>&1
    SCENE_PIDS+=("$LAST")
}

scene_start() {
    RELAY_PORT=$(free_port)
    mkdir -p "$D/sockets"
    # They connect: who looks for processes finds those of other tests too.
    # shellcheck disable=SC2034 # write_config reads it
    DOTNET_KEYS="discover = false
processes = [\"*;counters\"]
listen = \"$D/sockets/dotnet.sock\"
counters = [\"Microsoft.AspNetCore.Hosting\"]
meters = [\"Shop\"]
profile_every = \"10s\"
profile_time = \"1s\""
    # "python3" is what they are called until they are read.
    # shellcheck disable=SC2034 # the same
    JVM_KEYS='processes = ["Load", "python3"]'
    {
        # As docs/page.md and docs/grafana.md say.
        printf '[lttng]\nrelays = ["127.0.0.1:%s"]\nview = ["*"]\n[access]\npmproxy = "read"\n' "$RELAY_PORT"
        if [ -n "${SCENE_CONFIG:-}" ]; then cat; fi
    } >"$D/scene.toml"
    write_config <"$D/scene.toml"
    scene_peer lttng lttng_trace "$RELAY_PORT" shophost/shop
    wait_for grep -q listening "$D/scene-lttng.out" || die "no relay daemon: $(cat "$D/scene-lttng.out")"
    pmcd_start
    # shellcheck disable=SC2086 # a word or none
    scene_peer mono mono_programs ${SCENE_STEADY:+steady}
    scene_peer java java_pods
    scene_peer zorka zorka_apps
    scene_peer dotnet dotnet_processes "$D/sockets/dotnet.sock"
    scene_peer jvm jvm_processes "$QA/corpus/jvm/captures/"{jdk17-g1,jdk25-zgc,jdk8-parallel}-loaded.hsperf.gz
    [ "${SCENE_STREAMS:-}" = no ] || scene_peer streams mono_streams
    wait_for scene_plays || { tail -n 5 "$D"/scene-*.out "$D/log/apm.log" >&2; die "the scene does not play"; }
}

# Each source has brought values of all its peers.
scene_plays() {
    pminfo -h "$HOST" -f apm.mono.samples apm.profiler.call.count apm.zorka.span.count apm.lttng.session.events \
        apm.dotnet.gc.pause.count apm.jvm.gc.pause.count apm.mono.session.events apm.agent.up >"$D/scene.values" 2>/dev/null
    local streams=2
    [ "${SCENE_STREAMS:-}" != no ] || streams=0
    awk -v streams=$streams '/^apm/ { m = $1 } / value / && $NF > 0 { n[m]++ } END { exit !(n["apm.mono.samples"] >= 3 && n["apm.profiler.call.count"] >= 5 &&
        n["apm.zorka.span.count"] >= 4 && n["apm.lttng.session.events"] >= 1 &&
        n["apm.mono.session.events"] >= streams && n["apm.dotnet.gc.pause.count"] >= 3 &&
        n["apm.jvm.gc.pause.count"] >= 3) }' "$D/scene.values"
}

scene_proxy() {
    local redis=()
    mkdir -p "$D/log/pmproxy"
    PROXY_PORT=$(free_port)
    # shellcheck disable=SC2034 # for tests
    WEB=http://localhost:$PROXY_PORT
    if [ "${1:-}" = redis ]; then
        local server
        server=$(redis_server) || exit 1
        REDIS_PORT=$(free_port)
        mkdir -p "$D/redis"
        background "$server" --port "$REDIS_PORT" --bind 127.0.0.1 --save '' --appendonly no --dir "$D/redis" >"$D/log/redis.log" 2>&1
        SCENE_PIDS+=("$LAST")
        redis=(-t -r "$REDIS_PORT")
        sed -e "s/^servers *=.*/servers = localhost:$REDIS_PORT/; s/^resp.servers.*/resp.servers = localhost:$REDIS_PORT/" \
            "$PCP_SYSCONF_DIR/pmproxy/pmproxy.conf" >"$D/pmproxy.conf"
    else
        redis=(-t)
        sed -e 's/^pmseries.enabled *=.*/pmseries.enabled = false/; s/^pmsearch.enabled *=.*/pmsearch.enabled = false/' \
            "$PCP_SYSCONF_DIR/pmproxy/pmproxy.conf" >"$D/pmproxy.conf"
    fi
    SCENE_PROXY=(kept "$PCP_BINADM_DIR/pmproxy" -f -A -U "$(id -un)" -c "$D/pmproxy.conf" -p "$PROXY_PORT" -i 127.0.0.1
        -s "$D/run/pmproxy.socket" -l "$D/log/pmproxy/pmproxy.log" "${redis[@]}")
    scene_proxy_runs
    wait_for eval 'curl -sf "$WEB/pmapi/context?hostspec=local:" >/dev/null' || { cat "$D/log/pmproxy/pmproxy.log" >&2; die "pmproxy does not answer"; }
    [ "${1:-}" != redis ] || wait_for eval 'curl -sf "$WEB/series/ping" >/dev/null' || die "pmproxy has no redis"
}

# Begins the pmproxy of scene_proxy; a test that has ended it, again.
scene_proxy_runs() {
    background "${SCENE_PROXY[@]}" >>"$D/log/pmproxy.out" 2>&1
    SCENE_PIDS+=("$LAST")
}

scene_stop() {
    local pid
    pmcd_stop
    for pid in "${SCENE_PIDS[@]}"; do kill "$pid" 2>/dev/null; done
    for pid in "${SCENE_PIDS[@]}"; do wait "$pid" 2>/dev/null; done
    SCENE_PIDS=()
}
