# SPDX-License-Identifier: GPL-2.0-only
"""What goes wrong on real machines, while files are read and written and compared."""

import errno
import re
import time
from collections import Counter

import pytest
from expectations import MEBIBYTE, TRANSPORTS, eventually, live_objects, mounted, wait_for_resources
from workloads import (TRACE, TRACING, connection_faults, fio, guest_python, nothing_arrives_from, traced, verified_io,
                       wait_for_round)

from lab import Pair
from lab.errors import CommandFailed
from lab.fault_injection import failing_function

pytestmark = pytest.mark.about("client")

CGROUP = "/sys/fs/cgroup/tight"
PATHS_TO_LOSE = "/sys/module/connection_faults/parameters/paths_to_lose"
# In what follows a mount, whose RPCs come one after the other, the first allocations are those of slots and buffers.
WITHOUT_MEMORY = 20
# Commands to a device that stop a queue pair: more than ending a connection gives when each of them works.
NO_STOP = 6


def test_forced_disconnects_lose_nothing(pair: Pair, version: str, full: bool) -> None:
    """500 times the connection breaks with RPCs in flight: each is sent again, none is lost."""
    count = 500 if full else 50
    with mounted(pair, version, export="ext4") as mount:
        before = mount.stats()
        with verified_io(pair.client):
            pair.client.run(guest_python("disconnect.py", count), timeout=60 * count)
        after = mount.stats()
        reconnected = after.total("connect_count") - before.total("connect_count")
        # A machine that is very busy makes soft-RoCE give up a connection of itself now and then. Two for each would
        # be twice as many.
        assert count <= reconnected <= count + count // 2
        assert after.retransmissions() > before.retransmissions()
        assert after.total("bad_replies") == before.total("bad_replies")


def test_a_server_that_is_killed_and_comes_back_is_found_again(pair: Pair, version: str) -> None:
    """The client waits while the server is away, and goes on when it is back."""
    with mounted(pair, version, export="ext4") as mount:
        before = mount.stats()
        with verified_io(pair.client) as processes:
            pair.server.kill()
            pair.restart_server()
            wait_for_round(processes)
        assert mount.stats().total("connect_count") > before.total("connect_count")


@pytest.mark.versions("3")
def test_a_server_that_does_not_listen_yet_is_asked_every_five_seconds(pair: Pair, version: str) -> None:
    """The delay does not grow: the client is back before the grace period of a server that is started is over."""
    with mounted(pair, version), traced(pair.client, events="rpcordma/rpcordma_connect_attempt"):
        pair.server.script("nfs-server", "stop")
        waiting = pair.client.spawn("touch /mnt/file")
        eventually(pair.client, f"test $(grep -c 'delay_ms=[1-9]' {TRACE}) -ge 3", 120)
        pair.server.script("nfs-server", "serve")
        assert waiting.wait(60).status == 0, waiting.output
        assert max(map(int, re.findall(r"delay_ms=(\d+)", pair.client.read(TRACE)))) <= 5000
        pair.client.run("rm /mnt/file")


@pytest.mark.versions("3")
@pytest.mark.parametrize(("times", "every"), [
    pytest.param(NO_STOP, 1, id="for-a-while"),
    # Other commands work meanwhile, before and behind.
    pytest.param(2, 2, id="now-and-then"),
])
def test_a_connection_ends_where_its_device_lacks_memory_to_stop_it(pair: Pair, version: str, times: int,
                                                                    every: int) -> None:
    """Nothing is taken back before the device has stopped, when there is memory again. Then the server is told."""
    with mounted(pair, version):
        pair.client.run("head -c 1M /dev/urandom >/mnt/file && sync /mnt/file")
        with failing_function(pair.client, "rxe_modify_qp", -errno.ENOMEM, times, every) as failed:
            pair.client.run(f"echo {pair.SERVER_ADDRESS} | tee {TRANSPORTS}/dstaddr")
            pair.client.run("echo 3 >/proc/sys/vm/drop_caches && cat /mnt/file >/dev/null && rm /mnt/file")
            assert failed() == times
        eventually(pair.server, "test $(rdma resource show qp | grep -c 'type RC') -eq 1", 60)


def lose_connection(pair: Pair) -> None:
    """The client gives it up, and makes no other."""
    pair.client.run(f"echo {pair.SERVER_ADDRESS} | tee {TRANSPORTS}/dstaddr")
    eventually(pair.client, "! rdma resource show qp | grep -q 'type RC'", 30)


