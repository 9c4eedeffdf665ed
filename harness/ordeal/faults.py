# SPDX-License-Identifier: GPL-2.0-only
"""The faults of the ordeal: how each is done, and how soon after its end the load must go on."""

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from expectations import eventually
from lab.changed_messages import PEERS, Changed, send_to_client, send_to_server
from lab.conformance import PATIENCE as PATIENCE_OF_CASES, hostile_case_names
from lab.errors import CommandFailed, LabError
from lab.fault_injection import (ALLOCATIONS, Faults, demangled, failing_allocations, failing_connections,
                                 failing_function)
from lab.guest import Guest
from lab.module import guest_module
from lab.nfs import PORT, Mount, script
from lab.pair import Pair
from lab.peer import Peer
from workloads import QUEUE_PAIR_FATAL, guest_python, load_netem, sysctl

# The most that one command of a fault may take.
PATIENCE = 180
# What Python takes to write and compare a guest's memory, on a host that does other things.
SECONDS_TO_FILL = 600
# A fault is so many disconnects, one after the other: the figures are thousands.
DISCONNECTS = (5, 40)
# What disconnect.py may take for one disconnect, and any client to connect anew. The load has less: see Kind.
DISCONNECT_SECONDS = 120
# How many connections a guest has made to servers, over RDMA.
CONNECTS = "awk '$1 == \"xprt:\" && $2 == \"rdma\" { made += $5 } END { print made + 0 }' /proc/self/mountstats"
EVENTS = "queue-pair-events"
# A delay of 4 ms breaks soft-RoCE itself, whichever module is above it.
IMPAIRMENTS = ("loss 0.5%", "loss 3%", "delay 500us 300us", "delay 1ms reorder 30% 50%", "duplicate 10%", "corrupt 1%")
# What allocates memory for our module: no pointer is that there is none. And what makes a connection, at each end: the
# kernel has the error's number in a pointer, where it is one.
ALLOCATORS = ("rpcordma_alloc", "rpcordma_alloc_near")
NO_POINTER = 0
VERBS = {"client": ("__ib_alloc_pd", "__ib_alloc_cq_any", "rdma_create_qp", "ib_alloc_mr", "rdma_resolve_addr",
                    "rdma_resolve_route", "rdma_connect"),
         "server": ("__ib_alloc_cq_any", "rdma_create_qp", "rdma_accept")}
OUT_OF_MEMORY = -12
# So many failures may be so many attempts to connect. A client of NFS 3 waits 5, 10, 20, 40 and then 60 seconds between
# them.
FAILURES = (1, 5)
# Of what the test kernel injects itself, in bursts.
LEAST_INJECTED = 5
BURSTS = 30
SUNRPC_PERCENT = 1
BURST_SECONDS = 2
# So many MiB a process fills, and the file has that it swaps to; it may have less memory.
SWAPPING, SWAP_FILE = 56, 88
SWAPPING_MAY_HAVE = "48M"
# Left to a guest whose memory is filled, in MiB.
SPARED = 48
# The status of who was killed, by the kernel or by somebody else.
KILLED = 137
KILLED_SIZE = "4m"
# For pgrep. It would find the shell that runs it by any pattern that is in the pattern's own words.
VICTIMS = "-f -- '--name=[k]illed'"
HOSTILE_AT_A_TIME = 4
CHANGED_AT_A_TIME = 4000
SEEDS = (0, (1 << 32) - PEERS)
THREADS = 8


@dataclass(frozen=True)
class Done:
    """What a fault was, and how many times it did what its kind is about."""

    what: str
    count: int = 1


Act = Callable[[Pair, random.Random], Done]


@dataclass(frozen=True)
class Kind:
    """A kind of fault: how it is done, and how many seconds after its end the load must have gone on.

    With some the load stands still until they are over. With others it does not: they are beside it, or are many faults
    in a row, with the load going on after each of them.
    """

    act: Act
    limit: int
    halts: bool

    def longest_stall(self, seconds: float, slowness: int) -> float:
        """For how long the load may stand still because of one that took so long."""
        return self.limit * slowness + (seconds if self.halts else 0)


KINDS: dict[str, Kind] = {}


def kind(name: str, limit: int, halts: bool = False) -> Callable[[Act], Act]:
    """Makes a function one of the kinds."""
    def register(act: Act) -> Act:
        KINDS[name] = Kind(act, limit, halts)
        return act
    return register


def preparation(guest: Guest) -> str:
    """What a guest needs for its faults, after each boot and before a connection is made."""
    return (f"insmod {guest_module(guest.kernel, EVENTS)} && {load_netem(guest)} && modprobe -a rdma_ucm ib_uverbs && "
            "echo 1 >/proc/sys/net/ipv6/conf/eth0/keep_addr_on_down")


