#!/bin/bash
# Records what the real lttng answers: record.sh DIR APP writes DIR/NAME.txt (first line the command, second the exit status,
# then what came on standard error, each line behind "! ", then standard output). APP is a program with tracepoints demo:*.
# Root is needed: the daemons run in a mount namespace of their own, so those of the machine are neither seen nor touched.
set -u
out=$(realpath "$1") app=$(realpath "$2")
if [ -z "${RECORD_INSIDE:-}" ]; then
    exec env RECORD_INSIDE=1 unshare -m --propagation private bash "$0" "$out" "$app"
fi
mount -t tmpfs none /run/lttng && mount -t tmpfs none /dev/shm || exit 1
home=$(mktemp -d)
chmod 755 "$home"
ctrl=17342 data=17343 live=17344 agent=17345
export HOME=$home LTTNG_HOME=$home LC_ALL=C
relayd() { lttng-relayd -C tcp://127.0.0.1:$ctrl -D tcp://127.0.0.1:$data -L tcp://127.0.0.1:$live -o "$home/relay" >/dev/null 2>&1 & relayd=$!; sleep 1; }
sessiond() { lttng-sessiond --no-kernel --agent-tcp-port $agent >/dev/null 2>&1 & sessiond=$!; sleep 1.5; }
as=()
# rec NAME ARGUMENT...
rec() {
    local name=$1
    shift
    "${as[@]}" timeout 30 lttng --no-sessiond --mi xml "$@" >"$home/o" 2>"$home/e" </dev/null
    local code=$?
    { echo "\$ $*"; echo "exit $code"; sed 's/^/! /' "$home/e"; cat "$home/o"; } >"$out/$name.txt"
}
url=--set-url=net://127.0.0.1:$ctrl:$data
u=(--userspace --session=s1)
rec no-daemon-list list
rec no-daemon-create create s1 --live=200000 $url
rec version version
relayd
sessiond
rec list-none list
rec list-unknown list nosuch
rec create create s1 --live=200000 $url/apm-mark
rec create-exists create s1 --live=200000 $url/apm-mark
rec create-bad-name create a/b --live=200000 $url
rec create-bad-host create s9 --live=200000 --set-url=net://nosuchhost.invalid
rec list-created list
rec channel enable-channel "${u[@]}" --subbuf-size=16384 --num-subbuf=8 --buffers-uid ch1
rec channel-exists enable-channel "${u[@]}" --subbuf-size=16384 --num-subbuf=8 --buffers-uid ch1
rec channel-bad-size enable-channel "${u[@]}" --subbuf-size=1 --num-subbuf=3 --buffers-uid ch2
rec channel-other-buffers enable-channel "${u[@]}" --buffers-pid ch3
rec channel-limits enable-channel "${u[@]}" --blocking-timeout=inf --tracefile-size=1048576 --tracefile-count=4 ch4
rec event enable-event "${u[@]}" --channel=ch1 'demo:tick,demo:req*'
rec event-exists enable-event "${u[@]}" --channel=ch1 'demo:tick,demo:req*'
rec event-one-exists enable-event "${u[@]}" --channel=ch1 'demo:tick,demo:str'
rec event-bad-filter enable-event "${u[@]}" --channel=ch1 demo:empty '--filter=a =='
rec event-bad-level enable-event "${u[@]}" --channel=ch1 demo:empty --loglevel=NOPE
rec event-filter enable-event "${u[@]}" --channel=ch1 demo:ints,demo:seq --loglevel=TRACE_DEBUG '--filter=$ctx.vpid > 0 && 1 < 2'
rec event-jul enable-event --jul --session=s1 'org.*' --loglevel=INFO
rec event-kernel enable-event --kernel --session=s1 --channel=k1 sched_switch
rec context add-context "${u[@]}" --channel=ch1 --type=vpid --type=vtid --type=procname
rec context-exists add-context "${u[@]}" --channel=ch1 --type=vpid
rec context-unknown add-context "${u[@]}" --channel=ch1 --type=nope
rec context-perf add-context "${u[@]}" --channel=ch1 --type=perf:thread:instructions
rec context-app add-context --jul --session=s1 '--type=$app.prov:ctx'
rec start start s1
rec start-again start s1
rec context-late add-context "${u[@]}" --channel=ch1 --type=pthread_id
rec channel-late enable-channel "${u[@]}" ch9
rec event-late enable-event "${u[@]}" --channel=ch1 demo:flt
rec list-active list
rec list-session list s1
rec list-userspace-none list --userspace
DEMO_WAIT=1500000 "$app" 10 0 all 2>/dev/null &
sleep 0.7
rec list-userspace list --userspace
wait $!
rec stop stop s1
rec stop-again stop s1
rec destroy destroy s1
rec destroy-again destroy s1
rec unreachable-create create s2 --live=200000 --set-url=net://127.0.0.1:1:2
rec unreachable-channel enable-channel --userspace --session=s2 ch1
rec unreachable-event enable-event --userspace --session=s2 --channel=ch1 'demo:*'
rec unreachable-start start s2
rec unreachable-destroy destroy s2
rec lost-create create s3 --live=200000 $url/apm-lost
rec lost-channel enable-channel --userspace --session=s3 ch1
rec lost-event enable-event --userspace --session=s3 --channel=ch1 'demo:*'
rec lost-start start s3
"$app" 100 500 all 2>/dev/null
{ kill -9 $relayd; wait $relayd; } 2>/dev/null
sleep 1
rec lost-list list
rec lost-destroy destroy s3
rec lost-list-after list
relayd
as=(setpriv --reuid=games --regid=games --clear-groups env HOME=/nonexistent LTTNG_HOME=/nonexistent)
rec outsider-list list
as=(setpriv --reuid=games --regid=games --groups=tracing env HOME=/nonexistent LTTNG_HOME=/nonexistent)
rec member-no-home-create create s4 --live=200000 $url/apm-home
rec member-no-home-list list
rec member-no-home-destroy destroy s4
as=()
rec others-create create s5 --live=200000 $url/apm-root
as=(setpriv --reuid=games --regid=games --groups=tracing)
rec others-list list
rec others-create-same create s5 --live=200000 $url/apm-mine
rec others-start start s5
as=()
lttng --no-sessiond enable-event --userspace --session=s5 'demo:*' --exclude=demo:tick >/dev/null
rec died-list-session list s5
rec died-list list
{ kill $sessiond $relayd; wait; } 2>/dev/null
rm -rf "$home"
