# Sourced: the one folder of what is fetched from package registries, and how what is in it is checked (qa/fetch).
# shellcheck shell=bash

CACHE=${APM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/pmdaapm}

# Of qa/fetch only: $what is wanted, $quick if nothing may be fetched, $work is a scratch folder.
skip() { echo "skipped: no $what: $*" >&2; exit 77; }
say() { echo "$*" >&2; }

# lock NAME: others wait until this process ends.
lock() {
    if [ -n "$quick" ]; then
        # The folder may be one that cannot be written to.
        { exec 9<"$CACHE/$1.lock"; } 2>/dev/null || skip "it was not fetched yet (qa/fetch $what)"
        flock -s 9
    else
        mkdir -p "$CACHE" && exec 9>"$CACHE/$1.lock" || skip "$CACHE cannot be written to"
        flock 9
    fi
}
# scratch: a folder for the time of this process, on the same file system.
scratch() {
    work=$(mktemp -d "$CACHE/work.XXXXXX") || skip "$CACHE cannot be written to"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
}

names() { (cd "$1" && find . -type d -printf '%p d %m %U:%G\n' -o -printf '%p %y %m %U:%G %s %l\n') | LC_ALL=C sort | sha256sum; }
contents() { (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) | sha256sum; }
# ready FOLDER KEY: it was made from what the key stands for and is as it was made.
ready() {
    local key names contents
    [ -d "$1" ] && { read -r key; read -r names; read -r contents; } 2>/dev/null <"$1.done" && [ "$key" = "$2" ] || return
    [ "$names" = "$(names "$1")" ] && { [ -n "$quick" ] || [ "$contents" = "$(contents "$1")" ]; } ||
        { say "$1 is damaged"; return 1; }
}
# made FOLDER KEY: what is in $work/made takes its place.
made() {
    rm -rf "$1" "$1.done"
    mv "$work/made" "$1" && printf '%s\n' "$2" "$(names "$1")" "$(contents "$1")" >"$work/done" && mv "$work/done" "$1.done"
}

# pins PATTERN: files of fetched.sha256.
pins() { awk -v pattern="$1" '$2 ~ pattern { print $2 }' "$QA/fetched.sha256"; }
# sums PATTERN: their lines, what a folder is made from.
sums() { awk -v pattern="$1" '$2 ~ pattern' "$QA/fetched.sha256" | sha256sum | cut -d ' ' -f 1; }
sound() { awk -v file="$1" '$2 == file' "$QA/fetched.sha256" | (cd "${2:-$CACHE/files}" && sha256sum --status -c) 2>/dev/null; }
# pinned PATTERN COMMAND...: the command fetches what matches and is missing or damaged into its folder, which is
# empty; its arguments go on with the names of those.
pinned() {
    local file missing=() to=$work/fetched
    mkdir -p "$to" "$CACHE/files"
    for file in $(pins "$1"); do
        sound "$file" && continue
        [ ! -e "$CACHE/files/$file" ] || say "$CACHE/files/$file is damaged: it is fetched again"
        missing+=("$file")
    done
    shift
    [ ${#missing[@]} -gt 0 ] || return 0
    (cd "$to" && "$@" "${missing[@]}") >"$work/log" 2>&1 </dev/null ||
        { cat "$work/log" >&2; skip "${1%% *} does not fetch ${missing[*]}"; }
    for file in "${missing[@]}"; do
        sound "$file" "$to" || { say "error: $file is not what it was: $(sha256sum "$to/$file" 2>&1 | cut -c 1-64)"; exit 1; }
        mv "$to/$file" "$CACHE/files/$file" || exit 1
    done
}
