# SPDX-License-Identifier: GPL-2.0-only
"""Work that the tests give a client, all of it verified."""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self

from lab import Guest, Pair, Process
from lab.errors import CommandFailed
from lab.module import VERBS, guest_module, guest_program
from lab.nfs import PORT, script
from lab.paths import GUEST_SCRIPTS
from lab.run import FULL

TRACING = "/sys/kernel/tracing"
TRACE = f"{TRACING}/trace"
STOP = "/run/verified-io.stop"
ROUND_SECONDS = 300
# Linux's own lease time of NFS 4, and the lab's grace time, in seconds.
USUAL_LEASE = 90
SHORT_GRACE = 10


def fio(client: Guest, *options: str, jobs: dict[str, str] | None = None,
        timeout: float = 600) -> str:
    """Runs fio in a client. Each job has its own options; an error in any is an error."""
    return client.output(fio_command(*options, jobs=jobs or {"job": ""}), timeout=timeout)


def fio_command(*options: str, jobs: dict[str, str]) -> str:
    """The same as a command, for who does something else meanwhile."""
    words = ["fio", "--ioengine=libaio", "--verify=crc32c", "--verify_fatal=1",
             "--verify_state_save=0", *options]
    for name, own in jobs.items():
        words += [f"--name={name}", *shlex.split(own)]
    return f"cd /tmp && {shlex.join(words)}"


@contextmanager
def verified_io(client: Guest, directory: str = "/mnt", jobs: int = 2) -> Iterator[list[Process]]:
    """Verified reads and writes that go on for the length of a block, and must all be right."""
    client.run(f"rm -f {STOP}")
    size = "16M" if FULL else "8M"
    processes = [client.spawn(f"{GUEST_SCRIPTS}/verified-io {directory}/io{number} {size} {STOP}")
                 for number in range(jobs)]
    wait_for_round(processes)
    yield processes
    # Each ends with the round that it is in.
    client.run(f"touch {STOP}")
    for process in processes:
        result = process.wait(ROUND_SECONDS)
        assert result.status == 0, f"fio found an error:\n{result.stdout}"
    client.run(f"rm {directory}/io*")


def wait_for_round(processes: list[Process]) -> None:
    """Waits until each has completed one more round than it has now."""
    done = [process.output.count("round ") for process in processes]
    for process, rounds in zip(processes, done):
        process.expect(rf"round {rounds + 1}\b", timeout=ROUND_SECONDS)


@contextmanager
def small_device(guest: Guest, **limits: int) -> Iterator[None]:
    """Connections that the guest makes in this block have to do with such a device, and ask it for no more."""
    wanted = " ".join(f"{name}={value}" for name, value in limits.items())
    guest.run(f"insmod {guest_module(guest.kernel, 'small-device')} {wanted}")
    yield
    refused = int(guest.read("/sys/module/small_device/parameters/refused"))
    assert refused == 0, f"{refused} times more was asked for than the device says that it has"
    guest.run("rmmod small_device")


@contextmanager
def large_blocks(server: Guest, size: int) -> Iterator[None]:
    """The server takes READs and WRITEs of so many bytes in this block; nothing may be mounted before or after."""
    def serve(most: int) -> None:
        server.run(f"{script('nfs-server', 'stop')} && {script('nfs-server', 'block', str(most))}", timeout=120)
        # Nobody has anything to reclaim; it is an error where there is no grace period.
        server.run("echo Y >/proc/fs/nfsd/v4_end_grace; echo Y >/proc/fs/lockd/nlm_end_grace", check=False)
    serve(size)
    yield
    serve(1 << 20)


@contextmanager
def large_io(client: Guest) -> Iterator[None]:
    """Mounts that the client makes in this block have READs and WRITEs as large as their transport carries them."""
    client.run(f"insmod {guest_module(client.kernel, 'large-io')}")
    yield
    client.run("rmmod large_io")


@contextmanager
def slow_function(guest: Guest, name: str, milliseconds: int = 50) -> Iterator[None]:
    """Each call of the kernel's function takes that much longer in this block; there has to be one."""
    guest.run(f"insmod {guest_module(guest.kernel, 'slow-function')} function={name} milliseconds={milliseconds}")
    yield
    assert int(guest.read("/sys/module/slow_function/parameters/delayed")) > 0, f"nobody calls {name}()"
    guest.run("rmmod slow_function")


@contextmanager
def connection_faults(client: Guest, **faults: int) -> Iterator[None]:
    """What happens in this block to connections that the client makes in it: see the module."""
    wanted = " ".join(f"{name}={value}" for name, value in faults.items())
    client.run(f"insmod {guest_module(client.kernel, 'connection-faults')} {wanted}")
    yield
    client.run("rmmod connection_faults")


# An enum ib_event_type: what a device says of a queue pair. The second is good news.
QUEUE_PAIR_FATAL, COMMUNICATION_ESTABLISHED = 1, 4


