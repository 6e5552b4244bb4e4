# What tests of real Mono need beside common.sh and filters.sh: programs (qa/peers/mono/Shop.cs) that are read as
# modules, streams, files or areas, and values of them by name. Their names are this test's own, since the shared
# areas of all programs of the machine are in one folder.
# shellcheck shell=bash

MONO_PREFIX=q$$-
LOG_OPTIONS=nodefaults,counter,exception,monitor,maxframes=8
declare -A SHOP_IN SHOP_PID

# shop_files: the program and the module, ready for shop.
shop_files() {
    local tool
    for tool in mono mcs; do command -v "$tool" >/dev/null || die "no $tool (qa/setup)"; done
    ls /usr/lib/libmono-profiler-log.so* >/dev/null 2>&1 || die "no log profiler of Mono (qa/setup)"
    [ -f "$AGENT" ] || die "no module for Mono: $AGENT"
    mkdir -p "$D/lib" "$D/mlpd"
    cp "$AGENT" "$D/lib/libmono-profiler-apm.so"
    mcs -nologo -optimize+ "-out:$D/Shop.exe" "$QA/peers/mono/Shop.cs" || die "Shop.cs"
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
# (bash opens the connection), file. Its options of the log profiler are LOG_OPTIONS.
shop() {
    local name=$1 line=(mono) output='' way writer
    shift
    [ -f "$D/$MONO_PREFIX$name.exe" ] || ln "$D/Shop.exe" "$D/$MONO_PREFIX$name.exe"
    for way; do
        case $way in
        area) ;;
        module) line+=("--profile=apm:address=127.0.0.1:$MONO_PORT,interval=${INTERVAL:-200},retry=300") ;;
        stream) output='#7' ;;
        file) output=$D/mlpd/$name.%p.mlpd ;;
        *) die "no way $way" ;;
        esac
    done
    [ -z "$output" ] || line+=("--profile=log:$LOG_OPTIONS,output=$output")
    # The line of docs/mono.md: the program starts too if nobody listens.
    [ "$output" != "#7" ] ||
        line=(bash -c "{ exec 7<>/dev/tcp/127.0.0.1/$MONO_PORT; } 2>/dev/null || exec 7>/dev/null; exec \"\$@\"" bash "${line[@]}")
    rm -f "$D/$name.in"
    mkfifo "$D/$name.in"
    exec {writer}<>"$D/$name.in"
    SHOP_IN[$name]=$writer
    env -u MONO_ENV_OPTIONS LD_LIBRARY_PATH="$D/lib" "${line[@]}" "$D/$MONO_PREFIX$name.exe" <"$D/$name.in" >"$D/$name.out" 2>"$D/$name.err" &
    SHOP_PID[$name]=$!
    PIDS+=("$!")
    wait_for 60 grep -q '"pid"' "$D/$name.out" || die "$name does not start: $(tail -n 3 "$D/$name.out" "$D/$name.err")"
}
more_lines() { [ "$(wc -l <"$1")" -gt "$2" ]; }
# ask NAME COMMAND...: its line of JSON.
ask() {
    local name=$1 before
    shift
    before=$(wc -l <"$D/$name.out")
    echo "$*" >&"${SHOP_IN[$name]}"
    wait_for 60 more_lines "$D/$name.out" "$before" || { echo "$name does not answer $*" >&2; return 1; }
    tail -n 1 "$D/$name.out"
}
# count_of NAME FIELD: of the program's own total.
count_of() { ask "$1" total | sed -nE "s/.*\"$2\": (-?[0-9]+).*/\1/p"; }
# shop_end NAME [COMMAND...]: ends it as the command says, or with a return of Main; gives its status.
shop_end() {
    local name=$1
    shift
    echo "${*:-end}" >&"${SHOP_IN[$name]}"
    wait "${SHOP_PID[$name]}" 2>/dev/null
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
# mono_near METRIC NAME NUMBER PERMILLE: for times.
mono_near() {
    local v
    v=$(mono_value "$1" "$2")
    awk -v v="${v:-none}" -v w="$3" -v p="$4" 'BEGIN { d = v - w; if (d < 0) d = -d; exit !(v != "none" && d * 1000 <= w * p) }' ||
        { echo "apm.mono.$1 of $2 is ${v:-not there}, the program says $3"; return 1; }
}
