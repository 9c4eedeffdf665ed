# SPDX-License-Identifier: GPL-2.0-only
"""What goes wrong around a server, while files are read and written and compared."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from expectations import (LIVE_OBJECTS, connections, eventually, live_objects, mounted, rdma_resources,
                          wait_for_resources)
from workloads import (TRACE, fio, fio_command, guest_python, revive_device, slow_function, sysctl, traced,
                       verified_io, wait_for_round)

from lab import Guest, Mount, Pair
from lab.module import VERBS, guest_program
from lab.nfs import Server, mount, script

pytestmark = pytest.mark.about("server")

PORT = 20049
EXPORT = "/srv/nfs/ext4"
CONNECTIONS_EACH = 16
READ_SIZE = 16 << 10
READ_FILE = 4 << 20
READ_DEPTH = 16
MOST_WAITING = 64
# Linux 6.12 closes the oldest connection that has shown no file handle where there are more of them.
MOST_UNKNOWN = 64
# Connections that are being accepted, or that end.
MOST_ON_THEIR_WAY = 36
HALF_OPEN = 40
ABANDONED_AT_A_TIME = 100
ABANDONED_PER_SECOND = 50
# Of which the device itself takes the most.
REMOVAL_SECONDS = 20
MORE_ADDRESSES = ("10.9.0.11", "10.9.0.12", "10.9.0.13")
# Soft-RoCE tries for this long to reach a peer that has gone, and a busy host makes it longer.
UNREACHABLE_SECONDS = 120
# Within so many a client is found gone that nothing is sent to: 40 until it is probed, and what the device tries again.
NOTICED_SECONDS = 90


@contextmanager
def sixty_four_connections(pair: Pair, version: str) -> Iterator[list[Mount]]:
    """Four mounts of sixteen each; when they have gone the server holds what it held before."""
    idle = rdma_resources(pair.server)
    for address in MORE_ADDRESSES:
        pair.server.script("network", "address", "add", f"{address}/24")
    mounts = [pair.mount(version, server=address, path=f"/mnt{number}",
                         options=f"nconnect={CONNECTIONS_EACH}")
              for number, address in enumerate((pair.SERVER_ADDRESS, *MORE_ADDRESSES))]
    yield mounts
    assert connections(pair.server) == CONNECTIONS_EACH * len(mounts) == 64
    for mounted_here in mounts:
        transports = mounted_here.stats().transports
        assert len(transports) == CONNECTIONS_EACH
        assert all(transport["sends"] >= 4 for transport in transports)
    pair.client.run(f"rm {mounts[0].path}/job*")
    for mounted_here in mounts:
        mounted_here.unmount()
    wait_for_resources(pair.server, idle, timeout=60)
    for address in MORE_ADDRESSES:
        pair.server.script("network", "address", "del", f"{address}/24")


@pytest.mark.versions("3")
def test_sixty_four_connections_at_once(pair: Pair, version: str) -> None:
    """All of them carry data, and when they have gone the server holds what it held before."""
    with sixty_four_connections(pair, version) as mounts:
        fio(pair.client, "--bs=32k", "--size=4m", "--direct=1", "--iodepth=16", "--rw=randwrite",
            jobs={f"job{number}": f"--directory={mounted_here.path}"
                  for number, mounted_here in enumerate(mounts)})


@pytest.mark.versions("3")
def test_what_is_held_for_direct_reads_does_not_grow_with_them(pair: Pair, version: str, full: bool) -> None:
    """64 connections read 16 KiB at a time: the server lets go of each Reply when it has been sent."""
    rounds = 40 if full else 4
    with sixty_four_connections(pair, version) as mounts:
        at_a_time = len(mounts) * READ_DEPTH
        jobs = {f"job{number}": f"--directory={mounted_here.path}" for number, mounted_here in enumerate(mounts)}
        sizes = (f"--bs={READ_SIZE}", f"--size={READ_FILE}", "--direct=1", f"--iodepth={READ_DEPTH}")
        fio(pair.client, *sizes, "--rw=write", "--do_verify=0", jobs=jobs)
        before = live_objects(pair.server)
        reading = pair.client.spawn(fio_command(*sizes, "--rw=randread", f"--loops={rounds}", jobs=jobs))
        seen = []
        while reading.status is None:
            seen.append(live_objects(pair.server))
        assert reading.status == 0, reading.output
        # A client may have the Reply, and call again, before the server hears that the Reply was taken.
        most = 2 * at_a_time
        assert 8 * most <= len(mounts) * rounds * READ_FILE // READ_SIZE
        # The data, and what stands before it.
        pages = READ_SIZE // pair.server.page_size + 1
        assert 0 < max(counts["held_pages"] for counts in seen) <= most * pages
        for kind in ("send_buffers", "pushes", "transfers"):
            assert max(counts[kind] for counts in seen) <= before[kind] + most
        assert live_objects(pair.server)["held_pages"] == 0


@pytest.mark.versions("4.2")
def test_clients_that_stop_half_way_hold_nobody_up(pair: Pair, version: str) -> None:
    """Accepted, they never say that they are ready: others mount, and when they go nothing is left."""
    idle = rdma_resources(pair.server)
    pair.client.run("modprobe -a rdma_ucm ib_uverbs")
    stopped = pair.client.spawn(guest_python("half-open.py", pair.SERVER_ADDRESS, PORT, HALF_OPEN))
    stopped.expect(f"{HALF_OPEN} half open", timeout=120)
    held = rdma_resources(pair.server)["qp"] - idle["qp"]
    assert held == HALF_OPEN, "they are not there to hold anybody up"
    with mounted(pair, version):
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bs=64k", "--direct=1", "--size=4m")
        pair.client.run("rm /mnt/*")
    stopped.kill()
    stopped.wait(60)
    wait_for_resources(pair.server, idle, timeout=UNREACHABLE_SECONDS)


@pytest.mark.clients("6.12", "7.3")
@pytest.mark.versions("4.2")
def test_no_more_than_64_wait_to_be_accepted(pair: Pair, version: str) -> None:
    """Where every thread of nfsd is busy, others have to ask again, and are let in when there is room."""
    idle = rdma_resources(pair.server)
    pair.client.run("modprobe -a rdma_ucm ib_uverbs")
    with (traced(pair.server, events="rpcordma/rpcordma_connect_failed"),
          mounted(pair, version, export="ext4", options="nconnect=2")):
        pair.client.run("touch /mnt/file && sync /mnt/file")
        with busy_threads(pair):
            waiting = pair.client.spawn(guest_python("half-open.py", pair.SERVER_ADDRESS, PORT, MOST_WAITING + 6))
            eventually(pair.server, f"test $(grep -c 'too many wait to be accepted' {TRACE}) -ge 6", 60)
            assert len(set(re.findall(r"peer=(\S+)", pair.server.read(TRACE)))) == 6
            assert "half open" not in waiting.output
        waiting.expect(f"{MOST_WAITING} half open", timeout=120)
        pair.client.run("rm /mnt/file")
    waiting.kill()
    waiting.wait(60)
    wait_for_resources(pair.server, idle, timeout=UNREACHABLE_SECONDS)


@pytest.mark.versions("3")
def test_a_connection_ends_once_where_two_begin_its_end(pair: Pair, version: str) -> None:
    """A thread of nfsd closes a connection while the event of its loss is being dealt with: that one must find it."""
    with slow_function(pair.server, "rpcordma_svc_xprt_get"):
        for number in range(10):
            with mounted(pair, version):
                pair.client.run(f"echo {number} >/mnt/file && sync /mnt/file")
                assert pair.server.read("/srv/nfs/tmpfs/file") == f"{number}\n"
    eventually(pair.server, f"grep -qx 'connections 0' {LIVE_OBJECTS}", 30)


@pytest.mark.versions("4.2")
def test_clients_that_vanish_leave_nothing(pair: Pair, version: str, full: bool) -> None:
    """Each connects, calls once, and exits: what is held for those of which nothing is heard any more is bounded."""
    with sysctl(pair.server, svc_rdma__max_connects=0):
        leave_nothing(pair, version, 3000 if full else 300, 3000 if full else 150)


def leave_nothing(pair: Pair, version: str, vanished: int, lost: int) -> None:
    """So many connections are abandoned, and so many of whose end nobody says anything."""
    program = guest_program(pair.client.kernel, "abandon", *VERBS)
    idle = rdma_resources(pair.server)
    free = free_memory(pair.server)
    pair.client.run("modprobe -a rdma_ucm ib_uverbs")
    assert most_queue_pairs(pair, program, vanished) - idle["qp"] < MOST_UNKNOWN + MOST_ON_THEIR_WAY
    wait_for_resources(pair.server, idle, timeout=60)
    assert free - free_memory(pair.server) < 64 << 10
    with lost_disconnects(pair.server), traced(pair.server, events="rpcordma/rpcordma_disconnected"):
        held = most_queue_pairs(pair, program, lost) - idle["qp"]
        assert HALF_OPEN < held < most_connections(pair.server) + MOST_ON_THEIR_WAY
        ended_by = re.findall(r"^ *(.+)-\d+ +\[.*rpcordma_disconnected:", pair.server.read(TRACE), re.MULTILINE)
        assert ended_by and "nfsd" not in ended_by, "a thread of nfsd waits for a peer's end"
        with mounted(pair, version):
            fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bs=64k", "--direct=1", "--size=1m")
            pair.client.run("rm /mnt/*")
    pair.server.script("network", "remove")
    pair.server.script("network", "add")
    wait_for_resources(pair.server, idle, timeout=60)


def most_queue_pairs(pair: Pair, program: Path, count: int) -> int:
    """How many queue pairs the server had at most while so many connections were made and abandoned."""
    abandoning = pair.client.spawn(f"{program} {pair.SERVER_ADDRESS} {PORT} {count} {ABANDONED_AT_A_TIME} "
                                   f"{count // ABANDONED_PER_SECOND}")
    most = 0
    while abandoning.status is None:
        most = max(most, rdma_resources(pair.server)["qp"])
    made = re.search(r"(\d+) abandoned", abandoning.output)
    assert made and int(made.group(1)) > count * 3 // 4, abandoning.output
    return most


def most_connections(guest: Guest) -> int:
    """How many there may be before sunrpc closes one for the next: 6.1 takes the oldest of all, whoever has it."""
    return MOST_UNKNOWN if guest.kernel.numbers != "6.1" else 20 * (int(guest.read("/proc/fs/nfsd/threads")) + 3)


def free_memory(guest: Guest) -> int:
    """In KiB."""
    return int(guest.output("awk '/^MemAvailable/ { print $2 }' /proc/meminfo"))


@contextmanager
def lost_disconnects(guest: Guest) -> Iterator[None]:
    """No request to disconnect (DREQ) reaches a guest: its attribute's number is at byte 16 of the MAD."""
    guest.run("tc qdisc add dev eth0 clsact && tc filter add dev eth0 ingress protocol ip u32 "
              "match u16 0x0015 0xffff at 64 action drop")
    yield
    guest.run("tc qdisc del dev eth0 clsact")


