# Sourced by tests and the demo before common.sh: a private LTTng, so that the machine's own is not
# touched. Session and relay daemon meet in /run/lttng, whatever their options say, so the script
# runs itself again with a mount namespace of its own.
# shellcheck shell=bash

# lttng_possible: whether everything is there; $LTTNG_MISSING names what is not.
lttng_possible() {
    local program
    for program in lttng lttng-relayd lttng-sessiond cc; do
        command -v $program >/dev/null || { LTTNG_MISSING="$program is not installed (qa/setup does it)"; return 1; }
    done
    [ -d /run/lttng ] || mkdir /run/lttng 2>/dev/null || { LTTNG_MISSING="there is no /run/lttng"; return 1; }
    unshare -m mount -t tmpfs none /run/lttng 2>/dev/null || { LTTNG_MISSING="no right to a mount namespace"; return 1; }
}

# lttng_private SCRIPT ARGS...: returns within the namespace, or not at all; where that cannot be,
# the test is skipped (status 77).
lttng_private() {
    if [ -z "${APM_LTTNG_PRIVATE:-}" ]; then
        lttng_possible || { echo "skipped: $LTTNG_MISSING" >&2; exit 77; }
        APM_LTTNG_PRIVATE=1 exec unshare -m bash "$@"
    fi
    mount -t tmpfs none /run/lttng || exit 1
    unset APM_LTTNG_PRIVATE
}

# The rest needs common.sh.

relayd_start() {
    background lttng-relayd -C "tcp://127.0.0.1:$CONTROL_PORT" -D "tcp://127.0.0.1:$DATA_PORT" -L "tcp://127.0.0.1:$LIVE_PORT" \
        -o "$LTTNG_HOME/relay" >>"$D/relayd.out" 2>&1
    RELAYD_PID=$LAST
}
sessiond_start() {
    LTTNG_APP_SOCKET_TIMEOUT=120 background lttng-sessiond --no-kernel --agent-tcp-port "$AGENT_PORT" >>"$D/sessiond.out" 2>&1
    SESSIOND_PID=$LAST
    wait_for eval 'lttng --no-sessiond list >/dev/null 2>&1' || { cat "$D/sessiond.out"; die "lttng-sessiond does not answer"; }
}

# Ports and folders, and the program; then both daemons.
lttng_files() {
    CONTROL_PORT=$(free_port) DATA_PORT=$(free_port) LIVE_PORT=$(free_port) AGENT_PORT=$(free_port)
    export LTTNG_HOME=$D/lttng
    mkdir -p "$LTTNG_HOME"
    lttng_program lttng_app
}

# lttng_program NAME: the program of qa/peers in $D. Its main waits until it is registered, for LTTng's 3 s otherwise.
lttng_program() {
    local program
    export LTTNG_UST_REGISTER_TIMEOUT=120000
    program=$(compiled "$1" "$QA/peers/$1.c $QA/peers/$1_tp.h" cc -O2 -I "$QA/peers" "$QA/peers/$1.c" -llttng-ust -ldl -o) || exit 1
    ln -s "$program" "$D/$1"
}
lttng_start() {
    lttng_files
    relayd_start
    sessiond_start
}

# A command of lttng: its output, which is for people, into a file.
lttng_do() { lttng --no-sessiond "$@" >>"$D/lttng.out" 2>&1 || { tail -3 "$D/lttng.out" >&2; return 1; }; }

# live_session NAME [BUFFERS]: a live session of all events of lttng_app, started. BUFFERS: options
# of its channel.
live_session() {
    lttng_do create "$1" --live=100000 "--set-url=net://127.0.0.1:$CONTROL_PORT:$DATA_PORT" || return
    # shellcheck disable=SC2086 # several options
    lttng_do enable-channel --userspace -s "$1" ${2:---subbuf-size=256K --num-subbuf=8} main &&
        lttng_do enable-event --userspace -s "$1" -c main 'apm:*' &&
        lttng_do add-context --userspace -s "$1" -c main --type vpid --type vtid --type procname &&
        lttng_do start "$1"
}

# app COUNT ...: runs lttng_app; its counts are in $D/app.out.
app() { "$D/lttng_app" "$@" >"$D/app.out" 2>>"$D/lttng.out"; }
# sent: number of events in that output.
sent() { awk '{ n += $2 } END { print n + 0 }' "$D/app.out"; }

# session NAME CHANNEL EVENTS [OPTIONS of the channel]: a live session of some events, started.
session() {
    lttng_do create "$1" --live=100000 "--set-url=net://127.0.0.1:$CONTROL_PORT:$DATA_PORT" || return
    # shellcheck disable=SC2086 # several options
    lttng_do enable-channel --userspace -s "$1" ${4:---subbuf-size=64K --num-subbuf=8} "$2" &&
        lttng_do enable-event --userspace -s "$1" -c "$2" "$3" && lttng_do start "$1"
}
# counts: session, class and count of all, as the PMDA has them.
counts() { pminfo -h "$HOST" -f apm.lttng.class.count | sed -n "s,.*\"$(uname -n)/\(.*\)::\(.*\)\"\] value,\1 \2,p" | sort; }
# classes SESSION: its classes and counts, as the PMDA has them.
classes() { pminfo -h "$HOST" -f apm.lttng.class.count | sed -n "s,.*\"$(uname -n)/$1::\(.*\)\"\] value,\1,p" | sort | tr '\n' ' '; }
# on_disk SESSION: the same, as babeltrace2 finds them in the relay daemon's files.
on_disk() {
    local folders
    folders=$(find "$LTTNG_HOME/relay" -path "*/$1-*" -name metadata -printf '%h\n')
    # shellcheck disable=SC2086 # one word each
    [ -z "$folders" ] || babeltrace2 $folders 2>>"$FULL" | awk '{ for (i = 1; i < NF; i++) if ($i ~ /^apm:[a-z_]+:$/) { n[substr($i, 1, length($i) - 1)]++; break } } END { for (c in n) print c, n[c] }' | sort | tr '\n' ' '
}
# has SESSION COUNTS: its classes have these counts, and no others do. For wait_for.
has() { same "$(classes "$1")" "$2"; }
# reads SESSION: it is attached.
reads() { [ "$(value apm.lttng.session.up "$(uname -n)/$1")" = 1 ]; }
