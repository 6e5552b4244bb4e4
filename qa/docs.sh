# Sourced behind qa/common.sh by the tests of pages: commands of pages find what Install copies, without
# being installed.
# shellcheck shell=bash

# A home with pcp-apm and pmrep's reports, and pmlogconf and pmieconf with the files of this tree.
docs_home() {
    export HOME=$D/home
    mkdir -p "$HOME/.pcp/bin" "$HOME/bin" "$D/pages"
    printf '#!/bin/sh\nexec "%s/clients/cli/pcp-apm" "$@"\n' "$TOP" >"$HOME/.pcp/bin/pcp-apm"
    printf '#!/bin/sh\nexec /usr/bin/pmlogconf -d "%s/pmlogconf" "$@"\n' "$HOME" >"$HOME/bin/pmlogconf"
    printf '#!/bin/sh\nexec /usr/bin/pmieconf -r "%s/pmieconf" "$@"\n' "$HOME" >"$HOME/bin/pmieconf"
    # With the names that they have when they are installed.
    mkdir "$HOME/pmlogconf" "$HOME/pmieconf"
    cp -r "$TOP/etc/pmlogconf" "$HOME/pmlogconf/apm"
    "$TOP/clients/rules/make_rules.py" "$HOME/rules" && cp -r "$HOME/rules/pmieconf" "$HOME/pmieconf/apm" || exit 1
    cp -r "$PCP_SYSCONF_DIR/pmieconf/global" "$HOME/pmieconf/"
    # PCP's Python programs need Debian's python3, whatever else comes first in PATH.
    ln -s /usr/bin/python3 "$HOME/bin/python3"
    chmod 755 "$HOME/.pcp/bin/pcp-apm" "$HOME"/bin/*
    cat "$TOP"/clients/reports/pmrep/*.conf >"$HOME/.pmrep.conf"
    export PATH=$HOME/bin:$PATH PMDA
    cd "$D/pages" || exit 1
}
