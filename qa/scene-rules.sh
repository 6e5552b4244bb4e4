# Part of 090: rules of pmieconf. Each is listed, can be changed, enabled and disabled, and is evaluated by pmie on an
# archive where it must fire and on one where it must not, by little, and live.
# shellcheck shell=bash disable=SC2154

rules=$D/rules
mkdir -p "$rules"
"$TOP/clients/rules/make_rules.py" "$D/made" || die "no rules"
cp -r "$D/made/pmieconf" "$rules/apm"
cp -r "$PCP_SYSCONF_DIR/pmieconf/global" "$rules/"
conf() { pmieconf -c -r "$rules" -f "$D/local" "$@"; }
made() { "${PMPYTHON:-/usr/bin/python3}" peers/made_archive.py "$1"; }
# evaluated: the rules as they are now, which print their names.
evaluated() {
    conf -F
    sed -E 's/syslog [0-9]+ min ".*" "(.*)"/print "\1"/' "$D/local" |
        awk '/^apm\./ { name = $1 } { sub(/print "/, "print \"" name " ") } { print }' >"$D/evaluated"
}
# fired ARCHIVE: names of the rules that fire, and of what.
fired() {
    evaluated
    pmie -a "$1" -c "$D/evaluated" -z >"$D/pmie.out" 2>&1
    details "$(cat "$D/pmie.out")"
    grep -oE 'apm\.[a-z_]+ .*@made' "$D/pmie.out" | sort -u
}
# rule NAME: lines "+ ..." and "- ..." on standard input: figures of the archive where it fires, and of the one where none does.
rule() {
    local line sign
    seen="$seen $1"
    while read -r sign line; do
        if [ "$sign" = + ]; then echo "$line" >>"$D/fires"; else echo "$line" >>"$D/silent"; fi
    done
}

echo "== rules: the list"
conf modify global delta "10 sec"
conf list all 2>&1 | grep -oE 'rule: apm\.[a-z_]+ .*' | sed 's/^rule: //'
seen=
echo "== rules: each"
# A rule is silent for ever in an archive that lacks one of its metrics.
logged() { sed -n '/predicate =/,/enabled/p' "$rules"/apm/* | grep -oE 'apm\.[a-z_.0-9]+' | sort -u |
    while read -r metric; do
        for group in "$TOP"/etc/pmlogconf/*; do
            while read -r node; do case $metric. in "$node".*) continue 3 ;; esac; done < <(sed -n 's/^\t\(apm.*\)/\1/p' "$group")
        done
        echo "$metric"
    done; }
verdict "the groups of pmlogconf have the metrics of all rules" same "$(logged)" ""
. ./rules-table.sh
made "$D/yes" <"$D/fires" && made "$D/no" <"$D/silent" || echo "no archives"
fired "$D/yes"
verdict "all are silent below" same "$(fired "$D/no")" ""
verdict "that was each rule" same "$(tr ' ' '\n' <<<"${seen# }" | sort | tr '\n' ' ')" "$(for file in "$rules"/apm/*; do basename "$file"; done | sort | tr '\n' ' ')"
echo "== rules: changed, disabled, enabled"
made "$D/slow" <<<'apm.profiler.service.latency.p99 shop/orders 300000000 0'
verdict "300 ms are no reason" same "$(fired "$D/slow")" ""
conf modify apm.java_latency threshold 250
echo "250 ms: $(fired "$D/slow")"
conf disable apm.java_latency
verdict "disabled" same "$(fired "$D/slow")" ""
conf enable apm.java_latency
echo "enabled: $(fired "$D/slow")"
verdict "a threshold must be a number" eval '! conf modify apm.java_latency threshold often >>"$FULL" 2>&1'

echo "== rules: live"
conf modify apm.java_latency threshold 1
conf modify apm.zorka_latency threshold 1
conf modify apm.dotnet_starvation threshold 0
conf modify global delta "1 sec"
evaluated
background pmie -b -U "$(id -un)" -h "$HOST" -c "$D/evaluated" >"$D/pmie.out" 2>&1
pmie=$LAST
for name in java_latency zorka_latency dotnet_starvation; do
    verdict "$name fires" wait_for grep -qE "apm\.$name .*(shop/orders|orders|webshop)" "$D/pmie.out"
done
ends "$pmie"
verdict "pmie understands each of them" eval '! grep -E "^pmie:|^Error|rror:|illegal" "$D/pmie.out"'
verdict "no panic is seen" eval '! grep -E "apm\.(panics|refused|agent_lost) " "$D/pmie.out"'
