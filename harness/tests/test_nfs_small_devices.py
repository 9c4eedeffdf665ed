# SPDX-License-Identifier: GPL-2.0-only
"""Devices with short queues and few of everything: slower, never stuck."""

import pytest
from expectations import mounted
from workloads import fio, small_device, sysctl

from lab import Pair
from lab.nfs import MODULES, OURS

SMALL_SERVER = {"max_qp_wr": 24, "max_cqe": 48, "max_send_sge": 3, "max_recv_sge": 1, "max_sge_rd": 2}
# Replies that had to wait for room in a send queue.
WAITS = "/proc/sys/sunrpc/svc_rdma/rdma_stat_sq_starve"
TOO_LONG = "/sys/module/small_device/parameters/too_long"
MAPS_CUT_SHORT = "/sys/module/small_device/parameters/maps_cut_short"


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


@pytest.mark.about("client", "server")
@pytest.mark.versions("4.2")
def test_a_device_that_makes_shorter_queues_than_it_says_has_fewer_credits(pair: Pair, version: str) -> None:
    """Where it refuses those that it says are possible, others are asked for, until it makes some."""
    for guest, module in ((pair.client, pair.client_module), (pair.server, pair.server_module)):
        if module != MODULES[OURS]:
            continue
        with small_device(guest, longest_send_queue=100):
            exercise(pair, version)
            assert int(guest.read(TOO_LONG)) > 0


@pytest.mark.about("client")
@pytest.mark.versions("4.2")
@pytest.mark.parametrize("limits,lack", [
    pytest.param({"no_registrations": 1}, "cannot register memory by work requests", id="registrations"),
    pytest.param({"page_size_cap": 2 << 20}, "cannot register pages as large as the kernel's", id="pages"),
    pytest.param({"no_invalidations": 1}, "cannot invalidate memory by work requests", id="invalidations"),
])
def test_a_client_says_what_its_device_lacks(pair: Pair, version: str, limits: dict[str, int], lack: str) -> None:
    """The mount fails, and the log has the device, the cause and the cure."""
    begin = len(pair.client.kernel_log)
    options = f"vers={version},proto=rdma,port=20049,retry=0"
    with small_device(pair.client, **limits):
        failed = pair.client.run(f"mount -t nfs -o {options} {pair.SERVER_ADDRESS}:/tmpfs /mnt 2>&1", timeout=120,
                                 check=False)
    pair.client.mark("the mount has failed")
    said = {message.text for message in pair.client.kernel_log[begin:] if "rpcordma:" in message.text}
    assert said == {f"rpcordma: device rxe0 {lack}: it cannot be used, use another or proto=tcp"}
    assert failed.status != 0 and "No route to host" in failed.stdout, failed.stdout


@pytest.mark.about("server")
@pytest.mark.versions("4.2")
@pytest.mark.parametrize("limits", [
    pytest.param({"no_registrations": 1}, id="registrations"),
    pytest.param({"page_size_cap": 2 << 20}, id="pages"),
])
def test_a_server_does_without_registrations(pair: Pair, version: str, limits: dict[str, int]) -> None:
    """It invalidates nothing that it cannot, and its callbacks have no chunks, though they may."""
    with sysctl(pair.server, svc_rdma__reverse_chunks=2), small_device(pair.server, max_mr=1, **limits):
        exercise(pair, version)


@pytest.mark.about("client")
@pytest.mark.versions("4.2")
def test_memory_that_can_never_be_registered_ends_its_own_rpc(pair: Pair, version: str) -> None:
    """It is not tried again for ever in front of all others: one of them gets an error, and nobody else notices."""
    with small_device(pair.client), mounted(pair, version) as mount:
        pair.client.run("head -c 8M /dev/urandom >/mnt/file && sync /mnt/file")
        before = mount.stats()
        pair.client.run(f"echo 1 >{MAPS_CUT_SHORT}")
        readers = [pair.client.spawn("dd if=/mnt/file of=/dev/null bs=1M iflag=direct") for _ in range(4)]
        ended = [reader.wait(60) for reader in readers]
        after = mount.stats()
        assert pair.client.read(MAPS_CUT_SHORT) == "0\n"
        failed = [result.stdout for result in ended if result.status != 0]
        assert len(failed) == 1 and "Input/output error" in failed[0], ended
        assert after.total("failed_marshals") - before.total("failed_marshals") == 1
        assert after.total("connect_count") == before.total("connect_count")
        assert pair.client.output("cksum </mnt/file") == pair.server.output("cksum </srv/nfs/tmpfs/file")
        pair.client.run("rm /mnt/file")