@contextmanager
def busy_threads(pair: Pair) -> Iterator[None]:
    """Each thread of nfsd writes to a file system that stands still.

    The mount has two connections: the threads that one may have are not all. NFS 4 on Linux 6.1 has no second one.
    """
    threads = int(pair.server.read("/proc/fs/nfsd/threads"))
    pair.server.run(f"fsfreeze --freeze {EXPORT}")
    writers = pair.client.spawn(f"for offset in $(seq {threads}); do dd if=/dev/zero of=/mnt/file bs=4k count=1 "
                                "seek=$offset oflag=direct conv=notrunc & done; wait")
    eventually(pair.server, f"test $(ps -C nfsd -o state= | grep -c D) -eq {threads}", 60)
    yield
    pair.server.run(f"fsfreeze --unfreeze {EXPORT}")
    assert writers.wait(60).status == 0


def test_a_client_that_is_killed_costs_nobody_else_anything(pair: Pair, version: str) -> None:
    """Power fails in the client that writes: its connection goes, another client's does not."""
    idle = rdma_resources(pair.server)
    # The other client is the server itself: its module carries both ends.
    pair.server.script("nfs-client")
    other = mount(pair.server, Server(pair.SERVER_ADDRESS), version, export="xfs", path="/other")
    with verified_io(pair.server, "/other", jobs=1) as processes:
        without = connections(pair.server)
        pair.mount(version, export="ext4")
        pair.client.spawn("fio --name=killed --directory=/mnt --rw=write --bs=1m --direct=1 "
                          "--ioengine=libaio --iodepth=16 --fallocate=none --size=512m")
        eventually(pair.server, "test $(stat -c %s /srv/nfs/ext4/killed*) -gt 20000000", 60)
        wait_for_round(processes)
        pair.client.kill()
        eventually(pair.server, "test $(rdma resource show qp | grep -c 'type RC') -eq "
                                f"{without}", UNREACHABLE_SECONDS)
        wait_for_round(processes)
    other.unmount()
    wait_for_resources(pair.server, idle, timeout=60)

    pair.restart_client()
    with mounted(pair, version, export="ext4"):
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bs=64k", "--direct=1", "--size=4m")
        pair.client.run("rm /mnt/*")
    wait_for_resources(pair.server, idle, timeout=60)


