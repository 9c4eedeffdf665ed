# SPDX-License-Identifier: GPL-2.0-only
"""Data that clients write to our server and read from it, and what the server counts."""

import pytest
from expectations import MEBIBYTE, TRANSPORTS, assert_range, live_objects, mounted
from workloads import TRACE, TRACING, fio, fio_command, guest_python, sysctl, traced

from lab import Guest, Pair

pytestmark = pytest.mark.about("server")

SYSCTLS = "/proc/sys/sunrpc/svc_rdma"
# The least and the most that can be written.
RANGES = {"max_requests": (4, 16384), "max_req_size": (4096, 65536),
          "max_outbound_read_requests": (1, 255)}
# What the kernel's own has not.
OURS = {"highest_version": (1, 2), "max_connects": (0, 10000), "reserved_ports": (0, 1), "reverse_chunks": (0, 2)}
# How the client's congestion window counts a credit (RPC_CWNDSHIFT).
WINDOW_OF_A_CREDIT = 256
COUNTERS = ("rdma_stat_read", "rdma_stat_recv", "rdma_stat_write", "rdma_stat_sq_starve")
# They are there because they always were.
UNUSED = ("rdma_stat_rq_poll", "rdma_stat_rq_prod", "rdma_stat_rq_starve", "rdma_stat_sq_poll",
          "rdma_stat_sq_prod")


@pytest.mark.parametrize("way", ("direct", "buffered"))
def test_fio_verifies_mixed_sizes(pair: Pair, version: str, full: bool, way: str) -> None:
    """Blocks of 512 bytes to 4 MiB, at depths of 1 to 64: what is read is what was written."""
    size = (64 if full else 8) * MEBIBYTE
    jobs = {f"depth{depth}": f"--iodepth={depth} --filename=depth{depth} --rw=randwrite"
            for depth in (1, 16, 64)}
    common = ["--bsrange=512-4m", "--blocksize_unaligned", f"--size={size}", "--directory=/mnt",
              f"--direct={int(way == 'direct')}"]
    with mounted(pair, version) as mount:
        fio(pair.client, *common, "--do_verify=0", jobs=jobs, timeout=1800)
        if way == "buffered":
            mount.renew()
        fio(pair.client, *common, "--verify_only", jobs=jobs, timeout=1800)
        pair.client.run("rm /mnt/depth*")


@pytest.mark.parametrize("way", ("direct", "buffered"))
def test_odd_sizes_at_odd_places(pair: Pair, version: str, full: bool, way: str) -> None:
    """1 to 4097 bytes, and lengths around whole pages, each in one WRITE and in one READ."""
    how = (1 if full else 31, *(["direct"] if way == "direct" else []))
    with mounted(pair, version) as mount:
        pair.client.run(guest_python("sizes.py", "write", "/mnt/sizes", *how), timeout=1800)
        pair.server.run(guest_python("sizes.py", "read", "/srv/nfs/tmpfs/sizes", how[0]))
        mount.renew()
        pair.client.run(guest_python("sizes.py", "read", "/mnt/sizes", *how), timeout=1800)
        pair.client.run("rm /mnt/sizes")


@pytest.mark.once_per_pair
def test_sysctls_have_the_names_and_ranges_of_the_kernels_own(pair: Pair) -> None:
    """/proc/sys/sunrpc/svc_rdma, as administrators know it."""
    names = pair.server.output(f"ls {SYSCTLS}").split()
    assert names == sorted([*RANGES, *OURS, *COUNTERS, *UNUSED])
    for name, (least, most) in (RANGES | OURS).items():
        assert_range(pair.server, f"{SYSCTLS}/{name}", least, most)


@pytest.mark.versions("3")
def test_calls_are_read_as_many_at_a_time_as_the_sysctl_allows(pair: Pair, version: str, full: bool) -> None:
    """Of sixteen WRITEs of 1 MiB that have come, one has pages at a time, until a thread takes it for good."""
    size = (256 if full else 64) * MEBIBYTE
    with sysctl(pair.server, svc_rdma__max_outbound_read_requests=1), mounted(pair, version):
        writing = pair.client.spawn(fio_command(
            f"--bs={MEBIBYTE}", f"--size={size}", "--directory=/mnt", "--direct=1", "--iodepth=16", "--rw=write",
            "--do_verify=0", jobs={"job": ""}))
        held = []
        while writing.status is None:
            held.append(live_objects(pair.server)["held_pages"])
        assert writing.status == 0, writing.output
        pair.client.run("rm /mnt/job*")
    # One is read while the one before it is being handed over.
    most = max(held)
    # The data, and what may stand before and behind it.
    pages = MEBIBYTE // pair.server.page_size + 4
    assert 0 < most <= 2 * pages


