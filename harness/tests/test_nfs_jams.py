# SPDX-License-Identifier: GPL-2.0-only
"""Requesters that do not take what they have asked for, beside a mount that does."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from expectations import eventually, mounted
from workloads import TRACE, Times, guest_python, jams, small_device, sysctl, traced

from lab import Pair
from lab.nfs import Server, mount, script
from lab.run import SIDE_BY_SIDE

pytestmark = pytest.mark.about("server")

FILES = 60
# More than the longest that there is anyway: on a busy host some take longer.
MILLISECONDS_OF_A_STRAGGLER = 1000
# Beside other machines, how fast somebody was served is not judged, and so measured once.
MEASUREMENTS = 1 if SIDE_BY_SIDE else 3
JAMMED = (("replies", 4), ("replies", 16), ("one-reply", 16))
# Of nfsd, with everything that it has to wait for.
SECONDS_TO_STOP = 10

# RDMA Writes that Replies were made with; those of each that is for harness/guest/jam.c.
WRITES = "/proc/sys/sunrpc/svc_rdma/rdma_stat_write"
SEGMENTS = 100
# Of the device, for one requester that asks for NULL's Reply and 15 of READs. Each is a Send, and a READ's also an RDMA
# Write for each segment. NULL's Reply goes first, unless its thread of nfsd is slower than a READ's.
PACKETS = "/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"
MOST_PACKETS = {"replies": 60 + SEGMENTS, "one-reply": 60 + 2 * SEGMENTS}
NOT_TAKEN = "RNR retry counter exceeded"
JAMS = 4

READS_LOST = "/sys/module/small_device/parameters/reads_lost"
WRITES_LOST = "/sys/module/small_device/parameters/writes_lost"
# More than the server has threads.
LOST_AT_ONCE = 12
# What one client has at once, and then more slowly, and what the trace says of the others.
BURST = 256
SOME = 5
TOO_MANY = "too many of one requester"
VISITORS = 16
# So many can all wait for their turns at one connection a second.
FEW_VISITORS = 3
# Counted too: the other client's, and one that was due when the time began.
OWN_CONNECTIONS = 4
# On connections of its own.
ANOTHER_ADDRESS = "10.9.0.11"
# Without a Reply the client itself asks again after 60.
SECONDS_OF_PATIENCE = 50


@contextmanager
def jammed(pair: Pair, kind: str, connections: int) -> Iterator[None]:
    """So many requesters that take no Reply, or none but the first, again and again: the device gives up Sends to them
    after some seconds. Beside one mount."""
    # What is carried out still for others would count.
    eventually(pair.server, "test $(rdma resource show qp | grep -c ' type RC ') -eq 1", 60)
    pair.server.run(f"echo 0 >{WRITES}")
    with (traced(pair.server, events="rpcordma/rpcordma_send_waits"),
          jams(pair, pair.client, kind, connections)):
        # With "replies" each but the first waits, though there would be room for some: the first has not been taken.
        # Otherwise those for which there is no room wait.
        all_wait = f"-a $(cat {WRITES}) -eq $((waits * {SEGMENTS}))" if kind == "replies" else ""
        eventually(pair.server, f"waits=$(grep -c send_waits {TRACE}); test $waits -gt 0 {all_wait}", 60)
        yield


def times(pair: Pair) -> Times:
    """Measures them."""
    return Times.parse(pair.client.output(guest_python("files.py", "/mnt", FILES), timeout=600))


def times_beside(pair: Pair, kind: str, connections: int) -> Times:
    """The same beside requesters that take no Reply."""
    with jammed(pair, kind, connections):
        return times(pair)


def held_up(beside: Times, usual: Sequence[Times]) -> bool:
    """Whether those are slower than what was usual."""
    return (beside.median >= 2 * max(found.median for found in usual)
            or beside.longest >= max(found.longest for found in usual) + MILLISECONDS_OF_A_STRAGGLER)


def skip_beside_other_machines() -> None:
    """There everybody has to be served, at whatever speed."""
    if SIDE_BY_SIDE:
        pytest.skip("everybody has been served; how fast says nothing beside other machines")


@pytest.mark.versions("4.2")
def test_requesters_that_take_no_reply_hold_nobody_up(pair: Pair, version: str) -> None:
    """No thread of nfsd waits for one of them. A hundred of them have a machine of their own in test_nfs_crowd.py.

    What the host does meanwhile slows down one measurement or another, and is not there each time.
    """
    slow: Sequence[tuple[str, int]] = JAMMED
    with mounted(pair, version, export="ext4"):
        times(pair)
        usual = [times(pair)]
        for _ in range(MEASUREMENTS):
            beside = {jam: times_beside(pair, *jam) for jam in slow}
            usual.append(times(pair))
            slow = [jam for jam in slow if held_up(beside[jam], usual[-2:])]
            print(f"{usual[-2]} before, {usual[-1]} after, beside so many connections: {beside}")
            if not slow:
                break
    skip_beside_other_machines()
    assert not slow


@pytest.mark.parametrize("kind", ["replies", "one-reply"])
@pytest.mark.versions("4.2")
def test_the_device_has_little_to_try_again(pair: Pair, version: str, kind: str) -> None:
    """What is behind a message that a requester does not take is sent again with each try, and so it is little."""
    del version

    def sent() -> int:
        return int(pair.server.read(PACKETS))

    with (traced(pair.server, events="rpcordma/rpcordma_connected"),
          traced(pair.server, events="rpcordma/rpcordma_disconnect")):
        before = sent()
        with jams(pair, pair.client, kind, JAMS):
            eventually(pair.server, f"test $(grep -c '{NOT_TAKEN}' {TRACE}) -ge {2 * JAMS}", 120)
        each = (sent() - before) / pair.server.read(TRACE).count("rpcordma_connected:")
    print(f"{each:.0f} packets for each connection")
    assert each < MOST_PACKETS[kind]


@pytest.mark.versions("4.2")
def test_nfsd_stops_beside_requesters_that_take_no_reply(pair: Pair, version: str) -> None:
    """Their connections are closed like others, whatever they owe."""
    with mounted(pair, version, export="ext4"), jammed(pair, "replies", 16):
        begin = time.monotonic()
        pair.server.run(script("nfs-server", "stop"), timeout=120)
        seconds = time.monotonic() - begin
        pair.server.run(f"{script('nfs-server', 'serve')}; echo Y >/proc/fs/nfsd/v4_end_grace")
    print(f"nfsd stopped in {seconds:.1f} s")
    assert seconds < SECONDS_TO_STOP


@pytest.mark.versions("4.2")
def test_a_client_that_connects_without_end_waits_alone(pair: Pair, version: str) -> None:
    """Beyond a burst it gets as many connections a second as it may; another client is served at once."""
    def count(what: str) -> int:
        return pair.server.read(TRACE).count(what)

    pair.server.script("nfs-client")
    with (sysctl(pair.server, svc_rdma__max_connects=1),
          traced(pair.server, events="rpcordma/rpcordma_connected"),
          traced(pair.server, events="rpcordma/rpcordma_connect_failed"),
          jams(pair, pair.client, "connections", VISITORS)):
        eventually(pair.server, f"grep -q '{TOO_MANY}' {TRACE}", 120)
        assert count("rpcordma_connected:") >= BURST
        before, began = count("rpcordma_connected:"), time.monotonic()
        # The server is a client of its own here, at another address.
        other = mount(pair.server, Server(pair.SERVER_ADDRESS), version, path="/other")
        pair.server.run("echo served >/other/file && sync /other/file && rm /other/file")
        other.unmount()
        eventually(pair.server, f"test $(grep -c rpcordma_connected: {TRACE}) -ge {before + SOME}", 60)
        made = count("rpcordma_connected:") - before
        assert made <= time.monotonic() - began + OWN_CONNECTIONS
        with sysctl(pair.server, svc_rdma__max_connects=0):
            before = count("rpcordma_connected:")
            eventually(pair.server, f"test $(grep -c rpcordma_connected: {TRACE}) -ge {before + BURST}", 120)
        assert not re.search(rf"peer={re.escape(pair.SERVER_ADDRESS)}:\d+ reason='{TOO_MANY}", pair.server.read(TRACE))


@pytest.mark.versions("4.2")
def test_who_connects_too_often_waits_for_its_turn(pair: Pair, version: str) -> None:
    """The listener has requests wait, whatever carries them: over iWARP no connection manager asks again. Stopping nfsd
    ends those that wait."""
    del version

    def made() -> int:
        return pair.server.read(TRACE).count("rpcordma_connected:")

    count = f"$(grep -c rpcordma_connected: {TRACE})"
    with (sysctl(pair.server, svc_rdma__max_connects=1),
          traced(pair.server, events="rpcordma/rpcordma_connected"),
          traced(pair.server, events="rpcordma/rpcordma_connect_failed")):
        with jams(pair, pair.client, "connections", FEW_VISITORS):
            # What they may have at once is used up when they become slow; another test may have used some of it.
            eventually(pair.server, f"before={count}; sleep 2; test $(({count} - before)) -le 3", 300)
            began, before = time.monotonic(), made()
            eventually(pair.server, f"test {count} -ge {before + SOME}", 60)
            counted, seconds = made() - before, time.monotonic() - began
            pair.server.run(f"{script('nfs-server', 'stop')} && {script('nfs-server', 'serve')}; "
                            "echo Y >/proc/fs/nfsd/v4_end_grace; true", timeout=120)
        trace = pair.server.read(TRACE)
    print(f"{counted} connections in {seconds:.1f} s")
    assert counted <= seconds + 1
    assert TOO_MANY not in trace


@contextmanager
def one_is_lost(pair: Pair, lost: str) -> Iterator[None]:
    """The server's device loses one in this block, in which the client moves 1 MiB between /tmp/lost and /mnt/lost: the
    server gives up the connection, and the client asks again."""
    with traced(pair.server, events="rpcordma/rpcordma_disconnect"):
        pair.server.run(f"echo 1 >{lost}")
        begin = time.monotonic()
        yield
        seconds = time.monotonic() - begin
        assert pair.server.read(lost) == "0\n"
        assert "nothing completes" in pair.server.read(TRACE)
    print(f"moving it took {seconds:.1f} s")
    assert seconds < SECONDS_OF_PATIENCE
    assert pair.client.output("cksum </tmp/lost") == pair.server.output("cksum </srv/nfs/tmpfs/lost")
    pair.client.run("rm /mnt/lost /tmp/lost")


@pytest.mark.versions("4.2")
def test_rdma_reads_that_never_complete_cost_their_connection(pair: Pair, version: str) -> None:
    """Those of one WRITE, which comes again."""
    with small_device(pair.server), mounted(pair, version):
        pair.client.run("head -c 1M /dev/urandom >/tmp/lost && touch /mnt/lost")
        with one_is_lost(pair, READS_LOST):
            pair.client.run("dd if=/tmp/lost of=/mnt/lost bs=1M oflag=direct", timeout=120)


@pytest.mark.versions("4.2")
def test_a_reply_that_is_never_taken_costs_its_connection(pair: Pair, version: str) -> None:
    """That of one READ, with its RDMA Writes. Nothing waits behind it."""
    with small_device(pair.server), mounted(pair, version):
        pair.server.run("head -c 1M /dev/urandom >/srv/nfs/tmpfs/lost")
        pair.client.run("ls /mnt/lost")
        with one_is_lost(pair, WRITES_LOST):
            pair.client.run("dd if=/mnt/lost of=/tmp/lost bs=1M iflag=direct", timeout=120)


def times_beside_lost_reads(pair: Pair) -> Times:
    """Of the mount's files, while the Reads for the other mount's WRITEs are lost. These are carried out in the end."""
    # All at once: nothing is answered any more on a connection that has lost one.
    write = ("fio --name=lost --filename=/mnt-other/lost --rw=write --direct=1 --ioengine=libaio --fallocate=none "
             f"--bs=256k --size={LOST_AT_ONCE * 256}k --iodepth={LOST_AT_ONCE} --iodepth_batch={LOST_AT_ONCE}")
    # A connection that has carried nothing has no room for so many.
    pair.client.run(write)
    pair.server.run(f"echo {LOST_AT_ONCE} >{READS_LOST}")
    writers = pair.client.spawn(write)
    eventually(pair.server, f"test $(cat {READS_LOST}) -eq 0", 60)
    beside = times(pair)
    assert writers.wait(SECONDS_OF_PATIENCE).status == 0
    return beside


@pytest.mark.versions("3")
def test_rdma_reads_that_never_complete_hold_nobody_up(pair: Pair, version: str) -> None:
    """The device loses more Reads of one mount's than nfsd has threads: another mount does not notice."""
    assert int(pair.server.read("/proc/fs/nfsd/threads")) < LOST_AT_ONCE
    pair.server.script("network", "address", "add", f"{ANOTHER_ADDRESS}/24")
    with small_device(pair.server), mounted(pair, version, export="ext4"):
        other = pair.mount(version, server=ANOTHER_ADDRESS, path="/mnt-other", export="tmpfs")
        usual = [times(pair)]
        for _ in range(MEASUREMENTS):
            beside = times_beside_lost_reads(pair)
            usual.append(times(pair))
            print(f"{usual[-2]} before, {usual[-1]} after, {beside} beside them")
            slow = held_up(beside, usual[-2:])
            if not slow:
                break
        pair.client.run("rm /mnt-other/lost")
        other.unmount()
    pair.server.script("network", "address", "del", f"{ANOTHER_ADDRESS}/24")
    skip_beside_other_machines()
    assert not slow
