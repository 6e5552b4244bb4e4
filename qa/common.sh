# Sourced by the demo and the numbered tests: a private pmcd with this PMDA, in its own directory
# and on its own ports. Everything that is started is ended by pid when the script ends.
# shellcheck shell=bash

QA=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(dirname "$QA")
. /etc/pcp.env
set -u
export LC_ALL=C PCP_DERIVED_CONFIG=
# Clients wait for a busy machine.
export PMCD_CONNECT_TIMEOUT=120 PMCD_REQUEST_TIMEOUT=120
# And so does pmcd, which would end a PMDA that gets no processor for 5 s.
PMCD_WAITS=(-q 60 -t 60)
TARGET=${CARGO_TARGET_DIR:-$TOP/target}
PROFILE=${APM_PROFILE:-instructions}
PMDA=${APM_PMDA:-$TARGET/$PROFILE/pmdaapm}
AGENT=${APM_AGENT:-$TARGET/$PROFILE/libmono_profiler_apm.so}
MONO_LOG=${APM_MONO_LOG:-$TARGET/$PROFILE/mono-log}
EXPORT=${APM_EXPORT:-$TARGET/$PROFILE/pmdaapm-export}
CAPI=${APM_CAPI:-$TARGET/$PROFILE/libpmdaevent.so}

D=$(mktemp -d --suffix=.apm)
# The home is the test's own: PCP's clients, Mono and browsers read files there. What was fetched stays where it is.
export APM_CACHE=${APM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pmdaapm}
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} HOME=$D/home
mkdir "$HOME"
PIDS=()

_cleanup() {
    local status=$?
    trap - EXIT
    if [ ${#PIDS[@]} -gt 0 ]; then
        kill "${PIDS[@]}" 2>/dev/null
        local n=0
        while kill -0 "${PIDS[@]}" 2>/dev/null && [ $n -lt 40 ]; do sleep 0.05; n=$((n + 1)); done
        kill -9 "${PIDS[@]}" 2>/dev/null
        wait "${PIDS[@]}" 2>/dev/null
    fi
    if [ "$status${FAILED:-}" != 0 ] && [ -n "${APM_KEEP:-}" ]; then echo "kept: $D" >&2; else rm -rf "$D"; fi
    exit $status
}
trap _cleanup EXIT
trap 'exit 1' HUP INT TERM

die() { echo "$*" >&2; exit 1; }

# A free TCP port, below those that the system gives away, in turn: tests that run beside each other
# never get the same.
free_port() {
    local turn port used
    turn=/tmp/apm-qa-ports.$(id -u)
    (
        umask 077
        flock 8
        read -r port <&8
        used=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
        [ "${port:-0}" -ge 20000 ] || port=20000
        while port=$((port < 31999 ? port + 1 : 20000)); do
            # The place of a local or remote address, whichever: the next one will do.
            case $used in *":$(printf %04X "$port") "*) ;; *) break ;; esac
        done
        echo "$port" >"$turn"
        echo "$port"
    ) 8<>"$turn"
}

# wait_for COMMAND...: until it succeeds. It fails after two minutes, which no state needs on any machine: how
# long something may take is said by in_time. When one has not come, the next are not waited for that long.
PATIENCE=${APM_PATIENCE:-120}
wait_for() { in_time "$PATIENCE" "$@" || { PATIENCE=10; return 1; }; }

# in_time SECONDS COMMAND...: until it succeeds; fails after the time. Only where the time is what is proven, in tests
# of groups alone and real.
in_time() {
    local _until=$((SECONDS + $1)) _pause=0.03
    shift
    until "$@"; do
        [ $SECONDS -lt $_until ] || return 1
        sleep $_pause
        # Those that look often take the processor from those that work.
        case $_pause in 0.03) _pause=0.06 ;; 0.06) _pause=0.12 ;; *) _pause=0.2 ;; esac
    done
}