def test_an_idle_client_that_is_killed_is_noticed(pair: Pair, version: str) -> None:
    """The server finds that it is gone, and keeps nothing for it. sunrpc would, for up to twelve minutes."""
    idle = rdma_resources(pair.server)
    pair.mount(version)
    assert connections(pair.server) == 1
    pair.client.kill()
    wait_for_resources(pair.server, idle, timeout=NOTICED_SECONDS)
    pair.restart_client()
    with mounted(pair, version):
        pair.client.run("ls /mnt")
    wait_for_resources(pair.server, idle, timeout=60)


def test_a_device_that_is_removed_and_added_again_is_listened_on_again(
        pair: Pair, version: str) -> None:
    """Removal releases everything at once; when the device is back, clients find the listener."""
    listening = pair.server.read("/proc/fs/nfsd/portlist")
    idle = rdma_resources(pair.server)
    with mounted(pair, version, export="ext4"):
        with verified_io(pair.client) as processes:
            for _ in range(2):
                pair.server.script("network", "remove")
                assert pair.server.output("rdma link") == ""
                assert pair.server.read("/proc/fs/nfsd/portlist") == listening
                pair.server.script("network", "add")
                wait_for_round(processes)
    wait_for_resources(pair.server, idle, timeout=60)


@pytest.mark.clients("6.12", "7.3")
@pytest.mark.versions("4.2")
def test_a_device_is_removed_while_every_thread_is_busy(pair: Pair, version: str) -> None:
    """Threads of nfsd that wait for storage hold nothing of the device's."""
    idle = rdma_resources(pair.server)
    with mounted(pair, version, export="ext4", options="nconnect=2"):
        pair.client.run("touch /mnt/file && sync /mnt/file")
        with busy_threads(pair):
            pair.server.run(script("network", "remove"), timeout=REMOVAL_SECONDS)
            pair.server.script("network", "add")
        pair.client.run("rm /mnt/file")
    wait_for_resources(pair.server, idle, timeout=60)