def clean_up(guest: Guest) -> None:
    """Takes back what preparation() did that is in the way of others."""
    guest.run("rmmod queue_pair_events")


def either(pair: Pair, draw: random.Random) -> Guest:
    """One of the two ends."""
    return draw.choice(pair.guests)


def either_of_ours(pair: Pair, draw: random.Random) -> Guest:
    """One of the two ends, if both have our module; otherwise the one that has it."""
    return draw.choice(pair.ours)


# Connections

@kind("client-disconnect", 30)
def client_disconnect(pair: Pair, draw: random.Random) -> Done:
    """The client is told that its connection is lost, while Calls wait for Replies."""
    count = draw.randint(*DISCONNECTS)
    pair.client.run(guest_python("disconnect.py", count), timeout=count * DISCONNECT_SECONDS)
    return Done(f"{count} disconnects at the client", count)


@kind("server-disconnect", 30)
def server_disconnect(pair: Pair, draw: random.Random) -> Done:
    """The server's device says of each queue pair that it is broken, and of those that the client makes then."""
    before = told(pair.server)
    for _ in range(draw.randint(*DISCONNECTS)):
        known, made = told(pair.server), int(pair.client.output(CONNECTS))
        pair.server.run(f"echo {QUEUE_PAIR_FATAL} >/sys/module/queue_pair_events/parameters/event")
        if told(pair.server) == known:
            raise LabError("the server's device knew of no connection")
        eventually(pair.client, f"test $({CONNECTS}) -gt {made}", DISCONNECT_SECONDS)
    count = told(pair.server) - before
    return Done(f"{count} connections broken at the server", count)


def told(guest: Guest) -> int:
    """How many queue pairs have been told an event."""
    return int(guest.read("/sys/module/queue_pair_events/parameters/told"))


# The network between

@kind("impaired-network", 60, halts=True)
def impaired_network(pair: Pair, draw: random.Random) -> Done:
    """Packets of one end are lost, late, out of order, twice there or changed for some seconds."""
    guest, how, seconds = either(pair, draw), draw.choice(IMPAIRMENTS), draw.randint(3, 15)
    netem(guest, how, seconds)
    return Done(f"{how} for {seconds} s from the {guest.name}")


@kind("blackout", 60, halts=True)
def blackout(pair: Pair, draw: random.Random) -> Done:
    """No packet of one end arrives for some seconds, which nobody is told."""
    guest, seconds = either(pair, draw), draw.randint(1, 30)
    netem(guest, "loss 100%", seconds)
    return Done(f"nothing arrives from the {guest.name} for {seconds} s")


def netem(guest: Guest, how: str, seconds: int) -> None:
    """Has the kernel treat what a guest sends so, for so long."""
    guest.run(f"tc qdisc add dev eth0 root netem limit 10000 {how} && sleep {seconds}; tc qdisc del dev eth0 root",
              PATIENCE)


@kind("link-down", 60, halts=True)
def link_down(pair: Pair, draw: random.Random) -> Done:
    """The interface of one end is down for some seconds."""
    guest, seconds = either(pair, draw), draw.randint(1, 30)
    guest.run(f"ip link set eth0 down && sleep {seconds} && ip link set eth0 up", PATIENCE)
    return Done(f"the link of the {guest.name} down for {seconds} s")


@kind("address-removed", 60, halts=True)
def address_removed(pair: Pair, draw: random.Random) -> Done:
    """The address of one end is away for some seconds."""
    guest, seconds = either_of_ours(pair, draw), draw.randint(1, 10)
    address = f"{pair.SERVER_ADDRESS if guest is pair.server else pair.CLIENT_ADDRESS}/24"
    guest.script("network", "address", "del", address)
    guest.run(f"sleep {seconds}", PATIENCE)
    guest.script("network", "address", "add", address)
    return Done(f"the address of the {guest.name} away for {seconds} s")


@kind("device-removed", 60, halts=True)
def device_removed(pair: Pair, draw: random.Random) -> Done:
    """The device of one end goes, and comes back after some seconds."""
    guest, seconds = either_of_ours(pair, draw), draw.randint(0, 8)
    guest.script("network", "remove")
    guest.run(f"sleep {seconds}", PATIENCE)
    guest.script("network", "add")
    return Done(f"the device of the {guest.name} away for {seconds} s")


# The server. Grace periods of ten seconds (NFS 4.0: thirty) are a part of the time that the load then takes to go on.

