# SPDX-License-Identifier: GPL-2.0-only
"""The server's storage stands still for longer than a client waits for a Reply, and goes on."""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import pytest
from conftest import Cell
from expectations import MEBIBYTE, eventually, mounted
from workloads import TRACE, guest_python, small_device, sysctl, traced, usual_lease

from lab import Guest, Pair, Process
from lab.nfs import OURS
from lab.run import SIDE_BY_SIDE

# After the storage is well again, each reader has to have read something within so many seconds; beside other machines,
# which take their processor, within more.
SECONDS_TO_GO_ON = 60 if SIDE_BY_SIDE else 10
FILE_MEBIBYTES = 32
HUNG_TASK_SECONDS = "/proc/sys/kernel/hung_task_timeout_secs"
# With FULL=1 and both ends ours, each with each.
READERS = (16, 64)
STALL_SECONDS = (30, 100, 240, 600)
# More than the tasks that sunrpc's workqueue runs at a time.
READERS_WITHOUT_REPLY = 300
TASKS_AT_A_TIME = 256
# With this inline threshold a READ of 4 KiB takes a registration.
READS_TAKE_MEMORY = 1024
# Of the client's device, when the connection is closed. Another mount's READ may take half of it.
SECONDS_TO_STOP = 40 if SIDE_BY_SIDE else 20
DEVICE = "/sys/module/small_device/parameters"
THREADS = "/proc/fs/nfsd/threads"
# Both ends look every ten seconds, and what they look for has to be there twice. A client asks again after 60.
SECONDS_TO_NOTICE = 45
NOT_BACK = "no invalidation in time"
SECONDS_BETWEEN_LOOKS = 10
# Hundreds of readers take minutes to begin beside other machines.
SECONDS_TO_BEGIN = 600
# Of a READ that takes several registrations the client itself invalidates most: the server invalidates one at most.
PAGES_AT_A_TIME = 16
REGISTRATIONS = 4
NAMES = 500


@contextmanager
def export_on_a_disk_that_can_stop(pair: Pair) -> Iterator[None]:
    """An export named "stop" on a disk of its own; what nfsd itself has to write is elsewhere.

    The server's kernel does not complain of who waits for that disk. The file is written, and so cached, page by page:
    of large blocks Linux 7.3 caches 2 MiB apiece, and cannot drop a piece that some READ uses.
    """
    server = pair.server
    patience = server.read(HUNG_TASK_SECONDS).strip()
    server.run(f"echo 0 >{HUNG_TASK_SECONDS}")
    server.run("modprobe -a loop dm_mod && truncate -s 64M /tmp/stop && losetup /dev/loop7 /tmp/stop && "
               "export DM_DISABLE_UDEV=1 && dmsetup create stop --table '0 131072 linear /dev/loop7 0' && "
               "mkfs.ext4 -q /dev/mapper/stop && mkdir /srv/nfs/stop && mount /dev/mapper/stop /srv/nfs/stop && "
               f"dd if=/dev/urandom of=/srv/nfs/stop/file bs=4K count={FILE_MEBIBYTES * 256} conv=fsync "
               "status=none && "
               "exportfs -o ro,insecure,no_subtree_check,sec=sys,fsid=7 '*:/srv/nfs/stop'", timeout=120)
    yield
    server.run("exportfs -u '*:/srv/nfs/stop' && umount /srv/nfs/stop && DM_DISABLE_UDEV=1 dmsetup remove stop && "
               f"losetup -d /dev/loop7 && rm -r /tmp/stop /srv/nfs/stop && echo {patience} >{HUNG_TASK_SECONDS}",
               timeout=120)


@contextmanager
def stopped_disk(server: Guest, reading: Process | None = None) -> Iterator[None]:
    """READs need the disk, and wait for it. What is in use cannot be dropped from the cache; that has to be little.

    Who is reading is told, so that what it says of waiting is about the disk.
    """
    server.run("DM_DISABLE_UDEV=1 dmsetup suspend --nolockfs --noflush stop && echo 1 >/proc/sys/vm/drop_caches")
    try:
        cached = int(server.output(guest_python("cached.py", "/srv/nfs/stop/file")))
        assert cached < FILE_MEBIBYTES * MEBIBYTE / 2, f"READs get {cached} bytes of the file without the disk"
        if reading:
            reading.kill(signal.SIGUSR1)
        yield
    finally:
        server.run("DM_DISABLE_UDEV=1 dmsetup resume stop")


