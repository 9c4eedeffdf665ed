# SPDX-License-Identifier: GPL-2.0-only
"""Devices with short queues and few of everything: slower, never stuck."""

import re

import pytest
from expectations import eventually, live_objects, mounted, rdma_resources, wait_for_resources
from workloads import TRACE, fio, small_device, traced

from lab import Pair

SMALL_SERVER = {"max_qp_wr": 24, "max_cqe": 48, "max_send_sge": 3, "max_recv_sge": 1, "max_sge_rd": 2}
# Replies that had to wait for room in a send queue.
WAITS = "/proc/sys/sunrpc/svc_rdma/rdma_stat_sq_starve"
# 8.6 of them. Left to itself, the device gives a peer up within so many, before anybody else does.
EIGHT_SECONDS = 21


def exercise(pair: Pair, version: str) -> None:
    """Everything from an eighth of a page to 1 MiB, many at a time."""
    with mounted(pair, version):
        fio(pair.client, "--directory=/mnt", "--rw=randrw", "--bsrange=512-1m", "--direct=1",
            "--size=8m", "--iodepth=16")
        pair.client.run("rm /mnt/job*")


@pytest.mark.about("server")
@pytest.mark.versions("3", "4.2")
def test_a_server_with_a_small_device_serves_everything(pair: Pair, version: str) -> None:
    """A payload of 1 MiB takes more work requests than there is room for at a time."""
    pair.server.run(f"echo 0 >{WAITS}")
    with small_device(pair.server, **SMALL_SERVER):
        exercise(pair, version)
    assert int(pair.server.read(WAITS)) > 0, "nothing had to wait: the device was not small"


@pytest.mark.about("client")
@pytest.mark.versions("3", "4.2")
def test_a_client_with_a_small_device_uses_what_there_is(pair: Pair, version: str) -> None:
    """Few work requests, small and few registrations: few RPCs at a time."""
    with small_device(pair.client, max_qp_wr=72, max_cqe=160, max_send_sge=1, max_recv_sge=1,
                      max_mr=48, max_fast_reg_page_list_len=32):
        exercise(pair, version)
    # Nothing else is short.
    with small_device(pair.client, max_cqe=160):
        exercise(pair, version)


@pytest.mark.about("server")
def test_replies_that_nobody_takes_cost_the_connection(pair: Pair, version: str) -> None:
    """The client is gone, which the device is slow to see: Replies wait for room for so long and no longer."""
    idle = rdma_resources(pair.server)
    with (small_device(pair.server, ack_timeout=EIGHT_SECONDS, **SMALL_SERVER),
          traced(pair.server, events="rpcordma/rpcordma_disconnect")):
        pair.mount(version, export="ext4")
        pair.client.run("dd if=/dev/zero of=/mnt/file bs=1M count=64")
        pair.server.run(f"echo 0 >{WAITS}")
        pair.client.spawn("fio --name=killed --filename=/mnt/file --rw=read --bs=1m --direct=1 --ioengine=libaio "
                          "--iodepth=16 --size=64m --loops=1000")
        eventually(pair.server, f"test $(cat {WAITS}) -gt 100", 60)
        pair.client.kill()
        eventually(pair.server, f"grep -q rpcordma_disconnect: {TRACE}", 60)
        ends = re.findall("reason='(.*)' detail='(.*)'", pair.server.read(TRACE))
        assert ends == [("send queue", "full for too long")]
        wait_for_resources(pair.server, idle, timeout=60)
        assert live_objects(pair.server)["held_pages"] == 0
    pair.server.run("rm /srv/nfs/ext4/file")
    pair.restart_client()
