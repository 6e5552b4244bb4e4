# Sourced after common.sh and filters.sh by the tests of the page: a headless Chromium, driven by playwright-core.
# shellcheck shell=bash

# Skips the test where there is no browser, or playwright-core was not fetched.
page_browser() {
    local tool
    for tool in node chromium; do
        command -v "$tool" >/dev/null || { echo "skipped: $tool is missing (qa/setup)" >&2; exit 77; }
    done
    PAGE_MODULES=$("$QA/fetch" npm --quick) || exit 77
    PAGE=$D/apm.html
    "$TOP/clients/page/build.py" >"$PAGE" || exit 1
}

# page_run SCRIPT [ARGS...]: a script of qa/peers/page in Node; its lines are verdicts, its errors details.
page_run() {
    local script=$1
    shift
    timeout 800 env HOME="$D" PLAYWRIGHT_CORE="$PAGE_MODULES/playwright-core" AXE="$PAGE_MODULES/axe-core/axe.min.js" PAGE="$PAGE" D="$D" \
        node "$QA/peers/page/$script" "$@" 2>>"$FULL"
}

# page_proxy NAME [ARGS...]: a made pmproxy; its address is in $MADE.
page_proxy() {
    local name=$1
    shift
    background python3 -B "$QA/peers/page_proxy.py" "$D/catalogue.json" "$@" >"$D/$name.out" 2>&1
    wait_for grep -q '^[0-9]*$' "$D/$name.out" || die "no made pmproxy: $(cat "$D/$name.out")"
    # shellcheck disable=SC2034 # of the tests
    MADE=http://localhost:$(head -1 "$D/$name.out")
}