def begin_reading(client: Guest, readers: int) -> Process:
    """So many readers, each of which has read something."""
    reading = client.spawn("exec " + guest_python("readers.py", "/mnt/file", readers))
    reading.expect("all read", timeout=SECONDS_TO_BEGIN)
    return reading


def assert_readers_go_on(pair: Pair, version: str, readers: int, stall: int, options: str = "") -> None:
    """The disk stops for so many seconds under so many readers."""
    server = pair.server
    with mounted(pair, version, export="stop", options=options):
        reading = begin_reading(pair.client, readers)
        with stopped_disk(server, reading):
            reading.expect("all wait", timeout=60)
            time.sleep(stall)
            assert "all go on" not in reading.output, "the disk did not stop"
        resumed = time.monotonic()
        reading.expect("all go on", timeout=SECONDS_TO_GO_ON)
        print(f"{readers} readers went on {time.monotonic() - resumed:.1f} s after a stall of {stall} s")
        reading.kill()
        reading.wait(60)


@pytest.mark.about("client", "server")
@pytest.mark.versions("4.2")
def test_readers_go_on_after_a_stall_of_the_storage(pair: Pair, cell: Cell, version: str, full: bool) -> None:
    """No Call costs its connection before it has been out there for its whole time."""
    with export_on_a_disk_that_can_stop(pair):
        assert_readers_go_on(pair, version, 16, 20, "timeo=30,retrans=1")
        if not full or (cell.client_transport, cell.server_transport) != (OURS, OURS):
            return
        with usual_lease(pair):
            for readers, stall in product(READERS, STALL_SECONDS):
                assert_readers_go_on(pair, version, readers, stall)


@pytest.mark.about("server")
@pytest.mark.versions("3")
def test_threads_that_are_added_serve_calls_that_lacked_them(pair: Pair, version: str) -> None:
    """A connection's Calls that found its share of the threads taken, though nothing more comes from the client."""
    server, client = pair.server, pair.client
    threads = int(server.read(THREADS))
    with export_on_a_disk_that_can_stop(pair), mounted(pair, version, export="stop"):
        # On the same connection.
        other = pair.mount(version, path="/mnt2")
        client.run("head -c 64K /dev/urandom >/mnt2/file && sync /mnt2/file")
        reading = begin_reading(client, 2 * threads)
        try:
            with stopped_disk(server, reading):
                reading.expect("all wait", timeout=60)
                waiting = client.spawn("exec dd if=/mnt2/file of=/dev/null bs=4K count=1 iflag=direct")
                eventually(client, r"grep -q '\[nfs\]' /proc/$(pidof dd)/stack", 60)
                server.run(f"echo {8 * threads} >{THREADS}")
                assert waiting.wait(SECONDS_TO_NOTICE).status == 0
        finally:
            # None of them ends while the disk does not.
            server.run(f"echo {threads} >{THREADS}")
        reading.expect("all go on", timeout=SECONDS_TO_GO_ON)
        reading.kill()
        reading.wait(60)
        client.run("rm /mnt2/file")
        other.unmount()


def seconds_of(client: Guest, what: str) -> float:
    """When that was traced first."""
    traced_at = re.search(r" (\d+\.\d+): ", client.output(f"grep -m1 '{what}' {TRACE}"))
    assert traced_at, f"{what} is not in the trace"
    return float(traced_at.group(1))


@contextmanager
def invalidations_are_lost(client: Guest) -> Iterator[None]:
    """In this block, which has to end with the connection; in the end they are not."""
    with traced(client):
        client.run(f"echo 1 >{DEVICE}/invalidations_lost")
        try:
            yield
            # The reason proves it, and not the time.
            eventually(client, f"grep -q '{NOT_BACK}' {TRACE}", 60)
        finally:
            client.run(f"echo 0 >{DEVICE}/invalidations_lost")