@kind("nfsd-restarted", 90, halts=True)
def nfsd_restarted(pair: Pair, draw: random.Random) -> Done:
    """nfsd is stopped, with its connections and listeners, and started again."""
    seconds = draw.randint(0, 5)
    pair.server.run(f"{script('nfs-server', 'stop')} && sleep {seconds} && {script('nfs-server', 'serve')}", PATIENCE)
    return Done(f"nfsd away for {seconds} s")


@kind("nfsd-threads", 30)
def nfsd_threads(pair: Pair, draw: random.Random) -> Done:
    """nfsd has another number of threads, first very few."""
    least, then = draw.randint(1, 2), draw.randint(2, 32)
    for number in (least, then):
        pair.server.run(f"echo {number} >/proc/fs/nfsd/threads", PATIENCE)
    return Done(f"{least}, then {then} threads of nfsd", 2)


@kind("server-crashed", 90, halts=True)
def server_crashed(pair: Pair, _draw: random.Random) -> Done:
    """Power fails in the server, which then boots again."""
    pair.server.kill()
    pair.restart_server()
    return Done("the server crashed and was booted")


@kind("module-reloaded", 90, halts=True)
def module_reloaded(pair: Pair, _draw: random.Random) -> Done:
    """nfsd is stopped, the server's module is unloaded and loaded, and nfsd is started."""
    pair.unload_server_transport()
    pair.load_server_transport()
    return Done("the server's module unloaded and loaded")


# What the server exports: an export of its own, which another mount of the client's has by NFS 3.

EXPORT_THE_SMALL = ("exportfs -o rw,no_root_squash,insecure,no_subtree_check,sec=sys,fsid=9 '*:/srv/nfs/small' && "
                    "exportfs -f")
WITHDRAW_THE_SMALL = "exportfs -u '*:/srv/nfs/small' && exportfs -f"
# Of direct writes and reads.
BLOCK = 64 << 10


@contextmanager
def small_export(pair: Pair, mebibytes: int) -> Iterator[None]:
    """An export "small" of so many MiB, which holds a file."""
    pair.server.run(f"mkdir /srv/nfs/small && mount -t tmpfs -o size={mebibytes}M tmpfs /srv/nfs/small && "
                    f"head -c {BLOCK} /dev/urandom >/srv/nfs/small/file && {EXPORT_THE_SMALL}")
    yield
    pair.server.run(WITHDRAW_THE_SMALL)
    # nfsd lets go of files that it has open when it likes.
    eventually(pair.server, "umount /srv/nfs/small", PATIENCE)
    pair.server.run("rmdir /srv/nfs/small")


def mount_the_small(pair: Pair) -> Mount:
    """The client's mount of it."""
    return pair.mount("3", export="small", path="/mnt-small", options="nolock")


def assert_same(pair: Pair, name: str) -> None:
    """A file of it is at the client what it is at the server."""
    there = pair.client.output(f"dd if=/mnt-small/{name} bs={BLOCK} iflag=direct status=none | cksum", PATIENCE)
    if there != pair.server.output(f"cksum </srv/nfs/small/{name}"):
        raise LabError(f"the client does not see in {name} what the server has")


@kind("disk-full", 60)
def disk_full(pair: Pair, draw: random.Random) -> Done:
    """A user fills the server's disk, is told so, has what there was room for, and makes room again."""
    mebibytes = draw.randint(1, 4)
    with small_export(pair, mebibytes):
        mount = mount_the_small(pair)
        filled = pair.client.run(f"dd if=/dev/urandom of=/mnt-small/filled bs={BLOCK} oflag=direct", PATIENCE,
                                 check=False)
        if "No space left on device" not in filled.stdout:
            raise LabError(f"{mebibytes} MiB are never full: {filled.stdout}")
        assert_same(pair, "filled")
        pair.client.run(f"rm /mnt-small/filled && dd if=/dev/urandom of=/mnt-small/file bs={BLOCK} count=8 "
                        "oflag=direct", PATIENCE)
        assert_same(pair, "file")
        mount.unmount()
    return Done(f"a disk of {mebibytes} MiB full")


@kind("export-withdrawn", 60)
def export_withdrawn(pair: Pair, _draw: random.Random) -> Done:
    """The server withdraws an export that a user reads, and exports it again."""
    with small_export(pair, 2):
        mount = mount_the_small(pair)
        reading = pair.client.spawn(f"while dd if=/mnt-small/file of=/dev/null bs={BLOCK} iflag=direct status=none; "
                                    "do echo read; done")
        reading.expect("read\n", PATIENCE)
        pair.server.run(WITHDRAW_THE_SMALL)
        told = reading.wait(PATIENCE).stdout.splitlines()[-1]
        if "Stale file handle" not in told:
            raise LabError(f"who reads from an export that is withdrawn is told: {told}")
        mount.unmount()
        pair.server.run(EXPORT_THE_SMALL)
        mount = mount_the_small(pair)
        assert_same(pair, "file")
        mount.unmount()
    return Done("an export withdrawn under a reader")