# background COMMAND...: starts it, ends it with the script; its pid is in $LAST.
background() {
    "$@" </dev/null &
    LAST=$!
    PIDS+=("$LAST")
}

# kept PROGRAM ARGS...: for `background`: as systemd does, begins again what has crashed. pmproxy before 7.1.3 does, now and then, when
# several clients ask at once (docs/upstream/README.md).
kept() {
    local child status
    trap 'kill "$child"; wait "$child"; exit' TERM
    while :; do
        setpriv --pdeathsig KILL "$@" &
        child=$!
        wait "$child"
        status=$?
        # ABRT, BUS, SEGV
        case $status in 134 | 135 | 139) echo "$1 has crashed ($status), and begins again" >>"${FULL:-/dev/stderr}" ;; *) exit $status ;; esac
        # One that cannot run takes no processor from those who wait for it in vain.
        sleep 0.2
    done
}

# The configuration of this test's PMDA: further lines on standard input, further keys of [zorka]
# in ZORKA_KEYS, those of [dotnet] in DOTNET_KEYS, of [jvm] in JVM_KEYS and of [mono] in MONO_KEYS. Without the latter
# three no test reads the .NET, Java and Mono processes of another one. Processes of .NET are read as soon as they are found, unless
# DOTNET_AGE says otherwise: those of tests are mostly fakes, which nothing can hang.
NO_DOTNET='discover = false
listen = ""'
write_config() {
    MONO_PORT=${MONO_PORT:-$(free_port)}
    PROFILER_PORT=${PROFILER_PORT:-$(free_port)}
    ZORKA_PORT=${ZORKA_PORT:-$(free_port)}
    printf '[jvm]\n%s\n[dotnet]\nmin_age = "%s"\n%s\n[zorka]\nlisten = "127.0.0.1:%s"\n%s\n[profiler]\nlisten = "127.0.0.1:%s"\n[mono]\nlisten = "127.0.0.1:%s"\n%s\n' \
        "${JVM_KEYS:-discover = false}" "${DOTNET_AGE:-0}" "${DOTNET_KEYS:-$NO_DOTNET}" "$ZORKA_PORT" "${ZORKA_KEYS:-}" "$PROFILER_PORT" \
        "$MONO_PORT" "${MONO_KEYS:-discover = false}" > "$D/apm.toml"
    cat >> "$D/apm.toml"
}

# Extra arguments of pmdaapm may be in PMDA_ARGS, another user of it in PMDA_USER, a command to run it under (valgrind) in
# PMDA_UNDER, those of pmcd in PMCD_ARGS, one to run pmcd under in PMCD_UNDER.
pmcd_files() {
    [ -x "$PMDA" ] || die "$PMDA is missing: qa/instructions --build"
    mkdir -p "$D"/{run,log/pmcd,tmp,var/config/pmda}
    [ -z "${PMDA_USER:-}" ] || { chmod 755 "$D" && chown -R "$PMDA_USER" "$D"/{log,var}; }
    [ -f "$D/apm.toml" ] || write_config </dev/null
    PMCD_PORT=${PMCD_PORT:-$(free_port)}
    HOST="unix:$D/run/pmcd.socket"
    cat > "$D/env" <<EOF
export PCP_RUN_DIR=$D/run PCP_LOG_DIR=$D/log PCP_TMP_DIR=$D/tmp PCP_TMPFILE_DIR=$D/tmp
export PCP_PMCDCONF_PATH=$D/pmcd.conf PMCD_PORT=$PMCD_PORT PMCD_SOCKET=$D/run/pmcd.socket
export PMCD_ROOT_AGENT=0 PMCD_LOCAL=1 PCP_DERIVED_CONFIG=
EOF
    . "$D/env"
    # PCP_VAR_DIR only for the PMDA: its ids are kept in a place of their own.
    local sample=""
    if [ -n "${WITH_SAMPLE:-}" ]; then
        sample="sample 29 pipe binary ${SAMPLE_UNDER:-} $PCP_PMDAS_DIR/sample/pmdasample -d 29 -l $D/log/sample.log"
    fi
    cat > "$D/pmcd.conf" <<EOF
pmcd 2 dso pmcd_init $PCP_PMDAS_DIR/pmcd/pmda_pmcd.so
apm 400 pipe binary /usr/bin/env PCP_VAR_DIR=$D/var ${PMDA_UNDER:-} $PMDA -d 400 -U ${PMDA_USER:-$(id -un)} -l $D/log/apm.log -c $D/apm.toml ${PMDA_ARGS:-}
$sample
[access]
allow "local:*" : all;
allow "localhost" : all;
EOF
    printf 'root {\n    apm\t400:*:*\n}\n' > "$D/root_apm"
    if [ -n "${APM_PMNS:-}" ]; then printf '#define APM 400\nroot { apm }\n#include "%s"\n' "$TOP/pmns" > "$D/root_apm"; fi
    local sources=("$PCP_VAR_DIR/pmns/root_pmcd" "$D/root_apm")
    if [ -n "${WITH_SAMPLE:-}" ]; then
        printf '#define SAMPLE 29\nroot { sample }\n#include "%s"\n' "$PCP_PMDAS_DIR/sample/pmns" > "$D/root_sample"
        sources+=("$D/root_sample")
    fi
    "$PCP_BINADM_DIR/pmnsmerge" -f "${sources[@]}" "$D/root"
}

