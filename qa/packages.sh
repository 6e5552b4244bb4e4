# Sourced behind common.sh, filters.sh and chroot.sh by tests of Debian packages.
# shellcheck shell=bash

# shellcheck disable=SC2034 # of the tests
pmda=pcp-pmda-apm mono=pcp-pmda-apm-mono conf=pcp-pmda-apm-conf capi=libpmdaevent-dev
home=/var/lib/pcp/pmdas/apm
state=/var/lib/pcp/config/pmda
debs=$(APM_PMDA=$PMDA APM_AGENT=$AGENT APM_MONO_LOG=$MONO_LOG APM_EXPORT=$EXPORT APM_CAPI=$CAPI ./debs) || exit

# packages_there: the packages are in the system's /root, those of now in $new, older ones as qa/debs makes them.
packages_there() {
    local package
    cp "$debs"/*.deb "$debs"/older/*.deb "$R/root/"
    new=()
    for package in $pmda $mono $conf; do new+=("/root/$(basename "$debs"/${package}_*.deb)"); done
}
everything() { (cd "$R" && find . \( -path ./proc -o -path ./root \) -prune -o -print | LC_ALL=C sort); }

# agents PID...: Mono programs p.exe with these process ids at the PMDA's default port.
MONO_PORT=8888
listens() { ss -Hltn "sport = :$MONO_PORT" | grep -q .; }
agents() {
    wait_for listens
    rm -f "$D/agents.out"
    peer agents "$@" <<'END'
import sys
import agent
connected = []
for pid in sys.argv[1:]:
    connected.append(agent.Agent(["GC/Minor GC collections:i"], program="p.exe", pid=int(pid)))
    connected[-1].sample(1)
print("sent")
agent.pause()
END
    says agents sent
}

# with_systemd COMMAND...: as where systemd runs; what it is asked is in $D/systemctl.
with_systemd() {
    local status
    mkdir -p "$R/run/systemd/system"
    printf '#!/bin/sh\necho "$*" >>/root/systemctl.said\n' >"$R/usr/bin/systemctl"
    chmod 755 "$R/usr/bin/systemctl"
    "$@"
    status=$?
    rm -r "$R/run/systemd" "$R/usr/bin/systemctl"
    mv "$R/root/systemctl.said" "$D/systemctl"
    return $status
}

# purged: the packages go, and what has come since $D/before was written is gone.
purged() {
    # The service has run.
    mkdir -p "$R/var/lib/pmdaapm-export" && touch "$R/var/lib/pmdaapm-export/sent"
    verdict "it goes" with_systemd package --purge $pmda $mono $conf
    sort "$D/systemctl" | uniq
    # What PCP and dpkg themselves leave.
    local pcp='^> \./var/log/(dpkg|alternatives)\.log$|^[<>] \./(var/log/pcp|run/pcp|var/lib/pcp/pmcd|var/lib/pcp/tmp)/[^a][^/]*(/[^a][^/]*)?$|^[<>] \./var/lib/dpkg/[a-z]*-old$'
    everything >"$D/after"
    diff "$D/before" "$D/after" | grep '^[<>]' | grep -vE "$pcp" | sed 's/^/left: /'
    verdict "nothing of ours is left" test -z "$(grep -i apm "$D/after" | grep -vxF -f "$D/before")"
    verdict "nor in pmcd's configuration" same "$(grep -c apm "$R/etc/pcp/pmcd/pmcd.conf")" 0
    verdict "nor a process" same "$(pid_of pmdaapm)" ""
}