@pytest.mark.about("client")
@pytest.mark.versions("3")
def test_memory_of_a_reply_that_does_not_come_back_costs_its_connection(pair: Pair, version: str) -> None:
    """No other RPC of the mount would find out: sunrpc waits with this one until its Reply has been delivered."""
    client = pair.client
    size = REGISTRATIONS * PAGES_AT_A_TIME * client.page_size
    with small_device(client, max_fast_reg_page_list_len=PAGES_AT_A_TIME), mounted(pair, version):
        client.run(f"head -c {size} /dev/urandom >/mnt/file && sync /mnt/file && sha256sum </mnt/file >/tmp/sum")
        with invalidations_are_lost(client):
            reading = client.spawn(f"dd if=/mnt/file bs={size} iflag=direct status=none | sha256sum -c /tmp/sum")
        assert reading.wait(60).status == 0, reading.output
        client.run("rm /mnt/file /tmp/sum")


@pytest.mark.about("client")
@pytest.mark.versions("3")
def test_memory_of_a_killed_task_that_does_not_come_back_costs_its_connection(pair: Pair, version: str) -> None:
    """The process ends with it, and soon: it may hold a thread that all mounts share, and after umount -f many do."""
    server, client = pair.server, pair.client
    with export_on_a_disk_that_can_stop(pair), small_device(client), \
            sysctl(client, rdma_max_inline_read=READS_TAKE_MEMORY), mounted(pair, version, export="stop"):
        # Nothing of the journal keeps the directory's names in the cache.
        server.run(f"(mkdir /srv/nfs/stop/names && cd /srv/nfs/stop/names && seq {NAMES} | xargs touch) && "
                   "mount -o remount,ro /srv/nfs/stop && echo 3 >/proc/sys/vm/drop_caches && "
                   "stat /srv/nfs/stop/file /srv/nfs/stop/names")
        with stopped_disk(server):
            listing = client.spawn("exec ls /mnt/names")
            eventually(client, r"grep -q '\[nfs\]' /proc/$(pidof ls)/stack", 60)
            with invalidations_are_lost(client):
                client.run("kill -9 $(pidof ls)")
            fenced, closed = (seconds_of(client, event) for event in ("call_fenced", NOT_BACK))
            assert closed - fenced < SECONDS_BETWEEN_LOOKS, f"waits from {fenced} s on, until {closed} s"
            listing.wait(SECONDS_TO_GO_ON)


@pytest.mark.about("client", "server")
@pytest.mark.versions("3")
def test_tasks_whose_memory_is_not_back_hold_no_other_mount_up(pair: Pair, version: str) -> None:
    """They sleep, as tasks do, however many there are and however slow their connection is to end."""
    server, client = pair.server, pair.client
    with export_on_a_disk_that_can_stop(pair), small_device(client, stop_seconds=SECONDS_TO_STOP), \
            sysctl(server, svc_rdma__max_requests=512), \
            sysctl(client, rdma_slot_table_entries=512, rdma_max_inline_read=READS_TAKE_MEMORY), \
            traced(client, events="rpcordma/rpcordma_call_fenced"), \
            mounted(pair, version, export="stop", options="timeo=50,retrans=1"):
        other = pair.mount("4.2", path="/mnt2")
        client.run("head -c 64K /dev/urandom >/mnt2/file && sync /mnt2/file")
        reading = begin_reading(client, READERS_WITHOUT_REPLY)
        client.run(f"echo 1 >{DEVICE}/invalidations_lost")
        with stopped_disk(server, reading):
            try:
                eventually(client, f"test $(grep -c call_fenced {TRACE}) -ge {TASKS_AT_A_TIME}", 120)
                client.run(f"echo 0 >{DEVICE}/invalidations_lost")
                began = time.monotonic()
                client.run("dd if=/mnt2/file of=/dev/null bs=4K iflag=direct", timeout=SECONDS_TO_STOP / 2)
                print(f"another mount's file was read within {time.monotonic() - began:.1f} s")
            finally:
                client.run(f"echo 0 >{DEVICE}/stop_seconds")
        reading.expect("all wait", timeout=60)
        reading.expect("all go on", timeout=SECONDS_TO_STOP + 60)
        reading.kill()
        reading.wait(60)
        client.run("rm /mnt2/file")
        other.unmount()