@contextmanager
def queue_pair_events(guest: Guest) -> Iterator[Callable[[int], None]]:
    """What this gives tells an event to all queue pairs of the guest's that are made in this block."""
    guest.run(f"insmod {guest_module(guest.kernel, 'queue-pair-events')}")
    yield lambda event: guest.run(f"echo {event} >/sys/module/queue_pair_events/parameters/event")
    assert int(guest.read("/sys/module/queue_pair_events/parameters/told")) > 0, "nobody wants to hear of events"
    guest.run("rmmod queue_pair_events")


def revive_device(guest: Guest) -> bool:
    """Renews a soft-RoCE device whose queue pair 1 has died; returns whether it had.

    A connection manager's message that finds no route or no neighbour, because the address or the
    link is away, takes it into the error state for good, and nobody can connect to the device any
    more, whoever serves.
    """
    if "type GSI state ERR" not in guest.output("rdma resource show qp"):
        return False
    guest.script("network", "remove")
    guest.script("network", "add")
    return True


def load_netem(guest: Guest) -> str:
    """The command for it. It is built into the test kernel."""
    return "true" if guest.kernel.is_test else "modprobe sch_netem"


@contextmanager
def nothing_arrives_from(guest: Guest) -> Iterator[None]:
    """No packet that the guest sends in this block arrives."""
    guest.run(f"{load_netem(guest)} && tc qdisc add dev eth0 root netem loss 100%")
    try:
        yield
    finally:
        guest.run("tc qdisc del dev eth0 root")


@contextmanager
def traced(*guests: Guest, events: str = "rpcordma") -> Iterator[None]:
    """Has events, such as "rpcordma/rpcordma_call_fenced", recorded in this block; they stay in TRACE."""
    for guest in guests:
        guest.run(f"echo >{TRACE} && echo 1 >{TRACING}/events/{events}/enable")
    yield
    for guest in guests:
        guest.run(f"echo 0 >{TRACING}/events/{events}/enable")


@contextmanager
def sysctl(guest: Guest, **settings: int) -> Iterator[None]:
    """Sets sunrpc's sysctls for the length of a block; the names have _ for the last dot."""
    paths = {name: f"/proc/sys/sunrpc/{name.replace('__', '/')}" for name in settings}
    before = {name: guest.read(path).strip() for name, path in paths.items()}
    for name, value in settings.items():
        guest.run(f"echo {value} >{paths[name]}")
        assert guest.read(paths[name]).strip() == str(value)
    try:
        yield
    finally:
        for name, value in before.items():
            guest.run(f"echo {value} >{paths[name]}")


@contextmanager
def usual_lease(pair: Pair, grace: int = SHORT_GRACE) -> Iterator[None]:
    """In this block NFS 4 has Linux's lease time; the lab's own is short. Nothing is mounted around it."""
    def restart(before: str) -> None:
        pair.server.run(f"{script('nfs-server', 'stop')} && {before} && {script('nfs-server', 'serve')}", timeout=120)
        # Nobody has anything to reclaim; an error where there is no grace.
        pair.server.run("echo Y >/proc/fs/nfsd/v4_end_grace", check=False)

    command = f"echo {USUAL_LEASE} {grace} >/run/nfs-times"
    preparation = pair.preparation
    pair.preparation = lambda guest: f"{preparation(guest)} && {command}"
    restart(command)
    try:
        yield
    finally:
        pair.preparation = preparation
    restart("rm /run/nfs-times")


@contextmanager
def kerberos(pair: Pair) -> Iterator[None]:
    """The client has credentials: its mounts in this block identify it by them, also with sec=sys."""
    keytab = pair.server.script("kerberos", "server", timeout=300)
    program = guest_program(pair.client.kernel, "gssd-pipe", "-shared", "-fPIC")
    pair.client.script("kerberos", "client", keytab.strip(), str(program))
    try:
        yield
    except CommandFailed:
        for guest in pair.guests:
            print(f"{guest.name}:", guest.output("tail -n 100 /run/messages"))
        raise
    pair.client.script("kerberos", "client_end")


class Times(NamedTuple):
    """Of small files' lives, in milliseconds."""

    median: float
    longest: float

    @classmethod
    def parse(cls, shown: str) -> Self:
        """What harness/guest/files.py has printed."""
        return cls(*map(float, re.findall(r"([\d.]+) ms", shown)))


@contextmanager
def jams(pair: Pair, machine: Guest, kind: str, connections: int) -> Iterator[None]:
    """A machine costs the server more than it should, by so many connections at a time: see harness/guest/jam.c."""
    program = guest_program(machine.kernel, "jam", *VERBS)
    pair.server.run("dd if=/dev/zero of=/srv/nfs/tmpfs/jam bs=64K count=1 status=none")
    machine.run("modprobe -a rdma_ucm ib_uverbs")
    jamming = machine.spawn(f"exec {program} {kind} {pair.SERVER_ADDRESS} {PORT} {connections} jam")
    jamming.expect(f"{connections} jams", timeout=120)
    yield
    assert jamming.status is None, jamming.output
    jamming.kill()
    jamming.wait(60)
    pair.server.run("rm /srv/nfs/tmpfs/jam")


def guest_python(program: str, *arguments: object) -> str:
    """The command that runs one of the Python programs in harness/guest."""
    return shlex.join(["/usr/bin/python3", str(GUEST_SCRIPTS / program), *map(str, arguments)])
