# Sourced: PCP as Debian's packages bring it, whatever was done on this machine: pmcd has never run and nothing of apm
# is there. Only where /etc, /usr, /var and /run are copies on write in a mount name space of the caller's own.
# shellcheck shell=bash

# pcp_settings FOLDER: forgets what this user has set; FOLDER, which is made, is the home.
pcp_settings() {
    local name
    for name in ${!PCP_*} ${!PMCD_*} ${!PMLOGGER_*} ${!PMPROXY_*} ${!PMDA_*} ${!XDG_*}; do unset "$name"; done
    # Clients and pmcd give up after 5 or 10 s, which a busy machine may take.
    export HOME=$1 PMCD_CONNECT_TIMEOUT=60 PMCD_REQUEST_TIMEOUT=60
    mkdir -p "$HOME"
}

pcp_clean() {
    local places='etc/pcp|var/lib/pcp|var/log/pcp|usr/lib/pcp|usr/libexec/pcp|usr/share/pcp|usr/include/pcp' place
    # Never on the machine itself.
    for place in /etc /usr /var /run; do
        [ "$(awk -v place=$place '$5 == place { sub(".* - ", ""); type = $1 } END { print type }' /proc/self/mountinfo)" = overlay ] ||
            { echo "pcp_clean: $place is not a copy" >&2; return 1; }
    done
    # What runs, and the locks of who installs.
    rm -rf /run/pcp /run/lttng /run/lock/* /var/tmp/pmda.auto.update
    # Files that no package has brought: what ran here, what an Install has made. Then what is apm's, a package of it too.
    # shellcheck disable=SC2046 # words
    find $(tr '|' '\n' <<<"$places" | sed 's,^,/,' | xargs ls -d 2>/dev/null) ! -type d -print | LC_ALL=C sort |
        LC_ALL=C comm -23 - <(find /var/lib/dpkg/info -name '*.list' ! -name '*pmda-apm*' ! -name 'libpmdaevent*' -exec grep -hE "^/($places)/" {} + |
            LC_ALL=C sort -u) | tr '\n' '\0' | xargs -0r rm -f
    rm -rf {/var/lib,/usr/lib,/usr/libexec}/pcp/pmdas/apm /etc/pcp/apm /usr/share/pcp/apm /var/lib/pcp/config/{pmlogconf,pmieconf}/apm \
        /usr/lib/libmono-profiler-apm.so /usr/lib/{,*/}libpmdaevent.so /usr/bin/mono-log /etc/bash_completion.d/pcp-apm /usr/share/man/man1/{pmdaapm,pcp-apm,mono-log}.1* /var/cache/man/cat1/pmdaapm*
    # What an administrator may have changed. pmcd waits longer for a PMDA than 5 s.
    printf '%s\n' "pmcd 2 dso pmcd_init /var/lib/pcp/pmdas/pmcd/pmda_pmcd.so" "root 1 pipe binary /var/lib/pcp/pmdas/root/pmdaroot" \
        '[access]' 'disallow ".*" : store;' 'disallow ":*" : store;' 'allow "local:*" : all;' >/etc/pcp/pmcd/pmcd.conf
    printf '%s\n' -A "-t 60" "-q 60" >/etc/pcp/pmcd/pmcd.options
    printf '#!/bin/sh\n' >/etc/pcp/pmcd/rc.local
    printf '%s\n' PMCD_ROOT_AGENT=1 PMCD_RESTART_AGENTS=1 >/etc/default/pmcd
    printf '%s\n' '[pmproxy]' 'pcp.enabled = true' 'http.enabled = true' 'redis.enabled = true' '[redis]' 'enabled = true' \
        'servers = localhost:6379' '[discover]' 'enabled = true' 'exclude.metrics = proc.*' '[pmsearch]' 'enabled = true' \
        '[pmseries]' 'enabled = true' >/etc/pcp/pmproxy/pmproxy.conf
    # The packages leave this mark, and no name space.
    touch /var/lib/pcp/pmns/.NeedRebuild
}