@pytest.mark.about("both together")
def test_an_address_that_goes_and_comes_back_is_listened_on_again(
        pair: Pair, version: str) -> None:
    """While it is away connections break; the listener stays, and is found again."""
    idle = rdma_resources(pair.server)
    address = f"{pair.SERVER_ADDRESS}/24"
    with mounted(pair, version, export="ext4") as there:
        before = there.stats().total("connect_count")
        with verified_io(pair.client) as processes:
            pair.server.script("network", "address", "del", address)
            eventually(pair.client, "test -z \"$(rdma resource show qp | grep 'RC state RTS')\"",
                       UNREACHABLE_SECONDS)
            pair.server.script("network", "address", "add", address)
            revive_device(pair.server)
            wait_for_round(processes)
        assert there.stats().total("connect_count") > before
    wait_for_resources(pair.server, idle, timeout=60)


def test_nfsd_is_stopped_and_the_module_unloaded_under_load(
        pair: Pair, version: str, full: bool) -> None:
    """Both end soon and leave nothing; when they are back, the client goes on."""
    with mounted(pair, version, export="ext4"):
        with verified_io(pair.client) as processes:
            for _ in range(10 if full else 2):
                pair.unload_server_transport()
                assert not rdma_resources(pair.server)
                pair.load_server_transport()
                wait_for_round(processes)
