# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# bash's completion for rpcordma-peer. What there is to complete is asked of the program: its help and its list of cases.

_rpcordma_peer() {
	local program=$1 word=$2 previous=$3 subcommand='' number

	for ((number = 1; number < COMP_CWORD; number++)); do
		if [[ ${COMP_WORDS[number]} = [a-z]* ]]; then
			subcommand=${COMP_WORDS[number]}
			break
		fi
	done

	COMPREPLY=()
	case $subcommand:$previous in
	conform:--only)
		mapfile -t COMPREPLY < <(compgen -W "must should may says hostile $({
			"$program" conform --listen --list
			"$program" conform --list
		} 2>/dev/null | awk '/^[^ ]+\/[^ ]/ { print $1 }')" -- "$word")
		return
		;;
	*:--path | *:--cases | *:--failed-from | *:--results | *:--junit | *:--html | *:--capture | *:--mark)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames
		return
		;;
	esac

	if [[ $word = -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$program" ${subcommand:+"$subcommand"} --help 2>/dev/null |
			grep -oE '^  (-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+')" -- "$word")
	elif [ -z "$subcommand" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null |
			awk '/^Subcommands:/ { found = 1; next } /^$/ { found = 0 } found { print $1 }')" -- "$word")
	elif [[ $subcommand = @(run|report) ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames
	else
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
	fi
}

complete -F _rpcordma_peer rpcordma-peer
