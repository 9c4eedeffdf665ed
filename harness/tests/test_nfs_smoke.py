# SPDX-License-Identifier: GPL-2.0-only
"""Each pair of kernels with each transport and each NFS version, in short."""

import pytest
from expectations import MEBIBYTE, mounted, rdma_resources

from lab import Pair
from lab.nfs import OURS

# The cheapest checksum: emulated machines run this in every cell.
SEVERAL_MEBIBYTES = 8 * MEBIBYTE
SMALL_FILES = 200
EXPORTED = "/srv/nfs/tmpfs"


@pytest.mark.every_cell
def test_files_large_and_small_travel_each_way(pair: Pair, version: str) -> None:
    """What the client writes is what the server has, and the other way round."""
    with mounted(pair, version) as mount:
        written = pair.client.output(
            f"head -c {SEVERAL_MEBIBYTES} /dev/urandom | tee /mnt/up | md5sum; sync /mnt/up; "
            f"mkdir /mnt/d && cd /mnt/d && for i in $(seq {SMALL_FILES}); do "
            "printf 'file %d\\n' $i >f$i || exit 1; done", timeout=300)
        small = "".join(f"file {number}\n" for number in range(1, SMALL_FILES + 1))
        received = pair.server.output(
            f"cd {EXPORTED}; md5sum <up; cat $(seq -f d/f%g {SMALL_FILES}); "
            f"head -c {SEVERAL_MEBIBYTES} /dev/urandom | tee down | md5sum")
        assert received.startswith(written + small)
        offered = received.removeprefix(written + small)

        written_stats = mount.stats()
        mount.renew()
        assert pair.client.output(
            f"cd /mnt; md5sum <down; cat $(seq -f d/f%g {SMALL_FILES}); ls d | wc -l; "
            "mv d/f1 d/first && mv d e",
            timeout=120) == f"{offered}{small}{SMALL_FILES}\n"
        read_stats = mount.stats()
        assert pair.server.output(f"cat {EXPORTED}/e/first") == "file 1\n"
        pair.client.run("rm -r /mnt/*", timeout=300)
        assert pair.server.output(f"ls {EXPORTED}") == ""
    # The data went in chunks, each of them for one WRITE or READ: read and written by the server.
    assert written_stats.total("read_chunks") >= 2
    assert read_stats.total("write_chunks") >= 2
    assert read_stats.total("total_reply_bytes") >= SEVERAL_MEBIBYTES
    assert written_stats.total("bad_replies") == read_stats.total("bad_replies") == 0


@pytest.mark.every_cell
@pytest.mark.once_per_pair
@pytest.mark.last
def test_the_module_leaves_nothing_behind(pair: Pair) -> None:
    """It can be unloaded after use, at both ends, and nothing is left of it."""
    with mounted(pair, "4.2") as mount:
        pair.client.run("echo held >/mnt/file && rm /mnt/file")
        assert rdma_resources(pair.client), "nothing to be seen while it is in use"
        assert rdma_resources(pair.server), "nothing to be seen while it is in use"
        assert mount.stats().total("connect_count") == 1
    # Counters of live objects are checked by the module itself: it says "leaked" when one is not
    # zero, and that fails this test. The next test loads what it needs.
    if pair.client_transport == OURS:
        pair.unload_client_transport()
        assert not rdma_resources(pair.client)
    if pair.server_transport == OURS:
        pair.unload_server_transport()
        assert not rdma_resources(pair.server)
