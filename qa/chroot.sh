# For tests that install packages: a Debian system of its own. Mounts, processes, network and host
# name are private and end with the script; what is written goes to memory. Sourced first: it runs
# the script again within. Nothing of this host is mounted in the system.
# shellcheck shell=bash

if [ -z "${APM_CHROOT_OF:-}" ]; then
    if ! unshare -m -p -n -u -i -f true 2>/dev/null; then
        echo "skipped: no rights to make name spaces (run as root)" >&2
        exit 77
    fi
    APM_CHROOT_OF=$(./fetch chroot "$SUITE" --quick) || exit 77
    export APM_CHROOT_OF
    unshare -m -p -n -u -i -f --mount-proc --kill-child bash "./$(basename "$0")" "$@"
    exit $?
fi
ip link set lo up
hostname apmchroot

# chroot_start: the system is at $R, a directory of this test that is on a memory file system.
chroot_start() {
    R=$D/memory/root
    trap _chroot_end EXIT
    mkdir "$D/memory" && mount -t tmpfs tmpfs "$D/memory" || exit 1
    mkdir "$D"/memory/{new,work,root}
    mount -t overlay overlay -o "lowerdir=$APM_CHROOT_OF,upperdir=$D/memory/new,workdir=$D/memory/work" "$R" || {
        echo "skipped: no overlay of $APM_CHROOT_OF" >&2
        exit 77
    }
    mount -t proc proc "$R/proc" && mkdir -p "$R/dev" "$R/run/lock" || exit 1
    local node
    for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
        # shellcheck disable=SC2086 # three words
        set -- $node
        [ -c "$R/dev/$1" ] || mknod -m 666 "$R/dev/$1" c "$2" "$3"
    done
    ln -sf /proc/self/fd "$R/dev/fd"
    printf '127.0.0.1 localhost\n127.0.0.1 apmchroot\n' >"$R/etc/hosts"
    printf 'apmchroot\n' >"$R/etc/hostname"
    # pmcd waits longer for a PMDA than 5 s, its clients for it.
    [ ! -d "$R/etc/pcp/pmcd" ] || printf '%s\n' -A "-t 60" "-q 60" >"$R/etc/pcp/pmcd/pmcd.options"
}

# inside COMMAND...: in the system, with an environment of its own.
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive \
        PMCD_CONNECT_TIMEOUT=60 PMCD_REQUEST_TIMEOUT=60 \
        chroot "$R" "$@" </dev/null
}

# Processes in the system, then its mounts, go before the directory does.
chroot_stop() {
    local process
    for process in /proc/[0-9]*; do
        if [ "$(readlink "$process/root" 2>/dev/null)" = "$R" ]; then kill -9 "${process#/proc/}" 2>/dev/null; fi
    done
    [ -d "$D/memory" ] || return
    umount -R "$D/memory" 2>/dev/null || umount -R -l "$D/memory"
}

_chroot_end() {
    local status=$?
    chroot_stop
    (exit $status)
    _end
}

# rc VERB: PCP's own start and stop of pmcd, where there is no systemd. What it starts in the
# background (.NeedInstall) has ended when this returns.
rc() {
    local before
    before=$(_set_up)
    inside "/etc/init.d/pmcd" "$1" >>"$FULL" 2>&1
    [ "$1" != start ] || wait_for eval '[ "$(_set_up)" -gt '"$before"' ]'
}
_set_up() { cat "$R"/var/log/pcp/NOTICES* 2>/dev/null | grep -c "PMDA setup: .* release lock"; }
# Within the system: for wait_for.
answers() { inside pminfo -f "${1:-apm.self.version}" 2>/dev/null | grep -q value; }
knows() { inside pminfo "$1" >/dev/null 2>&1; }
pid_of() { inside pgrep -x "$1"; }
# package VERB...: dpkg within; what it says is in $D/dpkg.out
package() {
    inside dpkg "$@" >"$D/dpkg.out" 2>&1
    local status=$?
    { echo "--- dpkg $*"; cat "$D/dpkg.out"; } >>"$FULL"
    return $status
}
