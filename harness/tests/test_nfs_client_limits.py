# SPDX-License-Identifier: GPL-2.0-only
"""What small devices and impatient users ask of the client."""

import re

import pytest
from expectations import TRANSPORTS, assert_range, eventually, mounted
from workloads import TRACE, TRACING, fio, guest_python, sysctl, traced, verified_io, wait_for_round

from lab import Pair

pytestmark = pytest.mark.about("client")

SYSCTLS = "/proc/sys/sunrpc"
# The least and the most that can be written: None is a page. rdma_pad_optimize is any whole number.
RANGES = {"rdma_slot_table_entries": (4, 16384), "rdma_max_inline_read": (1024, 65536),
          "rdma_max_inline_write": (1024, 65536), "rdma_inline_write_padding": (0, None),
          "rdma_memreg_strategy": (0, 6), "rdma_pad_optimize": (-(1 << 31), (1 << 31) - 1)}
FEWEST_SLOTS, _ = RANGES["rdma_slot_table_entries"]
KIBIBYTES_64 = 64 << 10
# What the kernel's own has not.
OURS = {"rdma_highest_version": (1, 2)}
# Where struct ib_qp_init_attr has max_send_sge and max_recv_sge: the same in both kernels, as
# build/*/generated/kernel/layout.h says.
SEND_SGES, RECEIVE_SGES = 56, 60


@pytest.mark.once_per_pair
def test_sysctls_have_the_names_and_ranges_of_the_kernels_own_client(pair: Pair) -> None:
    """/proc/sys/sunrpc/rdma_*, as administrators know it."""
    assert pair.client.output(f"cd {SYSCTLS} && ls -d rdma_*").split() == sorted([*RANGES, *OURS])
    for name, (least, most) in (RANGES | OURS).items():
        assert_range(pair.client, f"{SYSCTLS}/{name}", least, pair.client.page_size if most is None else most)


@pytest.mark.clients("7.3")
def test_sysfs_adds_a_transport(pair: Pair, version: str) -> None:
    """Another connection to the same server, in the middle of traffic."""
    def wait_for_connected(count: int) -> None:
        # What is not connected has nothing to show.
        eventually(pair.client, f"[ $(cat {TRANSPORTS}/xprt_info | grep -c main_xprt=) = {count} ]", 30)

    # With one connection sunrpc takes no turns, and would not use the one that is added.
    with mounted(pair, version, options="nconnect=2"), verified_io(pair.client) as processes:
        wait_for_connected(2)
        pair.client.run("echo 1 >$(echo /sys/kernel/sunrpc/xprt-switches/*/add_xprt)")
        wait_for_connected(3)
        wait_for_round(processes)


def test_sysfs_shows_the_source_address(pair: Pair, version: str) -> None:
    """/sys/kernel/sunrpc: where an administrator looks which interface carries a mount."""
    with mounted(pair, version):
        shown = pair.client.output(f"cat {TRANSPORTS}/srcaddr")
        assert set(shown.split()) == {pair.CLIENT_ADDRESS}


@pytest.mark.versions("4.2")
def test_three_scatter_gather_elements_are_enough(pair: Pair, version: str) -> None:
    """The soft devices have 32, hardware as few as 3: what our queue pairs ask for, at work."""
    probe = (f"p:lab/queue_pair rdma_create_qp send=+{SEND_SGES}($arg3):u32 "
             f"receive=+{RECEIVE_SGES}($arg3):u32")
    pair.client.run(f"echo '{probe}' >{TRACING}/kprobe_events")
    with traced(pair.client, events="lab/queue_pair"), mounted(pair, version):
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bsrange=512-1m", "--direct=1",
            "--size=8m", "--iodepth=8")
        pair.client.run("rm /mnt/job*")
    asked = re.findall(r"send=(\d+) receive=(\d+)", pair.client.read(TRACE))
    pair.client.run(f"echo >{TRACING}/kprobe_events")
    assert asked, "the probe saw no queue pair being made"
    assert all(int(send) <= 3 and int(receive) <= 3 for send, receive in asked)


@pytest.mark.versions("3", "4.2")
def test_rpcs_beyond_the_slots_wait_for_one(pair: Pair, version: str) -> None:
    """There are no more than may be outstanding, no data is wrong, and what is killed as it waits takes none along."""
    with sysctl(pair.client, rdma_slot_table_entries=FEWEST_SLOTS), \
            mounted(pair, version, KIBIBYTES_64, options=f"rsize={KIBIBYTES_64},wsize={KIBIBYTES_64}") as mount:
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bs=4k", "--direct=1", "--size=2m", "--iodepth=64",
            "--numjobs=2", "--group_reporting")
        pair.client.run("rm /mnt/job*")
        # sunrpc counts for each RPC how many wait.
        assert mount.stats().total("backlog_queued") > 0
        pair.client.run(guest_python("kill.py", 10), timeout=300)
        shown = dict(re.findall(r"^(\w+)=(\d+)$", pair.client.output(f"cat {TRANSPORTS}/xprt_info"), re.MULTILINE))
        assert int(shown["max_num_slots"]) == int(shown["num_reqs"]) == FEWEST_SLOTS
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bs=64k", "--direct=1", "--size=4m", "--iodepth=16")
        pair.client.run("rm /mnt/job*")


@pytest.mark.versions("3", "4.2")
def test_killed_processes_cost_nobody_else_anything(pair: Pair, version: str, full: bool) -> None:
    """200 rounds of kill -9 with RPCs in flight, half of them while the connection breaks."""
    rounds = 200 if full else 20
    with mounted(pair, version, export="ext4"):
        pair.client.run(guest_python("kill.py", rounds), timeout=30 * rounds)
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bs=64k", "--direct=1", "--size=4m")
        pair.client.run("rm /mnt/job*")
