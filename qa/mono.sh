# What tests of real Mono need beside common.sh and filters.sh: programs (qa/peers/mono/Shop.cs) that are read as
# modules, streams, files or areas, and values of them by name. Their names are this test's own, since the shared
# areas of all programs of the machine are in one folder.
# shellcheck shell=bash

MONO_PREFIX=q$$-
LOG_OPTIONS=nodefaults,counter,exception,monitor,maxframes=8
declare -A SHOP_IN SHOP_PID SHOP_JOB
# A command that programs are started under, and their folder as they see it.
SHOP_UNDER=()

# shop_files: the program and the module, ready for shop.
shop_files() {
    command -v mono >/dev/null || die "no mono (qa/setup)"
    ls /usr/lib/libmono-profiler-log.so* >/dev/null 2>&1 || die "no log profiler of Mono (qa/setup)"
    [ -f "$AGENT" ] || die "no module for Mono: $AGENT"
    mkdir -p "$D/lib" "$D/mlpd"
    cp "$AGENT" "$D/lib/libmono-profiler-apm.so"
    cp "$MONO_LOG" "$D/lib/mono-log"
    mono_program "$QA/peers/mono/Shop.cs"
}
# mono_config [LINE...]: only processes of this test are read; further keys of [mono].
mono_config() {
    # shellcheck disable=SC2034 # write_config reads it
    MONO_KEYS="discover = true
processes = [\"$MONO_PREFIX*\"]
files = [\"$D/mlpd/*.mlpd\"]
$(printf '%s\n' "$@")"
    write_config
}
# shop NAME WAY...: a program in the background that waits for commands. Ways: area (which each has), module, stream
# (mono-log connects), file. Its options of the log profiler are LOG_OPTIONS.
shop() {
    shop_begin "$@"
    shop_ready "$1"
}
shop_begin() {
    local name=$1 at=${SHOP_DIR:-$D} line=() connect=(mono) way writer
    shift
    [ -f "$D/$MONO_PREFIX$name.exe" ] || ln "$D/Shop.exe" "$D/$MONO_PREFIX$name.exe"
    for way; do
        case $way in
        area) ;;
        module) line+=("--profile=apm:address=127.0.0.1:$MONO_PORT,interval=${INTERVAL:-200},retry=300") ;;
        stream) connect=("$at/lib/mono-log" --address "127.0.0.1:$MONO_PORT" --options "${LOG_OPTIONS#nodefaults,}" --) ;;
        file) line+=("--profile=log:$LOG_OPTIONS,output=$D/mlpd/$name.%p.mlpd") ;;
        *) die "no way $way" ;;
        esac
    done
    rm -f "$D/$name.in"
    mkfifo "$D/$name.in"
    exec {writer}<>"$D/$name.in"
    SHOP_IN[$name]=$writer
    env -u MONO_ENV_OPTIONS "${SHOP_UNDER[@]}" env LD_LIBRARY_PATH="$at/lib" "${connect[@]}" "${line[@]}" \
        "$at/$MONO_PREFIX$name.exe" \
        <"$D/$name.in" >"$D/$name.out" 2>"$D/$name.err" &
    SHOP_JOB[$name]=$!
    SHOP_PID[$name]=$!
    PIDS+=("$!")
}
shop_ready() {
    local name=$1
    wait_for grep -qs '"pid"' "$D/$name.out" || die "$name does not start: $(tail -n 3 "$D/$name.out" "$D/$name.err")"
    [ ${#SHOP_UNDER[@]} = 0 ] || SHOP_PID[$name]=$(pgrep -f "mono.*/$MONO_PREFIX$name.exe" | while read -r pid; do
        case $(cat "/proc/$pid/comm") in mono*) echo "$pid" ;; esac
    done)
}
more_lines() { [ "$(wc -l <"$1")" -gt "$2" ]; }
# ask NAME COMMAND...: its line of JSON.
ask() {
    local name=$1 before
    shift
    before=$(wc -l <"$D/$name.out")
    echo "$*" >&"${SHOP_IN[$name]}" || return 1
    wait_for more_lines "$D/$name.out" "$before" || { echo "$name does not answer $*" >&2; return 1; }
    tail -n 1 "$D/$name.out"
}
# count_of NAME FIELD: of the program's own total.
count_of() { ask "$1" total | sed -nE "s/.*\"$2\": (-?[0-9]+).*/\1/p"; }
# shop_end NAME [COMMAND...]: ends it as the command says, or with a return of Main; gives its status.
shop_end() {
    local name=$1
    shift
    echo "${*:-end}" >&"${SHOP_IN[$name]}"
    wait "${SHOP_JOB[$name]}" 2>/dev/null
    local status=$? writer=${SHOP_IN[$name]}
    exec {writer}>&-
    return $status
}

