#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What a client under test runs: it does what list.VERSION says to the files of this mount, a line after the other, and
# leaves what came of each in results/: the exit status, cksum's lines of what was read and of 8 KiB of another file
# afterwards, what was printed, and "end".
#
#   sh MOUNTPOINT/run VERSION
#
# A case of version 2 of RPC-over-RDMA begins on a connection of version 1. What connects after that begins with version 2,
# and does not know which version this server speaks: the command OFFER is given the highest version to offer, and has the
# client forget what it knows. Without one, rpcordma is told so, if that is there.
#
# Nothing is started that can be done without: in an emulated machine that takes longer than what is tested.

# Cases know errors by their English texts.
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd) || exit
scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT
cp "$here/source" "$scratch/source" || exit

direct_read() {
	dd if="$1" of="$scratch/${3-data}" bs="$2" count=1 iflag=direct status=none
}

offer() {
	setting=/proc/sys/sunrpc/rdma_highest_version
	if [ -n "${OFFER-}" ]; then
		eval "$OFFER $1"
	elif [ -w $setting ]; then
		echo "$1" >$setting
	fi
}

# By then the peer has ended the connections of the case before.
begin_version_2() {
	sleep 1
	offer 1
	direct_read "$here/good" 8192 good >/dev/null 2>&1
	offer 2
}

do_read() {
	direct_read "$1/data" "$2"
}

do_write() {
	head -c "$2" "$scratch/source" >"$scratch/part"
	dd if="$scratch/part" of="$1/new" bs="$2" count=1 oflag=direct conv=notrunc status=none
}

do_list() {
	ls "$1/directory" >"$scratch/names" || return
	wc -l <"$scratch/names"
}

do_readlink() {
	readlink "$1/link" >"$scratch/data"
}

# Killed while it waits, which it has to do by then, however slow this machine is; then a read, on the same connection.
do_killed() {
	seconds=$2
	[ "$seconds" -gt 0 ] || seconds=5
	(timeout -s KILL "$seconds" readlink "$1/link"; exit $?) 2>/dev/null && return 1
	direct_read "$1/data" 8192
}

# An NFSv4 ACL of that many entries: allow, no flags, everything, EVERYONE@.
do_acl() {
	entry=0000000000000000001601ff0000000945564552594f4e4540000000
	# shellcheck disable=SC2046 # one argument for each number
	setfattr -n system.nfs4_acl -v "0x$(printf '%08x' "$2")$(printf "$entry%.0s" $(seq "$2"))" "$1/data"
}

# To a name of that length.
do_rename() {
	mv "$1/old" "$1/$(printf '%0*d' "$2" 0)"
}

# Two reads, with so many seconds between them.
do_idle() {
	direct_read "$1/data" 8192 || return
	sleep "$2"
	direct_read "$1/data" 8192
}

do_stat() {
	stat -c %s "$1/data"
}

# Reads of 4 KiB, as many at a time.
do_many() {
	jobs=
	for block in $(seq "$2"); do
		dd if="$1/data" of=/dev/null bs=4096 skip="$block" count=1 iflag=direct status=none &
		jobs="$jobs $!"
	done
	failed=0
	for job in $jobs; do
		wait "$job" || failed=1
	done
	return $failed
}

cd "$scratch" || exit
while read -r name operation argument protocol; do
	[ "${protocol:-1}" = 1 ] || begin_version_2
	: >data
	: >good
	output=$("do_$operation" "$here/cases/$name" "$argument" 2>&1)
	status=$?
	afterwards=$(direct_read "$here/good" 8192 good 2>&1)
	printf '%s\n%s\n%s\nend\n' "$status" "$(cksum data good)" "$output$afterwards" >"$here/results/$name"
done <"$here/list.$1"