# Memory, and verbs that fail

@kind("allocations-fail", 90)
def allocations_fail(pair: Pair, draw: random.Random) -> Done:
    """Some allocations of our module fail at one end, while connections are made."""
    guest, function = either_of_ours(pair, draw), draw.choice(ALLOCATORS)
    return failing_while_connecting(pair, guest, function, NO_POINTER, draw.randint(*FAILURES),
                                    draw.choice((1, 1, 3, 10)))


@kind("verbs-fail", 90)
def verbs_fail(pair: Pair, draw: random.Random) -> Done:
    """Some calls of the verbs or of the connection manager fail at one end, while connections are made."""
    guest = either_of_ours(pair, draw)
    # Most of them are called once for a connection.
    function = draw.choice(VERBS[guest.name])
    return failing_while_connecting(pair, guest, function, OUT_OF_MEMORY, draw.randint(*FAILURES),
                                    draw.randint(1, 2))


def failing_while_connecting(pair: Pair, guest: Guest, function: str, result: int, times: int, every: int) -> Done:
    """Breaks the connection, and has a function fail until there is one again, and then another time."""
    with failing_function(guest, function, result, times, every) as failed:
        pair.client.run(guest_python("disconnect.py", 2), timeout=2 * DISCONNECT_SECONDS)
        count = failed()
    if count == 0:
        raise LabError(f"{function} has not failed in the {guest.name}")
    return Done(f"{function} failed {count} times in the {guest.name}", count)


def unreported(_faults: Faults) -> None:
    """The line of the fault has it."""


@kind("memory-injected", 90)
def memory_injected(pair: Pair, draw: random.Random) -> Done:
    """Allocations of our module, or of what it called, fail at one end, while connections are made (test kernel)."""
    guest, allocator = either_of_ours(pair, draw), draw.choice(sorted(ALLOCATIONS))
    with failing_allocations(guest, allocator, unreported) as faults:
        for _ in faults.again_until(LEAST_INJECTED, BURSTS):
            with faults.burst():
                pair.client.run(guest_python("disconnect.py", 1), timeout=DISCONNECT_SECONDS)
        count, places = faults.count(), faults.places()
    where = ", ".join(f"{times} in {demangled(place)}" for place, times in places.most_common())
    return Done(f"{allocator} {count} times in the {guest.name}: {where}", count)


@kind("sunrpc-injected", 60)
def sunrpc_injected(pair: Pair, draw: random.Random) -> Done:
    """sunrpc is told to end connections at one end, as it sends or as it takes what has come (test kernel)."""
    side = draw.choice(("client", "server"))
    guest = {"client": pair.client, "server": pair.server}[side]
    with failing_connections(guest, side, SUNRPC_PERCENT, unreported) as faults:
        for _ in faults.again_until(LEAST_INJECTED, BURSTS):
            with faults.burst():
                guest.run(f"sleep {BURST_SECONDS}")
        count = faults.count()
    return Done(f"sunrpc has ended {count} connections at the {side}", count)


@kind("swap", 60, halts=True)
def swap(pair: Pair, draw: random.Random) -> Done:
    """A process of the client swaps to a file on the mount, while the connection breaks."""
    count = draw.randint(1, 3)
    group = "/sys/fs/cgroup/swapping"
    pair.client.run(f"dd if=/dev/zero of=/mnt/swap bs=1M count={SWAP_FILE} oflag=direct status=none && "
                    "chmod 600 /mnt/swap && mkswap /mnt/swap && swapon /mnt/swap && "
                    f"echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir {group} && "
                    f"echo {SWAPPING_MAY_HAVE} >{group}/memory.max", PATIENCE)
    swapping = pair.client.spawn(f"echo $$ >{group}/cgroup.procs && exec {guest_python('memory.py', SWAPPING)}")
    pair.client.run(guest_python("disconnect.py", count), timeout=count * DISCONNECT_SECONDS)
    swapped = swapping.wait(SECONDS_TO_FILL)
    if swapped.status != 0:
        raise LabError(f"who swapped to the mount ended with status {swapped.status}: {swapped.stdout}")
    pair.client.run(f"rmdir {group} && swapoff /mnt/swap && rm /mnt/swap", PATIENCE)
    return Done(f"{int(swapped.stdout) >> 10} MiB swapped to the mount beside {count} disconnects")


