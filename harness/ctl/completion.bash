# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# bash's completion for rpcordmactl. Ids are asked of the program.

_rpcordmactl() {
	local program=$1 word=$2 previous=$3 subcommand='' number
	local subcommands='status connections disconnects monitor latency metrics report'

	for ((number = 1; number < COMP_CWORD; number++)); do
		if [[ " $subcommands " = *" ${COMP_WORDS[number]} "* ]]; then
			subcommand=${COMP_WORDS[number]}
			break
		fi
	done

	COMPREPLY=()
	if [[ $word = -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$program" ${subcommand:+"$subcommand"} --help 2>/dev/null |
			grep -oE -- '--[a-z]+' | sort -u)" -- "$word")
		return
	fi
	case $subcommand:$previous in
	*:--color)
		mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$word")
		;;
	connections:show | latency:*)
		mapfile -t COMPREPLY < <(compgen -W "$("$program" -j connections 2>/dev/null |
			grep -oE '"id": [0-9]+' | grep -oE '[0-9]+')" -- "$word")
		;;
	connections:*)
		mapfile -t COMPREPLY < <(compgen -W show -- "$word")
		;;
	report:*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames 2>/dev/null
		;;
	:*)
		mapfile -t COMPREPLY < <(compgen -W "$subcommands" -- "$word")
		;;
	esac
}

complete -F _rpcordmactl rpcordmactl
