# SPDX-License-Identifier: GPL-2.0-only
"""Devices with short queues and few of everything: slower, never stuck."""

import pytest
from expectations import mounted
from workloads import fio, small_device

from lab import Pair

SMALL_SERVER = {"max_qp_wr": 24, "max_cqe": 48, "max_send_sge": 3, "max_recv_sge": 1, "max_sge_rd": 2}
# Replies that had to wait for room in a send queue.
WAITS = "/proc/sys/sunrpc/svc_rdma/rdma_stat_sq_starve"


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