@kind("memory-pressure", 60, halts=True)
def memory_pressure(pair: Pair, draw: random.Random) -> Done:
    """A process takes nearly all memory of one end; it is the one that the kernel kills if there is too little."""
    guest = either(pair, draw)
    free = int(guest.output("awk '/^MemAvailable/ { print $2 }' /proc/meminfo")) >> 10
    filled = guest.run(f"choom -n 1000 -- {guest_python('memory.py', free - SPARED)}", SECONDS_TO_FILL, check=False)
    if filled.status not in (0, KILLED):
        raise CommandFailed(f"memory of the {guest.name}: {filled.stdout}")
    return Done(f"{free - SPARED} MiB of {free} MiB taken in the {guest.name}")


# Others

@kind("hostile-peer", 30)
def hostile_peer(pair: Pair, draw: random.Random) -> Done:
    """A hostile requester sends the server what it must not, beside the load."""
    cases = draw.sample(hostile_case_names(), HOSTILE_AT_A_TIME)
    only = [word for name in cases for word in ("--only", name)]
    ran = Peer(pair.client).run("conform", f"{pair.SERVER_ADDRESS}:{PORT}", "--path", "/srv/nfs/tmpfs",
                                "--protocol", "2", *only,
                                "--patience", str(PATIENCE_OF_CASES * pair.client.slowness),
                                timeout=PATIENCE, check=False)
    if ran.status != 0:
        raise LabError(f"rpcordma-peer conform ended with status {ran.status}: {ran.stdout}")
    return Done(f"{', '.join(cases)}", len(cases))


@kind("changed-messages", 30)
def changed_messages(pair: Pair, draw: random.Random) -> Done:
    """Requesters send the server messages that are changed at random, beside the load."""
    changed = Changed(CHANGED_AT_A_TIME, draw.randint(*SEEDS), patience=PATIENCE)
    # Most of the messages cost the connection.
    with sysctl(pair.server, svc_rdma__max_connects=0):
        send_to_server(Peer(pair.client), f"{pair.SERVER_ADDRESS}:{PORT}", "/srv/nfs/tmpfs", changed)
    return Done(str(changed), changed.count)


@kind("changed-replies", 30)
def changed_replies(pair: Pair, draw: random.Random) -> Done:
    """Other servers send the client messages that are changed at random, beside the load."""
    changed = Changed(CHANGED_AT_A_TIME, draw.randint(*SEEDS), patience=PATIENCE)
    send_to_client(Peer(pair.server), pair.SERVER_ADDRESS, pair.client, changed)
    return Done(f"to the client {changed}", changed.count)


@kind("processes-killed", 30)
def processes_killed(pair: Pair, draw: random.Random) -> Done:
    """Processes of the client that read and write are killed in the middle of that."""
    jobs, seconds = draw.randint(1, 4), draw.uniform(0, 2)
    fio = (f"fio --name=killed --directory=/mnt --rw=rw --size={KILLED_SIZE} --bs=256k --direct=1 --ioengine=libaio "
           f"--iodepth=8 --fallocate=none --numjobs={jobs} --time_based --runtime={PATIENCE}")
    # What it writes in the beginning, to have something to read, is written by one process.
    pair.client.run(f"cd /tmp && {fio} --create_only=1 && touch /mnt/killed-begin", PATIENCE)
    victims = pair.client.spawn(f"cd /tmp && exec {fio}")
    eventually(pair.client, f"test $(find /mnt -maxdepth 1 -name 'killed.*' -newer /mnt/killed-begin | wc -l) = {jobs}",
               PATIENCE)
    # Each has a session of its own. The first of them does no I/O.
    pair.client.run(f"sleep {seconds:.2f} && test $(pgrep -c {VICTIMS}) = {jobs + 1} && pkill -KILL {VICTIMS}")
    killed = victims.wait(PATIENCE)
    if killed.status != KILLED:
        raise LabError(f"who was to be killed had ended with status {killed.status}: {killed.stdout}")
    eventually(pair.client, f"! pgrep {VICTIMS}", PATIENCE)
    pair.client.run("rm -f /mnt/killed*", PATIENCE)
    return Done(f"{jobs} processes killed", jobs)


def listed() -> str:
    """The kinds and their limits, for people."""
    return "\n".join(f"{name:20} {one.limit:4} s  {re.sub(r'[ ]*[.]$', '', (one.act.__doc__ or '').splitlines()[0])}"
                     for name, one in KINDS.items())