@pytest.mark.about("client", "server")
@pytest.mark.versions("3")
@pytest.mark.parametrize("meanwhile", [
    pytest.param("true", id="lost"),
    # The connection manager reports this to every identifier, as "unreachable".
    pytest.param("ip neigh flush dev eth0; ! timeout 10 bash -c '>/dev/tcp/{server}/9'", id="without-neighbour"),
])
def test_a_server_is_told_of_an_end_whose_message_was_lost(pair: Pair, version: str, meanwhile: str) -> None:
    """Otherwise it notices only when it sends something."""
    with mounted(pair, version), traced(pair.server, events="rpcordma/rpcordma_disconnect"), traced(pair.client):
        with nothing_arrives_from(pair.client):
            lose_connection(pair)
            pair.client.run(meanwhile.format(server=pair.SERVER_ADDRESS))
        eventually(pair.server, f"grep -q reason= {TRACE}", 60)
        assert re.findall(r"reason='(.*)' detail='(.*)'", pair.server.read(TRACE)) == [
            ("connection event", "disconnected")]
        wait_for_resources(pair.client, Counter(), 60)


@pytest.mark.versions("3")
def test_a_module_that_goes_waits_for_no_server(pair: Pair, version: str) -> None:
    """A server that has not answered the end of a connection is not told any more."""
    mount = pair.mount(version)
    with nothing_arrives_from(pair.client):
        lose_connection(pair)
        wait_for_resources(pair.client, Counter(cm_id=1), 30)
        # Without the message to the server by which others unmount.
        pair.client.run(f"umount -i {mount.path}")
        before = time.monotonic()
        pair.unload_client_transport()
        # The connection manager itself would give up after 74 s.
        assert time.monotonic() - before < 40
    pair.load_client_transport()


@pytest.mark.versions("3")
def test_a_device_that_goes_waits_for_no_server(pair: Pair, version: str) -> None:
    """A server that has not answered the end of a connection is not told. The mount goes on with a new device."""
    with mounted(pair, version):
        with nothing_arrives_from(pair.client):
            lose_connection(pair)
            wait_for_resources(pair.client, Counter(cm_id=1), 30)
            before = time.monotonic()
            pair.client.script("network", "remove")
            assert time.monotonic() - before < 40
        pair.client.script("network", "add")
        pair.client.run("echo after >/mnt/file && sync /mnt/file && rm /mnt/file", timeout=120)


@pytest.mark.versions("3")
def test_slots_without_memory_are_asked_for_again(pair: Pair, version: str) -> None:
    """An RPC waits for a moment; who mounts is told."""
    with mounted(pair, version), failing_function(pair.client, "rpcordma_alloc", 0, WITHOUT_MEMORY) as failed:
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bs=4k", "--direct=1", "--size=2m", "--iodepth=32")
        pair.client.run("rm /mnt/job*")
        assert failed() == WITHOUT_MEMORY
        # Those that could not be made do not count.
        shown = pair.client.output(f"sed -n s/^num_reqs=//p {TRANSPORTS}/xprt_info")
        assert int(shown) == live_objects(pair.client)["requests"] > 1
    with failing_function(pair.client, "rpcordma_alloc", 0) as failed:
        with pytest.raises(CommandFailed, match="Cannot allocate memory"):
            pair.mount(version)
        assert failed() == 1


@pytest.mark.versions("4.2")
@pytest.mark.parametrize("remote,port,reason,error", [
    pytest.param("{server}", 20050, "refused", "Connection refused", id="port"),
    pytest.param("{beside}", 20049, "host unreachable", "No route to host", id="address"),
    pytest.param("192.0.2.1", 20049, "network unreachable", "Network is unreachable", id="route"),
])
def test_why_a_connection_cannot_be_made_is_said(pair: Pair, version: str, remote: str, port: int, reason: str,
                                                 error: str) -> None:
    """In the trace as a reason, and as an error to who mounts.

    Nothing listens on the port, nobody has the address, or no route leads there.
    """
    address = remote.format(server=pair.SERVER_ADDRESS, beside=re.sub(r"\d+$", "77", pair.SERVER_ADDRESS))
    options = f"vers={version},proto=rdma,port={port},retry=0"
    with traced(pair.client, events="rpcordma/rpcordma_connect_failed"):
        failed = pair.client.run(f"mount -t nfs -o {options} {address}:/tmpfs /mnt 2>&1", timeout=120, check=False)
    assert failed.status != 0 and error in failed.stdout, failed.stdout
    assert set(re.findall(r"reason='(.*)'", pair.client.read(TRACE))) == {reason}


@pytest.mark.versions("3", "4.2")
def test_a_fabric_without_paths_for_a_while_ends_no_task(pair: Pair, version: str) -> None:
    """It is no lack of a route: for that, newer kernels end what waits in a container."""
    options = "fatal_neterrors=ENETDOWN:ENETUNREACH" if pair.client.kernel.numbers == "7.3" else ""
    with (connection_faults(pair.client), mounted(pair, version, options=options),
          traced(pair.client, events="rpcordma/rpcordma_connect_failed")):
        pair.client.run("echo before >/mnt/file && sync /mnt/file")
        pair.client.run(f"echo 2 >{PATHS_TO_LOSE}")
        pair.client.run(guest_python("disconnect.py", 1), timeout=60)
        pair.client.run("echo after >>/mnt/file && sync /mnt/file && rm /mnt/file", timeout=120)
        assert pair.client.read(PATHS_TO_LOSE) == "0\n"
        assert re.findall(r"reason='(.*)'", pair.client.read(TRACE)) == ["host unreachable"] * 2


