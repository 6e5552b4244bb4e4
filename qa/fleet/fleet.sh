# Sourced behind qa/common.sh: hosts made of name spaces (network, processes, mounts, host name, IPC,
# clock since boot) around a bridge, and a central one with pmlogger, pmproxy and Redis or Valkey.
# Each host has its own pmcd, PMDA and agents at the ports that real ones have. Nothing leaves the
# bridge, which belongs to the central host. Needs root.
# shellcheck shell=bash

FLEET=$QA/fleet
SUBNET=10.99.0
CENTRAL=$SUBNET.1
REDIS=$(command -v valkey-server || command -v redis-server)
# The groups of pmlogconf that come with this source tree, and the interval of central loggers.
GROUPS_DIR=${GROUPS_DIR:-$TOP/etc/pmlogconf}
LOG_EVERY=${LOG_EVERY:-5sec}

FAKETIME=$(find /usr/lib -name libfaketimeMT.so.1 2>/dev/null | head -1)

fleet_possible() {
    unshare -m -p -n -u -i -T -f true 2>/dev/null || { echo "skipped: no rights to make name spaces (run as root)" >&2; exit 77; }
    [ -n "$REDIS" ] || { echo "skipped: neither redis-server nor valkey-server" >&2; exit 77; }
    [ -n "$FAKETIME" ] || { echo "skipped: no libfaketime (qa/setup installs it)" >&2; exit 77; }
}

# in_host NAME COMMAND...: within the name spaces of a host, with its environment. Its root and
# directory are those of its first process: ours, which may be in a chroot (qa/pcp).
in_host() {
    local name=$1
    shift
    # shellcheck disable=SC2016 # for the inner shell
    nsenter -t "$(cat "$D/$name/init")" -m -r -w -p -n -u -i -T env BASH_ENV= bash -c '. "$0/env"; exec "$@"' "$D/$name" "$@"
}

# background_in NAME COMMAND...: the same in the background; ends with the host.
background_in() {
    local name=$1 out=$D/$1/log/$2.out
    shift 2
    mkdir -p "$D/$name/log"
    in_host "$name" "$@" </dev/null >>"$out" 2>&1 &
    PIDS+=("$!")
}

