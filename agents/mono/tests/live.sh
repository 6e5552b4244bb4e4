#!/usr/bin/env bash
# The module inside a real Mono, against inspector.py.
# usage: live.sh PATH-OF-THE-.so        needs mono, mcs, python3, unshare; loopback only; about a minute
# Prints a line for each check and "N passed, N failed"; status 1 if anything failed.
set -u

so=$(realpath "${1:?usage: live.sh PATH-OF-THE-.so}") || exit 2
here=$(cd "$(dirname "$0")" && pwd)
for tool in mono mcs python3 timeout pgrep unshare; do
    command -v "$tool" >/dev/null || { echo "live.sh needs $tool"; exit 2; }
done

work=$(mktemp -d)
# Whatever still runs when a check went wrong is a job of this shell; timeout hands TERM on to Mono.
cleanup() {
    local pid
    exec 7>&-
    for pid in $(jobs -p); do kill -TERM "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
ulimit -c 0
unset MONO_ENV_OPTIONS

mkdir "$work/lib"
cp "$so" "$work/lib/libmono-profiler-apm.so"
for program in GcChurn Ends Descriptors; do
    mcs -nologo -optimize+ -out:"$work/$program.exe" "$here/$program.cs" || exit 2
done
cd "$work" || exit 2

passed=0 failed=0
# check WHAT COMMAND…: the command's status decides.
check() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok    $what"
    else
        failed=$((failed + 1))
        echo "FAIL  $what    [$*]"
        # shellcheck disable=SC2012  # names of our own making
        tail -n 8 $(ls -t ./*.log ./*.err 2>/dev/null | head -n 2) /dev/null | cut -c 1-300 | sed 's/^/        /'
    fi
}
holds() { python3 -c "assert $1, '''$1'''" 2>&1 | tail -n 1 | grep . && return 1 || return 0; }
same() { [ "$1" = "$2" ] || { echo "        $1 is not $2"; return 1; }; }
less() { [ "$1" -lt "$2" ] || { echo "        $1 is not less than $2"; return 1; }; }
# until_true COMMAND…: waits for it, 30 s at most.
until_true() {
    local i
    for ((i = 0; i < 1500; i++)); do
        "$@" && return 0
        sleep 0.02
    done
    return 1
}
says() { grep -q "^$2" "$1" 2>/dev/null; }
twice() { [ "$(grep -c "^$2" "$1")" -ge 2 ]; }
now_ms() { date +%s%3N; }

# inspector NAME SCENARIO [PORT]: in the background; events in NAME.log, result in NAME.json;
# sets $port and $inspector.
inspector() {
    rm -f "$1.log" "$1.json"
    python3 "$here/inspector.py" serve "$2" "$1.json" "${3:-0}" >"$1.log" 2>&1 7>&- &
    inspector=$!
    until_true says "$1.log" listening || echo "inspector $1 does not start"
    port=$(awk '/^listening/ {print $2}' "$1.log")
}
learnt() { python3 "$here/inspector.py" show "$1.json" "${@:2}"; }
free_port() { python3 "$here/inspector.py" free-port; }
# ended PID: waits for a child and gives its status.
ended() { wait "$1"; }

# mono_apm OPTIONS PROGRAM ARGS…: a program with the module; not longer than a minute.
mono_apm() {
    local options=$1
    shift
    env LD_LIBRARY_PATH="$work/lib" timeout -s KILL 60 mono --profile=apm"$options" "$@"
}
# begin NAME OPTIONS PROGRAM ARGS…: the same in the background, its stdin open until `finish`;
# output in NAME.out and NAME.err; sets $program (the timeout) and $mono (its child). Under the command UNDER.
begin() {
    local name=$1
    shift
    rm -f go
    mkfifo go
    local options=$1
    shift
    ${UNDER:-env} env LD_LIBRARY_PATH="$work/lib" timeout -s KILL 60 mono --profile=apm"$options" "$@" \
        <go >"$name.out" 2>"$name.err" &
    program=$!
    exec 7>go
    until_true says "$name.out" ready || echo "$name does not start"
    mono=$(pgrep -P "$program")
}
# finish: ends the stdin of the program, waits for it; its status in $status, the time in $took.
finish() {
    local begin
    begin=$(now_ms)
    exec 7>&-
    wait "$program" 2>/dev/null
    status=$?
    took=$(($(now_ms) - begin))
}

echo "# $(mono --version | head -n 1)"

echo "# values"
inspector churn samples
mono_apm ":address=127.0.0.1:$port,interval=100" GcChurn.exe 3 >churn.out 2>churn.err
check "GcChurn ends well" same "$?" 0
check "the inspector understood all of it" ended "$inspector"
read -r _ gen0 _ gen1 <churn.out
check "last Minor GC collections is the program's gen0" same "$(learnt churn final 'GC/Minor GC collections')" "$gen0"
check "last Major GC collections is the program's gen1" same "$(learnt churn final 'GC/Major GC collections')" "$gen1"
check "there was something to count" less 5 "$gen0"
check "nothing is left over" same "$(learnt churn left)" 0
check "the command line is there" same "$(learnt churn final 'Runtime/Command Line')" \
    "mono --profile=apm:address=127.0.0.1:$port,interval=100 GcChurn.exe 3"
check "all counters are announced" less 150 "$(learnt churn headers)"
check "all have a value in the first sample" same "$(learnt churn first)" "$(learnt churn headers)"
check "the interval is kept" holds "99 < $(learnt churn mean_ms) < 102"
check "nothing on stderr" same "$(cat churn.err)" ""

echo "# session"
inspector talk session
begin talk ":address=tcp://localhost:$port,interval=20,retry=50,counters=GC/Minor GC collections" Ends.exe return
check "List, Add, Remove, GoodBye and what follows" until_true says talk.log again
finish
check "the program is as before" same "$status:$(tail -n 1 talk.out)" "0:returning"
check "the inspector has no complaint" ended "$inspector"
check "the process id is the program's" same "$(learnt talk final 'System/Process Id')" "$mono"
for scenario in probe garbage; do
    inspector $scenario $scenario
    begin $scenario ":address=127.0.0.1:$port,interval=20,retry=50" Ends.exe return
    check "$scenario" until_true grep -q -e ^probed -e ^survived $scenario.log
    finish
    check "$scenario: the program is as before" same "$status:$(tail -n 1 $scenario.out)" "0:returning"
    check "$scenario: the inspector has no complaint" ended "$inspector"
done

echo "# ends"
for end in return exit throw failfast background exit-other; do
    { mono Ends.exe $end </dev/null >plain.out 2>plain.err; } 2>/dev/null
    plain=$?
    inspector $end samples
    begin $end ":address=127.0.0.1:$port,interval=20" Ends.exe $end
    until_true says $end.log 'sample 3'
    finish
    check "$end: status" same "$status" "$plain"
    if [ $end = failfast ]; then
        # Mono adds a dump of its threads with addresses.
        sed -i 2,\$d plain.out plain.err $end.out $end.err
    fi
    check "$end: stdout" cmp plain.out $end.out
    check "$end: stderr" cmp plain.err $end.err
    check "$end: the stream is whole" ended "$inspector"
done
inspector term samples
begin term ":address=127.0.0.1:$port,interval=20" Ends.exe return
until_true says term.log 'sample 3'
kill -TERM "$mono"
finish
check "SIGTERM: status" same "$status" 143
check "SIGTERM: the stream is whole" ended "$inspector"
inspector fork samples
begin fork ":address=127.0.0.1:$port,interval=20" Ends.exe fork
until_true says fork.log 'sample 3'
finish
child=$(awk '/^child/ {print $2}' fork.out)
check "fork: the connection ends with the parent" ended "$inspector"
check "fork: though the child lives" kill -0 "$child"
kill -KILL "$child"

echo "# inspectors that are not what they should be"
begin none ":address=127.0.0.1:$(free_port),retry=50" Ends.exe return
finish
check "absent: nothing happens" same "$status:$(cat none.err)" "0:"
check "absent: no delay" less "$took" 1000
begin nowhere ":address=no.such.host.invalid:1,retry=50" Ends.exe return
finish
check "a name that does not exist: nothing happens" same "$status:$(cat nowhere.err)" "0:"
check "a name that does not exist: no delay" less "$took" 1000
# The quickest of three ends, since other programs may have the processors.
quickest=100000
for _ in 1 2 3; do
    UNDER=$here/silent-names.sh begin silent ":address=collector.example.test:8888" Ends.exe return
    finish
    check "a name server that is silent: nothing happens" same "$status:$(tail -n 1 silent.out):$(cat silent.err)" "0:returning:"
    quickest=$((took < quickest ? took : quickest))
done
check "a name server that is silent: a quarter of a second is the delay" less "$quickest" 450
late=$(free_port)
begin late ":address=127.0.0.1:$late,interval=20,retry=50,verbose" Ends.exe return
check "late: the first attempt fails" until_true grep -q "cannot connect" late.err
inspector late samples "$late"
check "late: samples come" until_true says late.log 'sample 3'
kill -KILL "$inspector"
wait "$inspector" 2>/dev/null
check "killed: the module notices" until_true grep -q "connection ended" late.err
inspector back samples "$late"
check "restarted: samples come again" until_true says back.log 'sample 3'
finish
check "restarted: the program is as before" same "$status:$(tail -n 1 late.out)" "0:returning"
check "restarted: the stream is whole" ended "$inspector"
inspector deaf deaf
begin deaf ":address=127.0.0.1:$port,interval=1,retry=50,verbose" Ends.exe return
check "deaf: it is left" until_true grep -q "connection ended: .*in time" deaf.err
check "deaf: and tried again" until_true twice deaf.log connected
finish
check "deaf: the program is as before" same "$status:$(tail -n 1 deaf.out)" "0:returning"
check "deaf: no delay" less "$took" 1000
kill -KILL "$inspector"
wait "$inspector" 2>/dev/null

echo "# programs that close what is not theirs"
# The module has a pair of sockets, then its connection.
for mode in "low 3" "low 4" "sockets all" "sockets 0" "sockets 1" "sockets 2" "files all $work/all." "files 0 $work/one."; do
    what=${mode%% /*}
    inspector fds samples
    # shellcheck disable=SC2086 # a mode and its arguments
    begin fds ":address=127.0.0.1:$port,interval=10,retry=60000,verbose" Descriptors.exe $mode
    check "$what: samples came" until_true says fds.log 'sample 3'
    finish
    check "$what: nothing is written, read or closed" same "$status:$(tail -n 1 fds.out | cut -d' ' -f 3-)" \
        "0:foreign 0 stolen 0 closed 0"
    check "$what: no delay" less "$took" 1500
    case $mode in
    *all*) check "$what: three were taken" same "$(tail -n 1 fds.out | cut -d' ' -f 1,2)" "replaced 3" ;;
    low*) ;;
    *) check "$what: one was taken" same "$(tail -n 1 fds.out | cut -d' ' -f 1,2)" "replaced 1" ;;
    esac
    case $mode in
    *2) check "$what: the connection ends" grep -q "connection ended: .*has closed this module's descriptors" fds.err ;;
    low*) ;;
    *) check "$what: the module says so and ends" grep -q "has closed this module's descriptors; nothing more" fds.err ;;
    esac
    # The stream may end anywhere.
    kill "$inspector" 2>/dev/null
    wait "$inspector" 2>/dev/null
done
check "files: nothing is written, not at the end either" same "$(cat all.* one.* | wc -c)" 0

echo "# options"
inspector some samples
begin some ":address=127.0.0.1:$port,interval=20,counters=Mono gc/Minor GC time;JIT/JIT/method_to_ir;generics/*" \
    Ends.exe return
until_true says some.log 'sample 2'
finish
ended "$inspector"
learnt some hello >some.txt
check "counters=: ours come first" grep -q "^\['System/Process Id', 'Runtime/Command Line', '" some.txt
check "counters=: the two named ones" same "$(grep -o -e GC/[^\']* -e JIT/[^\']* some.txt | sort | tr '\n' ,)" \
    "GC/Minor GC time,JIT/JIT/method_to_ir,"
check "counters=: a whole category" less 15 "$(grep -o Generics/ some.txt | wc -l)"
check "counters=: nothing else" same "$(grep -c -e Metadata -e 'System/[^P]' -e 'Runtime/[^C]' some.txt)" 0
inspector none samples
begin empty ":address=127.0.0.1:$port,interval=20,counters=GC/Minor GC tme" Ends.exe return
until_true says none.log 'sample 3'
finish
ended "$inspector"
check "a misspelt counter is told" same "$(cat empty.err)" "mono-profiler-apm: no counter so far is called GC/Minor GC tme"
check "with nothing chosen ours alone are sent" same "$(learnt none headers)" 2
for options in ":nonsense" ":interval=0" ":address=:" ":counters=GC" ":counters=Foo/x" ":retry=x"; do
    mono_apm "$options" Ends.exe exit </dev/null >bad.out 2>bad.err
    check "apm$options: the program runs" same "$?:$(cat bad.out)" "3:ready"
    check "apm$options: one line" same "$(wc -l <bad.err):$(grep -c 'allowed: .*runs without' bad.err)" "1:1"
done
inspector env samples
MONO_ENV_OPTIONS="--profile=apm:address=127.0.0.1:$port,interval=20" LD_LIBRARY_PATH="$work/lib" \
    mono Ends.exe return </dev/null >env.out 2>&1
check "MONO_ENV_OPTIONS" same "$?:$(tail -n 1 env.out)" "0:returning"
check "MONO_ENV_OPTIONS: the stream is whole" ended "$inspector"
mono_apm ":address=127.0.0.1:$(free_port)" --profile=apm Ends.exe return </dev/null >twice.out 2>twice.err
check "asked for twice: the first holds" same "$?:$(tail -n 1 twice.out):$(grep -c 'loaded already' twice.err)" "0:returning:1"
check "a process that is no Mono" same "$(python3 -c "
import ctypes; ctypes.CDLL('$work/lib/libmono-profiler-apm.so').mono_profiler_init_apm(b'apm'); print('goes on')" 2>&1 |
    sed 's/has no mono_.*;/has no …;/')" \
    "mono-profiler-apm: this runtime has no …; the program runs without this module
goes on"

echo "# file"
mono_apm ":address=file://$work/%p.bin,interval=50" GcChurn.exe 1 >file.out 2>file.err
read -r _ gen0 _ <file.out
check "a file is written" python3 "$here/inspector.py" decode ./[0-9]*.bin file.json
check "file: last Minor GC collections is the program's gen0" same "$(learnt file final 'GC/Minor GC collections')" "$gen0"
check "file: it ends with a whole message" same "$(learnt file left)" 0
check "file: samples" less 15 "$(learnt file samples)"
check "file: mode" same "$(stat -c %a ./[0-9]*.bin)" "$(printf %o $((0644 & ~$(umask))))"
mono_apm ":address=file:///no/such/directory/x" Ends.exe return </dev/null >file.out 2>file.err
check "no such directory: the program runs" same "$?:$(tail -n 1 file.out)" "0:returning"
check "no such directory: one line" same "$(wc -l <file.err)" 1

echo "# collections under way all the time, 10 s at 10 ms"
inspector storm samples
mono_apm ":address=127.0.0.1:$port,interval=10" GcChurn.exe 10 0 >storm.out 2>storm.err
check "no deadlock" same "$?" 0
check "the stream is whole" ended "$inspector"
read -r _ gen0 _ gen1 <storm.out
check "gen0 ($gen0)" same "$(learnt storm final 'GC/Minor GC collections')" "$gen0"
check "gen1 ($gen1)" same "$(learnt storm final 'GC/Major GC collections')" "$gen1"
check "most of 1000 samples ($(learnt storm samples))" less 700 "$(learnt storm samples)"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
