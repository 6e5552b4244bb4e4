# For tests that install packages: a Debian system of its own. Mounts, processes, network and host
# name are private and end with the script; what is written goes to memory. Sourced first: it runs
# the script again within. Nothing of this host is mounted in the system.
# shellcheck shell=bash

if [ -z "${APM_CHROOT_OF:-}" ]; then
    if ! unshare -m -p -n -u -i -f true 2>/dev/null; then
        echo "skipped: no rights to make name spaces (run as root)" >&2
        exit 77
    fi
    APM_CHROOT_OF=$(./chroots "$SUITE" --quick) || exit 77
    export APM_CHROOT_OF
    unshare -m -p -n -u -i -f --mount-proc --kill-child bash "./$(basename "$0")" "$@"
    exit $?
fi
ip link set lo up
hostname apmchroot

# chroot_start: the system is at $R, a directory of this test that is on a memory file system.
chroot_start() {
    R=$D/memory/root
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
}

# inside COMMAND...: in the system, with an environment of its own.
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive \
        chroot "$R" "$@" </dev/null
}
