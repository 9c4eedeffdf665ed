#compdef rpcordma-peer
# SPDX-License-Identifier: GPL-2.0-only
#
# zsh's completion for rpcordma-peer. What there is to complete is asked of the program: its help and its list of cases.

# What stands behind --only: levels, and the cases of both lists.
_rpcordma_peer_cases() {
	local -a cases
	cases=(must should may says hostile ${(f)"$({
		"$program" conform --listen --list
		"$program" conform --list
	} 2>/dev/null | awk -F '\t' '/^[^ ]+\/[^ ]/ { print $1 ":" $4 }')"})
	_describe case cases
}

# "  -h,--help  description"; where the name is long, the description is on the next line.
_rpcordma_peer_options() {
	local -a options
	options=(${(f)"$("$program" $subcommand --help 2>/dev/null | sed -z 's/\n \{20,\}/  /g' |
		sed -n 's/^  \(-[a-z],\)\?\(--[a-z-]*\)[^ ]*\( [^ ]\+\)*  \+\(.*\)/\2:\4/p')"})
	_describe -o option options
}

_rpcordma_peer() {
	local program=$words[1] subcommand=${${words[2,CURRENT-1]:#-*}[1]}
	local -a subcommands

	case $subcommand:$words[CURRENT-1] in
	conform:--only) _rpcordma_peer_cases && return ;;
	*:(--path|--cases|--failed-from|--results|--junit|--html|--capture|--mark)) _files && return ;;
	esac
	if [[ $PREFIX = -* ]]; then
		_rpcordma_peer_options
	elif [[ -z $subcommand ]]; then
		subcommands=(${(f)"$("$program" --help 2>/dev/null |
			sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
		_describe command subcommands
	elif [[ $subcommand = (run|report) ]]; then
		_files
	else
		_hosts
	fi
}

_rpcordma_peer "$@"
