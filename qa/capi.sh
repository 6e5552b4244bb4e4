# A private pmcd with one of PCP's own PMDAs, or one of these tests, with or without libpmdaevent.so
# in front of libpcp_pmda. Comes after common.sh and filters.sh.
# shellcheck shell=bash

[ -e "$CAPI" ] || die "$CAPI is missing: qa/instructions --build"

# alone NAME DOMAIN PMNS METRIC COMMAND...: pmcd with only that PMDA, whose name space is in the
# file PMNS (NAME in capitals is its domain there); waits until METRIC has a value. PRELOAD=library
# is put in front of the PMDA.
alone() {
    local name=$1 domain=$2 pmns=$3 metric=$4
    shift 4
    rm -rf "$D"/{run,log}
    mkdir -p "$D"/{run,log/pmcd,tmp}
    PMCD_PORT=$(free_port)
    HOST="unix:$D/run/pmcd.socket"
    export PCP_RUN_DIR=$D/run PCP_LOG_DIR=$D/log PCP_TMP_DIR=$D/tmp PCP_TMPFILE_DIR=$D/tmp
    export PCP_PMCDCONF_PATH=$D/pmcd.conf PMCD_PORT PMCD_SOCKET=$D/run/pmcd.socket PMCD_ROOT_AGENT=0 PMCD_LOCAL=1
    {
        echo "pmcd 2 dso pmcd_init $PCP_PMDAS_DIR/pmcd/pmda_pmcd.so"
        echo "$name $domain pipe binary /usr/bin/env PCP_TMP_DIR=$D/tmp ${PRELOAD:+LD_PRELOAD=$PRELOAD} $*"
        printf '[access]\nallow "local:*" : all;\n'
    } >"$D/pmcd.conf"
    printf '#define %s %s\nroot { %s }\n#include "%s"\n' "${name^^}" "$domain" "$name" "$pmns" >"$D/root_pmda"
    rm -f "$D/root"
    "$PCP_BINADM_DIR/pmnsmerge" -f "$PCP_VAR_DIR/pmns/root_pmcd" "$D/root_pmda" "$D/root"
    background "$PCP_BINADM_DIR/pmcd" "${PMCD_WAITS[@]}" -f -A -U "$(id -un)" -c "$D/pmcd.conf" -n "$D/root" -l "$D/log/pmcd/pmcd.log" \
        -s "$D/run/pmcd.socket" >"$D/log/pmcd.out" 2>&1
    PMCD_PID=$LAST
    wait_for pmcd_answers "$metric" || { cat "$D/log/pmcd/pmcd.log" "$D/log/$name.log"; die "the PMDA does not answer"; }
    PMDA_PID=$(pgrep -P "$PMCD_PID" -f "pmda$name|$1")
}

alone_stop() {
    ends "$PMCD_PID"
    wait_for eval '! kill -0 "$PMDA_PID" 2>/dev/null'
}

loaded() { grep -q libpmdaevent "/proc/$PMDA_PID/maps" && echo "with libpmdaevent" || echo "without libpmdaevent"; }
