# For tests that install: a machine of its own that ends with the script. /etc, /usr, /var and /run
# are copies on write in memory; processes, network and host name are private. Sourced first: it
# runs the script again within.
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
    mkdir -p "$APM_PRIVATE_ROOT/$_d.new" "$APM_PRIVATE_ROOT/$_d.work"
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
esac
END
chmod 755 /usr/bin/systemctl.new && mv /usr/bin/systemctl.new /usr/bin/systemctl