mono_lines() { pminfo -h "$HOST" -f "apm.mono.$1" 2>/dev/null | grep -F "\"$MONO_PREFIX"; }
# mono_value METRIC NAME [ROW]: the value of the process NAME.exe:PID, or of its row of a table.
mono_value() {
    pminfo -h "$HOST" -f "apm.mono.$1" 2>/dev/null | grep -F "\"$MONO_PREFIX$2.exe:${SHOP_PID[$2]}${3:+::$3}\"]" | sed 's/.* value //'
}
mono_is() { [ "$(mono_value "${@:1:$#-1}")" = "${*: -1}" ]; }
# mono_least METRIC NAME [ROW] NUMBER
mono_least() {
    local v
    v=$(mono_value "${@:1:$#-1}")
    [ -n "$v" ] && [ "${v%%.*}" -ge "${*: -1}" ]
}
# works NAME N: some of everything, by the number.
works() {
    local n=$2 line
    for line in "collect $((4 + n)) $n" "throw $((20 + 7 * n))" "lock $((2 + n)) 30" "pool $((10 * n))" "jit $n" total; do
        # shellcheck disable=SC2086 # words
        ask "$1" $line
    done >>"$FULL"
}
# thrown NAME: thrown and thrown again. (With another locale than C the console's set-up throws one more.)
thrown() { echo $(($(count_of "$1" thrown) + $(count_of "$1" rethrown))); }
# Verdicts: what pminfo shows is what the program has counted. Streams and files come once a second.
# becomes TEXT COMMAND WANTED: what the command prints is soon what the other prints.
becomes() {
    verdict "$1" wait_for eval "now=\$($2); [ -n \"\$now\" ] && [ \"\$now\" = \"\$($3)\" ]"
}
area_agrees() {
    local p=$1
    verdict "$p: exceptions" wait_for mono_is exceptions.count "$p" "$(thrown "$p")"
    verdict "$p: one instance" same "$(mono_lines process.via | grep -c "$MONO_PREFIX$p.exe:")" 1
    echo "$p: read as $(mono_value process.via "$p")"
    becomes "$p: collections of the area" 'echo $(mono_value runtime.gc_collections0 $p) $(mono_value runtime.gc_collections1 $p)' \
        'echo $(count_of $p gen0) $(count_of $p gen1)'
    verdict "$p: exceptions of the area" wait_for mono_is runtime.exceptions_thrown "$p" "$(thrown "$p")"
    verdict "$p: items of the pool" wait_for mono_is runtime.pool_completed "$p" "$(count_of "$p" items)"
}
counters_agree() {
    verdict "$1: counter of minor collections" wait_for mono_is counter.gc.minor_gc_collections "$1" "$(count_of "$1" gen0)"
    verdict "$1: counter of major collections" wait_for mono_is counter.gc.major_gc_collections "$1" "$(count_of "$1" gen1)"
}
# row_of METRIC NAME TEXT: the value of its row with the text.
row_of() { mono_lines "$1" | grep -F "$MONO_PREFIX$2.exe:${SHOP_PID[$2]}::" | grep -F "$3" | sed 's/.* value //'; }
# waits_agree NAME LEAST MOST: the time that the method waited. works holds the lock for 30 ms when all wait; the program
# looks at its clock before and behind.
waits_agree() {
    local ns
    ns=$(row_of lock.top.time "$1" Shop:Pay)
    [ -n "$ns" ] && holds "$ns >= $2 && $ns <= $3"
}
events_agree() {
    local p=$1
    becomes "$p: collections" 'echo $(mono_value gc.count $p gen0) $(mono_value gc.count $p gen1)' 'echo $(count_of $p gen0) $(count_of $p gen1)'
    verdict "$p: pauses" wait_for mono_least gc.pause.count "$p" minor 1
    becomes "$p: the method that throws" 'row_of exceptions.by_site $p Shop:Refuse' 'count_of $p thrown'
    # Mono's own classes wait for locks too, seldom.
    verdict "$p: locks" wait_for mono_least lock.contention.count "$p" $(($(count_of "$p" contended) + $(count_of "$p" failed)))
    becomes "$p: locks in vain" 'mono_value lock.contention.failed $p' 'count_of $p failed'
    details "$(mono_lines lock.contention.count; mono_lines lock.top.count)"
    verdict "$p: time of waits" wait_for waits_agree "$p" $(($(count_of "$p" contended) * 30000000)) $(($(count_of "$p" waited_us) * 1000))
    becomes "$p: the method that waits" 'row_of lock.top.count $p Shop:Pay' 'count_of $p contended'
    verdict "$p: nothing was lost" same "$(mono_value events.bad "$p") $(mono_value events.unknown "$p") $(mono_value records.missed "$p")" "0 0 0"
}