@pytest.mark.versions("3")
def test_no_more_credits_are_granted_than_the_sysctl_allows(pair: Pair, version: str) -> None:
    """A client that asks for many, and has use for them, gets four."""
    with sysctl(pair.server, svc_rdma__max_requests=4), mounted(pair, version):
        fio(pair.client, "--bs=16k", "--size=1m", "--directory=/mnt", "--direct=1", "--iodepth=16", "--rw=write",
            "--do_verify=0")
        windows = pair.client.output(f"grep -h cong_win= {TRANSPORTS}/xprt_info")
        pair.client.run("rm /mnt/job*")
    assert set(windows.split()) == {f"cong_win={4 * WINDOW_OF_A_CREDIT}"}


@pytest.mark.versions("3")
def test_the_writes_of_a_reply_leave_together_with_it(pair: Pair, version: str) -> None:
    """Whatever has an RDMA Write is posted once, in one chain with its Send."""
    reads = 256
    pair.server.run(f"echo 'p:lab/posted rpcordma_post_send' >{TRACING}/kprobe_events")
    with mounted(pair, version):
        pair.client.run(f"dd if=/dev/zero of=/mnt/file bs=16k count={reads} oflag=direct")
        written = written_chunks(pair.server)
        with (traced(pair.server, events="lab/posted"),
              traced(pair.server, events="rpcordma/rpcordma_reply_sent")):
            pair.client.run(f"dd if=/mnt/file of=/dev/null bs=16k count={reads} iflag=direct")
        assert written_chunks(pair.server) - written >= reads
        trace = pair.server.read(TRACE)
        replies, posts = trace.count(" rpcordma_reply_sent: "), trace.count(" posted: ")
        assert replies >= reads
        assert posts == replies
        pair.client.run("rm /mnt/file")
    pair.server.run(f"echo >{TRACING}/kprobe_events")


def written_chunks(server: Guest) -> int:
    """How many RDMA Writes it has made."""
    return int(server.read(f"{SYSCTLS}/rdma_stat_write"))


@pytest.mark.versions("3", "4.2")
def test_counters_move_and_can_be_reset(pair: Pair, version: str) -> None:
    """Messages, RDMA Reads and RDMA Writes are counted; whatever is written means zero."""
    def count(name: str) -> int:
        return int(pair.server.read(f"{SYSCTLS}/{name}"))

    with mounted(pair, version):
        pair.server.run(f"for name in {' '.join(COUNTERS)}; do echo 7 >{SYSCTLS}/$name; done")
        assert count("rdma_stat_read") == count("rdma_stat_write") == 0
        pair.client.run("dd if=/dev/zero of=/mnt/file bs=1M count=4 oflag=direct")
        read = count("rdma_stat_read")
        assert read >= 4
        written = count("rdma_stat_write")
        pair.client.run("dd if=/mnt/file of=/dev/null bs=1M count=4 iflag=direct")
        assert count("rdma_stat_write") >= written + 4
        assert count("rdma_stat_read") == read
        assert count("rdma_stat_recv") >= 8
        pair.client.run("rm /mnt/file")


@pytest.mark.versions("3", "4.2")
def test_nfsd_counts_what_the_client_asked(pair: Pair, version: str) -> None:
    """/proc/net/rpc/nfsd: every Call once, none of them bad."""
    writes = 50
    with mounted(pair, version) as mount:
        before, sent_before = nfsd_statistics(pair.server), mount.stats().total("sends")
        pair.client.run(f"dd if=/dev/zero of=/mnt/file bs=16k count={writes} oflag=direct")
        sent, after = mount.stats().total("sends") - sent_before, nfsd_statistics(pair.server)
        calls = after["rpc"][0] - before["rpc"][0]
        assert calls >= writes
        # A client may have renewed its lease between the two looks.
        assert abs(calls - sent) <= 3
        assert after["net"][0] - before["net"][0] == calls
        assert after["rpc"][1:] == before["rpc"][1:]
        assert after["io"][1] - before["io"][1] == writes * 16384
        pair.client.run("rm /mnt/file")


def nfsd_statistics(server: Guest) -> dict[str, list[int]]:
    """The lines of whole numbers."""
    lines = (line.split() for line in server.read("/proc/net/rpc/nfsd").splitlines())
    return {words[0]: [int(word) for word in words[1:]] for words in lines
            if all(word.isdigit() for word in words[1:])}