pmcd_answers() { pminfo -h "$HOST" -f "${1:-pmcd.numagents}" 2>/dev/null | grep -q value; }

pmcd_start() {
    pmcd_files
    # shellcheck disable=SC2086 # several arguments
    background ${PMCD_UNDER:-} "$PCP_BINADM_DIR/pmcd" "${PMCD_WAITS[@]}" ${PMCD_ARGS:-} -f -A -U "$(id -un)" -c "$D/pmcd.conf" -n "$D/root" \
        -l "$D/log/pmcd/pmcd.log" -s "$D/run/pmcd.socket" >"$D/log/pmcd.out" 2>&1
    PMCD_PID=$LAST
    wait_for pmcd_answers || { cat "$D/log/pmcd/pmcd.log" "$D/log/pmcd.out"; die "pmcd does not answer"; }
    wait_for pmcd_answers apm.self.version || { cat "$D/log/pmcd/pmcd.log" "$D/log/apm.log"; die "the PMDA does not answer"; }
    wait_for grep -q 'listening on' "$D/log/apm.log" || die "the PMDA does not listen"
    PMDA_WAS=$(pmda_pid)
}

# pmcd that is told to stop kills its agents 150 ms after it has closed their pipes. So that the PMDA has the time
# that it takes to end, pmcd ends at once.
pmcd_stop() {
    kill -9 "$PMCD_PID" && wait "$PMCD_PID" 2>/dev/null
    rm -f "$D/run/pmcd.socket"
    wait_for pmda_gone
}

pmda_pid() { pgrep -P "$PMCD_PID" -f 'pmdaapm'; }
pmda_gone() { ! pgrep -f "pmdaapm.* -l $D/log/apm.log" >/dev/null; }

# The PMDA has ended, or is ending. A fetch shows it to pmcd, which starts it again, but once a minute only: else it does
# on SIGHUP. A SIGHUP while it does makes it start two. Until it has ended, the old one may answer.
pmda_ended() { [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$PMDA_WAS/cmdline")" ]; } 2>/dev/null
pmda_restart() {
    wait_for pmda_ended || return
    pmcd_answers apm.self.version || pmcd_answers apm.self.version || kill -HUP "$PMCD_PID"
    wait_for pmcd_answers apm.self.version && PMDA_WAS=$(pmda_pid)
}

