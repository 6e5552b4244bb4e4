# For tests that install: a machine of its own that ends with the script. /etc, /usr, /var and /run
# are copies on write in memory; processes, network and host name are private. Sourced first: it
# runs the script again within. PCP is there as Debian's packages bring it, pmcd has never run and nothing
# of apm is there, whatever was done on this machine.
# shellcheck shell=bash

if [ -z "${APM_PRIVATE_ROOT:-}" ]; then
    if ! unshare -m -p -n -u -i -f true 2>/dev/null; then
        echo "skipped: no rights to make name spaces (run as root)" >&2
        exit 77
    fi
    APM_PRIVATE_ROOT=$(mktemp -d --suffix=.apmroot) || exit 1
    export APM_PRIVATE_ROOT
    unshare -m -p -n -u -i -f --mount-proc --kill-child bash "./$(basename "$0")" "$@"
    status=$?
    rmdir "$APM_PRIVATE_ROOT"
    exit $status
fi

mount -t tmpfs tmpfs "$APM_PRIVATE_ROOT" || exit 1
for _d in etc usr var run; do
    mkdir -p "$APM_PRIVATE_ROOT"/$_d.{new,work,old}
    mount --bind "/$_d" "$APM_PRIVATE_ROOT/$_d.old" || exit 1
    mount -t overlay overlay -o "lowerdir=/$_d,upperdir=$APM_PRIVATE_ROOT/$_d.new,workdir=$APM_PRIVATE_ROOT/$_d.work" "/$_d" || {
        echo "skipped: no overlay of /$_d" >&2
        exit 77
    }
done
hostname apmroot
echo "127.0.0.1 localhost apmroot" >/etc/hosts
ip link set lo up
# pmdaproc.sh takes systemctl for a sign of systemd.
cat >/usr/bin/systemctl.new <<'END'
#!/bin/sh
case $1 in
start|stop|restart) exec "/etc/init.d/${2%.service}" "$1" ;;
*) echo "$*" >>"$APM_PRIVATE_ROOT/systemctl.said" ;;
esac
END
chmod 755 /usr/bin/systemctl.new && mv /usr/bin/systemctl.new /usr/bin/systemctl

# shellcheck source=qa/pcp_clean.sh
. "$(dirname "${BASH_SOURCE[0]}")/pcp_clean.sh"
pcp_settings "$APM_PRIVATE_ROOT/home"
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
pcp_clean || exit 1

# changes: files that this machine has and the one around it has not, or not so; folders that only it has; what
# is gone.
changes() {
    local top
    for top in etc usr var run; do
        (cd "$APM_PRIVATE_ROOT/$top.new" && find . -mindepth 1 \( -type d -printf 'd %P\n' -o -type c -printf 'gone %P\n' -o -printf 'f %P\n' \)) |
            while read -r kind path; do
                [ "$kind" = d ] && [ -d "$APM_PRIVATE_ROOT/$top.old/$path" ] || echo "${kind#[df]}/$top/$path" | sed 's/^gone/gone /'
            done
    done | LC_ALL=C sort
}
