#!/bin/sh
# Runs a command where the name server never answers: a mount and a network namespace of its own.
# usage: silent-names.sh COMMAND...
if [ -z "${SILENT_NAMES:-}" ]; then
    [ "$(id -u)" = 0 ] || as_root=-r
    SILENT_NAMES=1 exec unshare ${as_root:+"$as_root"} -m -n -- "$0" "$@"
fi
file=$(mktemp)
ip link set lo up
echo "nameserver 127.0.0.9" >"$file"
mount --bind "$file" /etc/resolv.conf
echo "hosts: dns" >"$file.switch"
mount --bind "$file.switch" /etc/nsswitch.conf
rm -f "$file" "$file.switch"
# A socket that is bound and never read: nobody refuses, nobody answers.
exec python3 -c '
import os, socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.9", 53))
server.set_inheritable(True)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
