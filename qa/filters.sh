# What several numbered tests need beside common.sh: verdicts, scripted peers, clients of event
# metrics.
# shellcheck shell=bash

# Details for whoever has to find out why a test failed; qa/run shows the end of it.
FULL=${APM_FULL:-/dev/null}
details() { printf '%s\n' "$*" >>"$FULL"; }
# The logs go there too when the script ends.
_keep_logs() {
    local log
    for log in "$D"/log/apm.log "$D"/log/pmcd/pmcd.log "$D"/*.out; do
        if [ -s "$log" ]; then { echo "--- $(basename "$log")"; tail -n 25 "$log" | cut -c 1-300; } >>"$FULL"; fi
    done
}
_end() {
    local status=$?
    _keep_logs
    (exit $status)
    _cleanup
}
trap _end EXIT

# verdict TEXT COMMAND...: one line of golden output, the command's own words into the details.
FAILED=''
verdict() {
    local text=$1
    shift
    if "$@" >>"$FULL" 2>&1; then
        echo "$text: yes"
    else
        FAILED=yes
        echo "$text: NO"
        details "NO: $text [$*]"
    fi
}
same() { [ "$1" = "$2" ] || { echo "        got      $1"; echo "        expected $2"; return 1; }; }
less() { [ "$1" -lt "$2" ] || { echo "        $1 is not less than $2"; return 1; }; }
holds() { [ $(($1)) -ne 0 ] || { echo "        does not hold: $1"; return 1; }; }

# is METRIC VALUE or is METRIC INSTANCE VALUE: for wait_for.
is() { [ "$(value "${@:1:$#-1}")" = "${*: -1}" ]; }
# reaches METRIC NUMBER: for metrics without instances.
reaches() {
    local v
    v=$(value "$1")
    [ -n "$v" ] && [ "$v" -ge "$2" ]
}

# reload SED-SCRIPT: changes the configuration; the running PMDA has taken it over.
reload() {
    local before
    before=$(value apm.self.config.reloads)
    sed -i "$1" "$D/apm.toml"
    kill -HUP "$(pmda_pid)"
    wait_for reaches apm.self.config.reloads $((before + 1))
}

# peer NAME [ARGS...]: the Python program on standard input in the background, with qa/peers in its
# path; output in $D/NAME.out
peer() {
    local name=$1
    shift
    cat >"$D/$name.py"
    background env PYTHONPATH="$QA/peers" PYTHONDONTWRITEBYTECODE=1 MONO_PORT="${MONO_PORT:-}" ZORKA_PORT="${ZORKA_PORT:-}" D="$D" \
        python3 -u "$D/$name.py" "$@" >"$D/$name.out" 2>&1
    PEER_PID=$LAST
}
# peer_now NAME ...: the same in the foreground, output to standard output too.
peer_now() {
    local name=$1
    shift
    cat >"$D/$name.py"
    PYTHONPATH="$QA/peers" PYTHONDONTWRITEBYTECODE=1 MONO_PORT="${MONO_PORT:-}" ZORKA_PORT="${ZORKA_PORT:-}" D="$D" python3 -u "$D/$name.py" "$@"
}
# says NAME TEXT: waits until the output of a peer or program has the text.
says() { wait_for grep -q -- "$2" "$D/$1.out" || { echo "$1 does not say $2"; cat "$D/$1.out"; return 1; } >&2; }
# ends PID...: sends TERM to processes of this script and waits for them.
ends() { kill "$@" 2>/dev/null; wait "$@" 2>/dev/null; }

# pmevents NAME INTERVAL METRIC...: a client of event metrics in the background, its output at once
# in $D/NAME.out
pmevents() {
    local name=$1 interval=$2
    shift 2
    background stdbuf -oL pmevent -h "$HOST" -t "$interval" "$@" >"$D/$name.out" 2>&1
}
# saw NAME PARAMETER [INSTANCE]: what that client has seen so far.
saw() { python3 "$QA/peers/pmevents.py" "$D/$1.out" "${@:2}"; }
# by_line: records of LTTng that pmevent shows on standard input, each in a line: without what
# depends on the place where the program ran; names begin behind the event's.
by_line() {
    awk '/event record \[/ { if (line) print line; line = $NF == "---" ? $(NF - 1) : ""; next }
         /apm.lttng.param/ && $1 !~ /\.(cpu|stream|vpid|vtid)$/ {
             name = $1; sub(/.*\.param\./, "", name); if (name !~ /^ctx/) sub(/^[^.]*\.[^.]*\./, "", name)
             $1 = ""; line = line " " name "=" substr($0, 2) }
         END { print line }'
}
