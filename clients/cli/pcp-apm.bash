# Completion of `pcp apm` for bash: commands, their options, services, runtimes, slow traces and kinds of events that the host has. Of other
# commands of pcp(1) their names only: PCP's own completion has none for it.
# shellcheck shell=bash

_pcp_apm()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} with='-[AaDhnOpSsTtZx]' command= what= source=() i
    COMPREPLY=()
    # The command of pcp, then that of apm; words behind options that take one are neither.
    for ((i = 1; i < COMP_CWORD; i++))
    do
	# shellcheck disable=SC2053 # a pattern
	if [[ ${COMP_WORDS[i]} == -[ah] ]]
	then
	    source=("${COMP_WORDS[i]}" "${COMP_WORDS[i+1]}")
	fi
	if [[ ${COMP_WORDS[i]} == $with ]]
	then
	    ((i++))
	elif [[ ${COMP_WORDS[i]} != -* ]]
	then
	    if [[ -z $command ]]; then command=${COMP_WORDS[i]}; elif [[ -z $what ]]; then what=${COMP_WORDS[i]}; fi
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
	[[ $cur == -* ]] || mapfile -t COMPREPLY < <(compgen -W "$(
	    . /etc/pcp.env
	    cd / && for i in "$PCP_BINADM_DIR"/pcp-* ~/.pcp/bin/pcp-*; do [[ ! -x $i ]] || echo "${i##*/pcp-}"; done)" -- "$cur")
	return
    fi
    if [[ $cur == -* ]]
    then
	local options="--archive --host --version --help"
	[[ $what == page ]] || options+=" --start --finish --origin --align --timezone --hostzone"
	case ${what:-services} in
	agents) options+=" --json --rows" ;;
	services|runtimes) options+=" --json --rows --interval" ;;
	methods|stacks) options+=" --json --rows --interval --total" ;;
	folded) options+=" --rows" ;;
	traces) options+=" --json --rows --interval --failed" ;;
	trace) options+=" --json --interval" ;;
	events) options+=" --rows --filter --follow --interval" ;;
	top) options+=" --interval" ;;
	page) options+=" --proxy" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	return
    fi
    local IFS=$'\n'
    case $what in
    "") mapfile -t COMPREPLY < <(compgen -W $'agents\nservices\nruntimes\nmethods\nstacks\nfolded\ntraces\ntrace\nevents\ntop\npage' -- "$cur") ;;
    services|runtimes|methods|stacks|folded|traces)
	local names=apm.service.instances
	[[ $what != runtimes ]] || names=apm.runtime.state
	mapfile -t COMPREPLY < <(compgen -W "$(pminfo "${source[@]}" -f $names 2>/dev/null |
	    sed -nE 's/.* or "((mono|dotnet|profiler|zorka|jvm)::)?(.*)"\] value.*/\3/p')" -- "$cur")
	;;
    trace)
	# Ids of the slowest ones, which there is a table of. Their form is that of most agents.
	mapfile -t COMPREPLY < <(compgen -W "$(pminfo "${source[@]}" -f apm.zorka.event.span.slowest 2>/dev/null | grep -oE '\b[0-9a-f]{32}\b' | sort -u)" -- "$cur")
	;;
    events)
	mapfile -t COMPREPLY < <(compgen -W "$(pminfo "${source[@]}" apm 2>/dev/null | sed -nE 's/^apm\.([a-z]+)\.event\.([a-z_]+)\.(highres_)?records$/\1.\2/p' | sort -u)" -- "$cur")
	;;
    esac
}
complete -o bashdefault -o default -F _pcp_apm pcp
