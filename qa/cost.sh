# Sourced by qa/bench and qa/bench_profiler: what a process costs. PMDA_PID is the one that is
# measured.
# shellcheck shell=bash

# Ticks of CPU that a process has used, or all processes of the machine.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
all_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat; }
memory() { awk -v key="$1:" '$1 == key { printf "%.1f", $2 / 1024 }' "/proc/$PMDA_PID/status"; }
calc() { awk "BEGIN { printf \"%.${2:-1}f\", $1 }"; }

# A program of benches/, built.
bench_program() {
    cargo bench --quiet --no-run --bench "$1" --message-format=json |
        python3 -c 'import json, sys
for line in sys.stdin:
    target = json.loads(line)
    if target.get("executable") and target["target"]["name"] == sys.argv[1]: print(target["executable"])' "$1"
}

# CPU of the PMDA, of the load (LOAD_PID), pmcd and all others while a command runs, in percent of a
# core.
cpu_window() {
    local hz pmda load pmcd all start
    hz=$(getconf CLK_TCK)
    pmda=$(ticks "$PMDA_PID") load=$(ticks "$LOAD_PID") pmcd=$(ticks "$PMCD_PID") all=$(all_ticks) start=$EPOCHREALTIME
    "$@" || die "failed: $*"
    local wall="($EPOCHREALTIME - $start)"
    pmda=$(($(ticks "$PMDA_PID") - pmda)) load=$(($(ticks "$LOAD_PID") - load))
    pmcd=$(($(ticks "$PMCD_PID") - pmcd)) all=$(($(all_ticks) - all))
    CPU=$(calc "100 * $pmda / $hz / $wall") CPU_LOAD=$(calc "100 * $load / $hz / $wall")
    CPU_PMCD=$(calc "100 * $pmcd / $hz / $wall") CPU_OTHER=$(calc "100 * ($all - $pmda - $load - $pmcd) / $hz / $wall")
}

row() { printf '%-76s %18s  %s\n' "$@"; }