# The hosts end first, each with all that runs in it.
_fleet_end() {
    local status=$? init
    for init in "$D"/*/init; do [ -s "$init" ] && kill -9 "$(cat "$init")" 2>/dev/null; done
    for init in "$D"/*/log; do tail -n 20 "$init"/apm.log "$init"/*.out "$init"/pmproxy/*.log >>"${FULL:-/dev/null}" 2>/dev/null; done
    (exit $status)
    if declare -F _end >/dev/null; then _end; else _cleanup; fi
}
trap _fleet_end EXIT

address() { echo "$SUBNET.$((10 + ${1#web}))"; }

# spaces NAME ADDRESS [SECONDS]: the name spaces of a host, its link to the bridge, and its clocks
# since boot, which are SECONDS ahead.
spaces() {
    local name=$1 address=$2 ahead=${3:-0} home=$D/$1
    mkdir -p "$home"/{run,tmp,dotnet,log/pmcd,log/pmlogger,log/pmproxy,log/pushed,var/config/pmda}
    # /run is empty after a boot.
    rm -rf "$home/init" "$home"/run/*
    printf '%s\n' "$(printf '%s' "$name" | md5sum | cut -c 1-32)" >"$home/machine-id"
    { echo "127.0.0.1 localhost"; echo "$CENTRAL central"; for _n in 1 2 3 4 5 6 7 8; do echo "$(address "web$_n") web$_n"; done; } >"$home/hosts"
    cat >"$home/env" <<END
export PCP_RUN_DIR=$home/run PCP_LOG_DIR=$home/log PCP_TMP_DIR=$home/tmp PCP_TMPFILE_DIR=$home/tmp
export PCP_ARCHIVE_DIR=$home/log/pmlogger PCP_REMOTE_ARCHIVE_DIR=$home/log/pushed PCP_PMCDCONF_PATH=$home/pmcd.conf PMCD_SOCKET=$home/run/pmcd.socket
export PMCD_ROOT_AGENT=0 PMCD_LOCAL=0 PMCD_PORT=44321 PCP_DERIVED_CONFIG= HOME=$home
export PMCD_CONNECT_TIMEOUT=60 PMCD_REQUEST_TIMEOUT=60
END
    # The first process takes in those whose parents ended, and all end with it.
    setpriv --pdeathsig KILL unshare -m -p -n -u -i -T --monotonic "$ahead" --boottime "$ahead" -f --mount-proc --kill-child bash -c "
        hostname $name; ip link set lo up
        ${HOST_START:-}
        mount --bind '$home/hosts' /etc/hosts; mount --bind '$home/machine-id' /etc/machine-id
        touch '$home/up'; trap 'exit 0' TERM
        while :; do sleep 1000 & wait \$!; done" </dev/null >"$home/log/init.out" 2>&1 &
    local parent=$!
    PIDS+=("$parent")
    wait_for test -e "$home/up" || die "$name: no name spaces: $(cat "$home/log/init.out")"
    rm "$home/up"
    pgrep -P "$parent" >"$home/init"
    if [ "$name" = central ]; then
        in_host central sh -c "ip link add br0 type bridge && ip addr add $CENTRAL/24 dev br0 && ip link set br0 up"
    else
        # Only the network of the central host: process ids are those of here.
        nsenter -t "$(cat "$D/central/init")" -n sh -c \
            "ip link add v-$name type veth peer name eth0 address $(printf '02:00:00:00:00:%02x' "${address##*.}") netns $(cat "$home/init") && ip link set v-$name master br0 up"
        in_host "$name" sh -c "ip addr add $address/24 dev eth0 && ip link set eth0 up"
    fi
}

# host_up NAME AGENTS [CLOCK [SECONDS]]: a host with pmcd, PMDA and that many agents, after the commands
# HOST_START. Its apm.toml may be there already. CLOCK (such as
# +90s) is what the time of day of its pmcd and PMDA is ahead; SECONDS its clocks since boot.
host_up() {
    local name=$1 agents=$2 clock=${3:-} home=$D/$1 wrong=()
    spaces "$name" "$(address "$name")" "${4:-0}"
    [ -f "$home/apm.toml" ] || cat >"$home/apm.toml" <<END
[mono]
listen = "127.0.0.1:8888"
[dotnet]
directories = ["$home/dotnet"]
listen = ""
processes = ["*;counters;age=5s"]
${HOST_KEYS:-}
END
    cat >"$home/pmcd.conf" <<END
pmcd 2 dso pmcd_init $PCP_PMDAS_DIR/pmcd/pmda_pmcd.so
apm 400 pipe binary /usr/bin/env PCP_VAR_DIR=$home/var $PMDA -d 400 -U root -l $home/log/apm.log -c $home/apm.toml
[access]
disallow ".*" : store;
disallow ":*" : store;
allow "local:*" : all;
END
    printf 'root {\n    apm\t400:*:*\n}\n' >"$home/root_apm"
    [ -f "$home/root" ] || "$PCP_BINADM_DIR/pmnsmerge" -f "$PCP_VAR_DIR/pmns/root_pmcd" "$home/root_apm" "$home/root"
    # Only the time of day: pauses and time limits go by the clock since boot.
    [ -z "$clock" ] || wrong=(env "LD_PRELOAD=$FAKETIME" "FAKETIME=$clock" FAKETIME_DONT_FAKE_MONOTONIC=1)
    background_in "$name" pmcd "${wrong[@]}" "$PCP_BINADM_DIR/pmcd" -t 60 -q 60 -f -A -U root -c "$home/pmcd.conf" -n "$home/root" \
        -l "$home/log/pmcd/pmcd.log" -s "$home/run/pmcd.socket"
    wait_for host_answers "$name" || die "$name does not answer: $(cat "$home/log/pmcd/pmcd.log" "$home/log/apm.log")"
    [ "$agents" = 0 ] || background_in "$name" agents env MONO_PORT=8888 PROFILER_PORT=1715 ZORKA_PORT=8640 "DOTNET_DIR=$home/dotnet" \
        PYTHONDONTWRITEBYTECODE=1 python3 "$FLEET/agents.py" "$name" "$agents"
}
host_answers() { central pminfo -h "$1" -f apm.self.version 2>/dev/null | grep -q value; }

# host_dies NAME: all processes of a host at once, and its network with them.
host_dies() {
    local init
    init=$(cat "$D/$1/init")
    kill -9 "$init"
    wait_for gone "$init"
}
gone() { ! kill -0 "$1" 2>/dev/null; }

central() { in_host central "$@"; }

# central_up NAME...: the central host: Redis or Valkey, and pmproxy, which finds the archives of the
# loggers of these hosts. A directory that is made while pmproxy runs may get its archive before
# pmproxy (6.0.3) looks at it, and is then never read.
central_up() {
    local home=$D/central
    spaces central "$CENTRAL"
    mkdir -p "$home/redis" "${@/#/$home/log/pmlogger/}"
    background_in central redis "$REDIS" --port 6379 --bind 127.0.0.1 --save '' --appendonly no --dir "$home/redis"
    # Its own configuration: that of this machine may be another. PCP 7 has [keys] where older ones have [redis].
    printf '%s\n' '[pmproxy]' 'pcp.enabled = true' 'http.enabled = true' 'redis.enabled = true' '[redis]' 'enabled = true' \
        'servers = localhost:6379' '[keys]' 'enabled = true' 'servers = localhost:6379' '[discover]' 'enabled = true' '[pmsearch]' 'enabled = true' '[pmseries]' 'enabled = true' \
        '[pmlogger]' 'enabled = true' >"$home/pmproxy.conf"
    background_in central pmproxy "$PCP_BINADM_DIR/pmproxy" -f -A -t -U root -c "$home/pmproxy.conf" -p 44322 -i 0.0.0.0 \
        -s "$home/run/pmproxy.socket" -l "$home/log/pmproxy/pmproxy.log" -r 6379
    wait_for proxy_answers || die "pmproxy does not answer: $(cat "$home/log/pmproxy/pmproxy.log")"
}
proxy_answers() { central curl -sf http://localhost:44322/series/ping >/dev/null; }

# logger_up NAME: the central logger of a host, with the groups of pmlogconf. An archive is
# pmlogger/NAME/ARCHIVE, named by the time and a number.
LOGGERS=0
logger_up() {
    local name=$1 home=$D/central
    LOGGERS=$((LOGGERS + 1))
    mkdir -p "$home/log/pmlogger/$name"
    if [ ! -f "$home/config.$name" ]; then
        central pmlogconf -q -c -d "$GROUPS_DIR" -h "$name" "$home/config.$name" >"$home/log/pmlogconf.$name" 2>&1 ||
            die "pmlogconf: $(cat "$home/log/pmlogconf.$name")"
    fi
    background_in central "pmlogger.$name" pmlogger -h "$name" -r -c "$home/config.$name" -t "$LOG_EVERY" \
        -l "$home/log/pmlogger/$name/pmlogger.log" "$home/log/pmlogger/$name/$(date +%Y%m%d.%H.%M.%S)-$LOGGERS"
}

# push_up NAME: a host's own logger, with the same groups, that pushes to the central pmproxy (PCP 7).
push_up() {
    local name=$1 home=$D/$1
    in_host "$name" pmlogconf -q -c -d "$GROUPS_DIR" -h local: "$home/config" >"$home/log/pmlogconf.out" 2>&1 || die "pmlogconf: $(cat "$home/log/pmlogconf.out")"
    background_in "$name" pmlogger pmlogger -h local: -r -c "$home/config" -t "$LOG_EVERY" -l "$home/log/pmlogger/pmlogger.log" http://central:44322
}

# logger_ends NAME: as pmlogger_daily does it; its archive is complete.
logger_ends() {
    local pid
    pid=$(central pgrep -x pmlogger -a | awk -v host="$1" '$0 ~ "-h " host " " { print $1 }')
    central kill "$pid"
    wait_for eval "! central kill -0 $pid 2>/dev/null"
}

# series EXPRESSION: a query of pmseries through the central pmproxy, a line for each value:
# host, instance, value, timestamp in milliseconds.
series() { central python3 "$FLEET/series.py" "$@"; }
