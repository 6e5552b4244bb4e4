# Completion of `pcp apm` for bash: commands, their options, services, runtimes, slow traces and kinds of events that the host has. Of other
# commands of pcp(1) their names only: PCP's own completion has none for it.
# shellcheck shell=bash

# _pcp_apm_offer: lines of standard input that begin with the word at the cursor are what it may become. Names come from
# peers: they are quoted, and no part of the shell's expansion sees them, as compgen -W would have it.
_pcp_apm_offer()
{
    local name
    while IFS= read -r name
    do
	printf -v name %q "$name"
	# What is before the last : of the word is there already: bash replaces what is behind.
	[[ $name != "$cur"* ]] || COMPREPLY+=("${name#"$there"}")
    done
}

_pcp_apm()
{
    local cur prev there='' with='-[AaDhnOpSsTtZx]' command='' what='' source=() words=() rest=${COMP_LINE:0:COMP_POINT} word i
    COMPREPLY=()
    # Names of processes, sockets and options have : and =, where bash parts words: they are put together again.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"
    do
	if [[ ${#words[@]} -eq 0 || $rest == [[:blank:]]* ]]; then words+=(""); fi
	rest=${rest#"${rest%%[![:blank:]]*}"}
	[[ $rest == "$word"* ]] || word=$rest
	words[-1]+=$word rest=${rest#"$word"}
    done
    cur=${words[-1]} prev=${words[-2]-}
    [[ $COMP_WORDBREAKS != *:* || $cur != *:* ]] || there=${cur%"${cur##*:}"}
    # The command of pcp, then that of apm; words behind options that take one are neither.
    for ((i = 1; i < ${#words[@]} - 1; i++))
    do
	word=${words[i]}
	case $word in
	-[ah]) source=("$word" "${words[i+1]}") ;;
	--host=*|--archive=*) source=("$word") ;;
	esac
	# shellcheck disable=SC2053 # a pattern
	if [[ $word == $with ]]
	then
	    ((i++))
	elif [[ $word != -* ]]
	then
	    if [[ -z $command ]]; then command=$word; elif [[ -z $what ]]; then what=$word; fi
	fi
    done
    # shellcheck disable=SC2053
    if [[ $prev == -h ]]
    then
	mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
	return
    elif [[ $prev == $with || -n $command && $command != apm ]]
    then
	return
    elif [[ -z $command ]]
    then
	[[ $cur == -* ]] || _pcp_apm_offer < <(
	    . /etc/pcp.env
	    cd / && for i in "$PCP_BINADM_DIR"/pcp-* ~/.pcp/bin/pcp-*; do [[ ! -x $i ]] || echo "${i##*/pcp-}"; done)
	return
    fi
    if [[ $cur == -* ]]
    then
	local options="--archive --host --version --help"
	options+=" --start --finish --origin --align --timezone --hostzone"
	case ${what:-services} in
	agents) options+=" --json --rows" ;;
	services|runtimes) options+=" --json --rows --interval" ;;
	methods|stacks) options+=" --json --rows --interval --total" ;;
	folded) options+=" --json --rows --slowest --interval" ;;
	tree) options+=" --json --rows --interval --bottom-up" ;;
	traces) options+=" --json --rows --interval --failed" ;;
	trace) options+=" --json --interval" ;;
	events) options+=" --rows --filter --follow --interval" ;;
	export) options+=" --otlp --perfetto --chrome --pprof --speedscope --total --counters --lines --follow --interval --filter --trace --service --all --json --header --compression --shift --config --state --check" ;;
	top) options+=" --interval" ;;
	page) options+=" --json --proxy" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	return
    fi
    case $what in
    "") _pcp_apm_offer <<<$'agents\nservices\nruntimes\nmethods\nstacks\nfolded\ntraces\ntrace\ntree\nevents\nexport\ntop\npage' ;;
    services|runtimes|methods|stacks|folded|traces|tree)
	local names=apm.service.instances
	[[ $what != runtimes ]] || names=apm.runtime.state
	_pcp_apm_offer < <(pminfo "${source[@]}" -f $names 2>/dev/null |
	    sed -nE 's/.* or "((mono|dotnet|profiler|zorka|jvm)::)?(.*)"\] value.*/\3/p')
	;;
    trace)
	# Ids of the slowest ones, which there is a table of. Their form is that of most agents.
	_pcp_apm_offer < <(pminfo "${source[@]}" -f apm.zorka.event.span.slowest 2>/dev/null |
	    grep -oE '\b[0-9a-f]{32}\b' | sort -u)
	;;
    events|export)
	_pcp_apm_offer < <(pminfo "${source[@]}" apm 2>/dev/null |
	    sed -nE 's/^apm\.([a-z]+)\.event\.([a-z_]+)\.(highres_)?records$/\1.\2/p' | sort -u)
	;;
    esac
}
complete -o bashdefault -o default -F _pcp_apm pcp
