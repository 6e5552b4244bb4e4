# What Install, Remove and packaging do with the list of files, etc/files. Sourced after pcp.env,
# with $here, the directory of the list's sources, and $built, where programs are built.
# shellcheck shell=sh

# Not APM: pmdaproc.sh sets all names of domain.h, and APM is the domain there.
APM_HOME=$PCP_PMDAS_DIR/apm

# files PART...: the lines of these parts as MODE FROM TO, directories as their files, variables
# replaced.
files()
{
    while read -r _part _mode _from _to
    do
	case " $* " in *" $_part "*) ;; *) continue ;; esac
	eval "_to=\"$_to\""
	case $_from in
	*/)
	    _in=$(source_of "${_from%/}")
	    # What is made is ours where it was put.
	    case $_from in made/*) [ -d "$_in" ] || _in=$_to ;; esac
	    [ -d "$_in" ] || continue
	    (cd "$_in" && find . -name __pycache__ -prune -o -type f -print | LC_ALL=C sort) | while read -r _file
	    do
		echo "$_mode $_from${_file#./} $_to${_file#./}"
	    done
	    ;;
	*)
	    echo "$_mode $_from $_to"
	    ;;
	esac
    done <"$here/etc/files"
}

# make_clients: makes what people look with and the sources do not have, the page, the dashboards of
# Grafana and the rules, in a folder of its own, $made. It needs python3, as PCP does, and no program that is built. A
# copy that Install made has them already.
make_clients()
{
    [ ! -d "$here/made" ] || return 0
    made=$(mktemp -d) || return 1
    trap 'rm -rf "$made"' EXIT
    mkdir "$made/made" &&
	python3 "$here/clients/page/build.py" >"$made/made/apm.html" &&
	python3 "$here/clients/dashboards/make_dashboards.py" "$made/made/dashboards" &&
	python3 "$here/clients/rules/make_rules.py" --alert "$PCP_SHARE_DIR/apm/alert" "$made/made/rules" ||
	{ echo "Error: the page, the dashboards and the rules cannot be made of $here/clients by python3" >&2; return 1; }
}

# source_of FROM: where that file is.
source_of()
{
    if [ -e "$here/$1" ]
    then
	echo "$here/$1"
    else
	case $1 in
	pmdaapm|pmdaapm-export|mono-log) echo "${built-}/$1" ;;
	libmono-profiler-apm.so) echo "${built-}/libmono_profiler_apm.so" ;;
	made/*) echo "${made-}/$1" ;;
	libpmdaevent.so) echo "${built-}/libpmdaevent.so" ;;
	*) echo "$here/$1" ;;
	esac
    fi
}

# copy MODE FROM TO: programs without symbols, where strip(1) is there; packages keep them elsewhere.
copy()
{
    install -d -m 755 "$(dirname "$3")" || return 1
    case $2 in
    */pmdaapm|*/pmdaapm-export|*/mono-log|*.so) [ -z "${stage-}" ] && install -s -m "$1" "$2" "$3" 2>/dev/null && return ;;
    esac
    install -m "$1" "$2" "$3"
}

# put ROOT PART...: copies them to their places below ROOT, "" for this host.
put()
{
    _root=$1
    shift
    files "$@" | while read -r _mode _from _to
    do
	_from=$(source_of "$_from")
	[ "$_from" = "$_root$_to" ] || copy "$_mode" "$_from" "$_root$_to" || { echo "Error: $_root$_to cannot be written" >&2; exit 1; }
    done
}

# owned DIRECTORY: a package has it, or nothing here can tell.
owned()
{
    _known=false
    if command -v dpkg-query >/dev/null 2>&1
    then
	dpkg-query -S "$1" >/dev/null 2>&1 && return 0
	_known=true
    fi
    if command -v rpm >/dev/null 2>&1
    then
	rpm -qf "$1" >/dev/null 2>&1 && return 0
	_known=true
    fi
    [ $_known = false ]
}

# systemd WORD...: what systemctl does, where systemd runs.
systemd()
{
    [ ! -d /run/systemd/system ] || systemctl "$@" || true
}

# take PART...: removes them from this host, but for what is in $APM_HOME, and directories of this PMDA
# that are empty then. That of completions is ours where no package brings it.
take()
{
    files "$@" | while read -r _mode _from _to
    do
	case $_to in "$APM_HOME"/*) continue ;; esac
	rm -f "$_to"
	_dir=$(dirname "$_to")
	case $_to in */apm/*.py) rm -rf "$_dir/__pycache__" ;; esac
	while case $_dir in */apm|*/apm/*) true ;; */bash_completion.d) ! owned "$_dir" ;; *) false ;; esac
	do
	    rmdir "$_dir" 2>/dev/null || break
	    _dir=$(dirname "$_dir")
	done
    done
}
