# SPDX-License-Identifier: GPL-2.0-only
"""Payloads of more than 1 MiB, which kernels from 7.1 on serve."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from expectations import MEBIBYTE, live_objects, mounted
from workloads import fio, fio_command, large_blocks, large_io, small_device, sysctl

from lab import Mount, Pair
from lab.mountstats import MountStats
from lab.nfs import MODULES, OURS

LARGE = 4 * MEBIBYTE
# So many RPCs of the largest size.
COUNT = 8
EXPORTED = "/srv/nfs/tmpfs"
# The places of a mount's counters: requests, bytes sent, bytes received.
REQUESTS, SENT, RECEIVED = 0, 3, 4
SERVERS = pytest.mark.servers("7.3")


def carried_by(pair: Pair) -> int:
    """The largest payload of the client's transport: the kernel's own has 1 MiB, and so has ours on older kernels."""
    return LARGE if pair.client_module == MODULES[OURS] and pair.client.kernel.numbers == "7.3" else MEBIBYTE


@contextmanager
def mounted_large(pair: Pair, version: str, payload: int) -> Iterator[Mount]:
    """A mount that asks for as much as there is, and gets that much."""
    with (large_blocks(pair.server, LARGE), large_io(pair.client),
          mounted(pair, version, payload, options=f"rsize={LARGE},wsize={LARGE}") as mount):
        yield mount


@SERVERS
@pytest.mark.clients("6.12", "7.3")
@pytest.mark.about("client", "server")
@pytest.mark.each_side
@pytest.mark.versions("3", "4.1", "4.2")
def test_payloads_are_as_large_as_both_sides_carry(pair: Pair, version: str) -> None:
    """Each READ and WRITE is one RPC, with as many registrations as it takes; all data is verified."""
    payload = carried_by(pair)
    size = COUNT * LARGE
    with mounted_large(pair, version, payload) as mount:
        data = pair.client.output(f"head -c {size} /dev/urandom | tee /tmp/data | md5sum")
        for flag in ("oflag=direct", "conv=fsync"):
            before = mount.stats()
            pair.client.run(f"dd if=/tmp/data of=/mnt/file bs={LARGE} {flag}", timeout=300)
            calls, sent, segments = moved(before, mount.stats(), "WRITE")
            assert pair.server.output(f"md5sum <{EXPORTED}/file") == data
            assert calls == size // payload and sent > size
            if pair.client_module == MODULES[OURS]:
                assert segments == calls * segments_of(payload, pair.client.page_size)
        for flag in ("iflag=direct", ""):
            mount.renew()
            before = mount.stats()
            assert pair.client.output(f"dd if=/mnt/file bs={LARGE} count={COUNT} status=none {flag} | md5sum",
                                      timeout=300) == data
            calls, received, segments = moved(before, mount.stats(), "READ")
            assert received > size
            if flag:
                assert calls == size // payload
            if flag and pair.client_module == MODULES[OURS]:
                assert segments == calls * segments_of(payload, pair.client.page_size)
            # It is for the kernel to say what is read ahead, and where that begins and ends.
            assert calls < 2 * size // payload
        # Many at a time, at any place, of any size.
        fio(pair.client, "--directory=/mnt", "--rw=randrw", f"--bsrange=512-{LARGE}", "--blocksize_unaligned",
            "--direct=1", f"--size={size}", "--iodepth=16")
        assert mount.stats().retransmissions() == 0
        assert mount.stats().total("connect_count") == 1
        assert mount.stats().total("bad_replies") == 0
        pair.client.run("rm /mnt/* /tmp/data")


@SERVERS
@pytest.mark.clients("7.3")
@pytest.mark.about("both together")
@pytest.mark.versions("3", "4.2")
def test_small_devices_carry_large_payloads_in_many_registrations(pair: Pair, version: str) -> None:
    """As much as 20 segments hold; at the server, more work requests than there is room for at a time."""
    for pages, payload in ((64, LARGE), (32, 2 * MEBIBYTE)):
        with (small_device(pair.server, max_qp_wr=24, max_cqe=48, max_send_sge=3, max_recv_sge=1, max_sge_rd=2),
              small_device(pair.client, max_send_sge=1, max_recv_sge=1, max_fast_reg_page_list_len=pages),
              mounted_large(pair, version, payload)):
            fio(pair.client, "--directory=/mnt", "--rw=randrw", f"--bsrange=512-{LARGE}", "--direct=1",
                f"--size={4 * LARGE}", "--iodepth=16")
            pair.client.run("rm /mnt/job*")


@SERVERS
@pytest.mark.clients("7.3")
@pytest.mark.about("both together")
@pytest.mark.versions("3")
def test_large_calls_are_read_fewer_at_a_time(pair: Pair, version: str) -> None:
    """Of WRITEs of 4 MiB that have come, one has pages where the sysctl allows four of 1 MiB."""
    with (sysctl(pair.server, svc_rdma__max_outbound_read_requests=4), mounted_large(pair, version, LARGE)):
        writing = pair.client.spawn(fio_command(
            f"--bs={LARGE}", f"--size={16 * LARGE}", "--directory=/mnt", "--direct=1", "--iodepth=16", "--rw=write",
            "--do_verify=0", jobs={"job": ""}))
        held = []
        while writing.status is None:
            held.append(live_objects(pair.server)["held_pages"])
        assert writing.status == 0, writing.output
        pair.client.run("rm /mnt/job*")
    # One is read while the one before it is being handed over.
    pages = LARGE // pair.server.page_size
    assert pages <= max(held) <= 2 * (pages + 4)


def moved(before: MountStats, after: MountStats, operation: str) -> tuple[int, int, int]:
    """How many requests of an operation there have been, and how many bytes and segments their chunks had."""
    way, chunks = (SENT, "read_chunks") if operation == "WRITE" else (RECEIVED, "write_chunks")
    old, new = before.operations[operation], after.operations[operation]
    return new[REQUESTS] - old[REQUESTS], new[way] - old[way], after.total(chunks) - before.total(chunks)


def segments_of(payload: int, page_size: int) -> int:
    """How many segments our client makes of so much data: a registration covers 1 MiB that begins within a page."""
    return -(-payload // (MEBIBYTE + page_size))
