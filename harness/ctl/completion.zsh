#compdef rpcordmactl
# SPDX-License-Identifier: GPL-2.0-only
#
# zsh's completion for rpcordmactl. Commands, options and ids are asked of the program.

# The program's help, with each description in the line of what it describes.
_rpcordmactl_help() {
	COLUMNS=999 "$program" "$@" --help 2>/dev/null | sed -z 's/\n \{10,\}/  /g'
}

_rpcordmactl_ids() {
	local -a ids
	ids=(${(f)"$("$program" --color never connections 2>/dev/null | awk 'NR > 1 { print $1 ":" $2, $4 }')"})
	_describe -V connection ids
}

_rpcordmactl() {
	local program=$words[1] subcommand
	local -a subcommands options

	subcommands=(${(f)"$(_rpcordmactl_help | sed -n 's/^    \([a-z]*\)  *\(.*\)/\1:\2/p')"})
	for subcommand in ${words[2,CURRENT-1]} ''; do
		[[ -z $subcommands[(r)$subcommand:*] ]] || break
	done
	if [[ $PREFIX = -* ]]; then
		options=(${(f)"$(_rpcordmactl_help $subcommand | sed -n 's/^  \(-[a-z].*\)\?\(--[a-z]*\)\( [^ ]*\)\?  *\(.*\)/\2:\4/p')"})
		_describe -o option options
		return
	fi
	case $subcommand:$words[CURRENT-1] in
	*:--color) compadd auto always never ;;
	connections:show | latency:*) _rpcordmactl_ids ;;
	connections:*) compadd show ;;
	report:*) _files ;;
	:*) _describe command subcommands ;;
	esac
}

_rpcordmactl "$@"