def test_a_device_that_is_removed_and_added_again_is_used_again(pair: Pair, version: str) -> None:
    """Removal releases everything at once, and I/O goes on when the device returns."""
    with mounted(pair, version, export="ext4") as mount:
        before = mount.stats()
        with verified_io(pair.client) as processes:
            pair.client.script("network", "remove")
            assert pair.client.output("rdma link") == ""
            pair.client.script("network", "add")
            wait_for_round(processes)
        assert mount.stats().total("connect_count") > before.total("connect_count")


@pytest.mark.about("client", "server")
def test_many_mounts_and_unmounts(pair: Pair, version: str, full: bool) -> None:
    """100 times: mount, write, read, unmount."""
    count = 100 if full else 10
    for number in range(count):
        with mounted(pair, version):
            pair.client.run(f"echo {number} >/mnt/file && sync /mnt/file")
            assert pair.server.output("cat /srv/nfs/tmpfs/file") == f"{number}\n"
            pair.client.run("rm /mnt/file")


@pytest.fixture(name="tight_memory")
def fixture_tight_memory(pair: Pair) -> str:
    """The words before a command that let it have 48 MiB of memory, caches and all."""
    # NFS has no write-back of its own for a control group: without the global limits on dirty
    # pages, the kernel would find nothing clean in the group and kill, on any transport.
    pair.client.run("echo +memory >/sys/fs/cgroup/cgroup.subtree_control && "
                    f"mkdir -p {CGROUP} && echo 48M >{CGROUP}/memory.max && "
                    "echo 4194304 >/proc/sys/vm/dirty_background_bytes && "
                    "echo 16777216 >/proc/sys/vm/dirty_bytes")
    return f"echo $$ >{CGROUP}/cgroup.procs && exec"


def memory_events(pair: Pair) -> dict[str, int]:
    """How often the limit was hit, and how often something was killed for it."""
    words = pair.client.read(f"{CGROUP}/memory.events").split()
    return dict(zip(words[::2], map(int, words[1::2])))


def test_buffered_writes_in_tight_memory_go_on(pair: Pair, version: str, full: bool,
                                               tight_memory: str) -> None:
    """Dirty pages are written out when nothing else can make room, and come back right."""
    size = (640 if full else 64) * MEBIBYTE
    with mounted(pair, version, export="ext4") as mount:
        before = memory_events(pair)
        pair.client.run(
            f"cd /tmp; {tight_memory} fio --name=tight --filename=/mnt/tight --size={size} "
            "--bs=64k --rw=randwrite --ioengine=psync --verify=crc32c --do_verify=0 "
            "--end_fsync=1 --verify_state_save=0", timeout=1800)
        after = memory_events(pair)
        assert after["max"] > before["max"], "memory was not tight"
        assert after["oom_kill"] == before["oom_kill"]
        mount.renew()
        fio(pair.client, "--filename=/mnt/tight", f"--size={size}", "--bs=64k", "--rw=read",
            timeout=1800)
        pair.client.run("rm /mnt/tight")


def test_swap_to_a_file_on_the_mount(pair: Pair, version: str, full: bool,
                                     tight_memory: str) -> None:
    """Memory that went out over the transport comes back as it was, though the connection breaks meanwhile.

    A new connection takes memory from the system's reserves: what else there is may have to be swapped out first.
    """
    size = 512 if full else 56
    pair.client.run(f"echo 'p:lab/scope rpcordma_reclaim_scope_enter reserves=$arg1:u8' >{TRACING}/kprobe_events")
    with mounted(pair, version, export="ext4"), traced(pair.client, events="lab/scope"):
        pair.client.run(f"dd if=/dev/zero of=/mnt/swap bs=1M count={size + 32} oflag=direct && "
                        "chmod 600 /mnt/swap && mkswap /mnt/swap && swapon /mnt/swap", timeout=600)
        before = memory_events(pair)
        pair.client.run(f"echo >{TRACE}")
        swapping = pair.client.spawn(f"{tight_memory} {guest_python('memory.py', size)}")
        pair.client.run(guest_python("disconnect.py", 5), timeout=300)
        scopes = scopes_of_connecting(pair)
        assert len(scopes) >= 5 and set(scopes) == {"1"}
        swapped = swapping.wait(1800)
        assert swapped.status == 0, swapped.stdout
        assert int(swapped.stdout) > (size - 48) * 1024
        assert memory_events(pair)["oom_kill"] == before["oom_kill"]
        pair.client.run("swapoff /mnt/swap && rm /mnt/swap", timeout=600)
    pair.client.run(f"echo >{TRACING}/kprobe_events")


def scopes_of_connecting(pair: Pair) -> list[str]:
    """Whether each attempt to connect, and each growth of a pool, took from the reserves."""
    return re.findall(r"reserves=(\d)", pair.client.read(TRACE))