# value METRIC [INSTANCE]: the value that pminfo -f prints, nothing if there is none.
value() {
    if [ $# = 2 ]; then
        pminfo -h "$HOST" -f "$1" 2>/dev/null | grep -F "\"$2\"]" | sed 's/.* value //'
    else
        pminfo -h "$HOST" -f "$1" 2>/dev/null | sed -n 's/^ *value //p'
    fi
}

# at_least METRIC INSTANCE NUMBER
at_least() {
    local v
    v=$(value "$1" "$2")
    [ -n "$v" ] && [ "${v%%.*}" -ge "$3" ]
}

# compiled NAME SOURCES COMMAND...: where the program is that the command, with the path of its output behind, makes of
# the sources (words). All tests share it.
compiled() {
    local name=$1 sources=$2 kept
    shift 2
    # shellcheck disable=SC2086 # words
    kept=$TARGET/qa-programs/$({ echo "$*"; cat $sources; } | cksum | cut -d ' ' -f 1)
    mkdir -p "$kept/new" || die "$kept cannot be made"
    (
        flock 9
        # The name of a program of Mono is in it: it is compiled under the name that it will have.
        [ -s "$kept/$name" ] || { "$@" "$kept/new/$name" >&2 && mv "$kept/new/$name" "$kept/$name"; }
    ) 9>>"$kept/lock" || die "$sources: not compiled (qa/setup has the compilers)"
    echo "$kept/$name"
}

# mono_program SOURCE.cs [NAME.exe]: a program in $D.
mono_program() {
    local name program
    name=$(basename "$1" .cs).exe
    program=$(compiled "$name" "$1" _mcs "$1") || exit 1
    cp "$program" "$D/${2:-$name}"
}
_mcs() { mcs -nologo -optimize+ "-out:$2" "$1"; }

# Our module where Mono looks for it, and a compiled workload: mono_start NAME.exe ARGS...; output
# in $D/NAME.out
mono_files() {
    mkdir -p "$D/lib"
    cp "$AGENT" "$D/lib/libmono-profiler-apm.so"
    mono_program "$TOP/agents/mono/tests/GcChurn.cs"
    mono_program "$TOP/agents/mono/tests/Ends.cs"
}

mono_start() {
    local program=$1
    shift
    [ -d "$D/lib" ] || mono_files
    background env LD_LIBRARY_PATH="$D/lib" mono \
        "--profile=apm:address=127.0.0.1:$MONO_PORT,interval=${INTERVAL:-200},retry=300${COUNTERS:+,counters=$COUNTERS}" \
        "$D/$program" "$@" >"$D/${program%.exe}.out" 2>&1
    MONO_PID=$LAST
    MONO_INSTANCE="$program:$MONO_PID"
}

# Where Redis or its successor is.
redis_server() { command -v valkey-server || command -v redis-server || die "neither valkey-server nor redis-server (qa/setup)"; }

# A private redis and pmproxy; the REST API is at $WEB.
pmproxy_start() {
    local redis web server
    server=$(redis_server) || exit 1
    redis=$(free_port)
    web=$(free_port)
    mkdir -p "$D"/redis "$D"/log/pmproxy
    background "$server" --port "$redis" --bind 127.0.0.1 --save '' --appendonly no --dir "$D/redis" >"$D/log/redis.log" 2>&1
    sed -e "s/^servers *=.*/servers = localhost:$redis/; s/^resp.servers.*/resp.servers = localhost:$redis/" \
        /etc/pcp/pmproxy/pmproxy.conf > "$D/pmproxy.conf"
    background kept "$PCP_BINADM_DIR/pmproxy" -f -A -t -U "$(id -un)" -c "$D/pmproxy.conf" -p "$web" -i 127.0.0.1 \
        -s "$D/run/pmproxy.socket" -l "$D/log/pmproxy/pmproxy.log" -r "$redis" >"$D/log/pmproxy.out" 2>&1
    WEB=http://localhost:$web
    wait_for curl -sf "$WEB/series/ping" >/dev/null || { cat "$D/log/pmproxy/pmproxy.log"; die "pmproxy does not answer"; }
}
