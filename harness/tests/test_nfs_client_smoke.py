# SPDX-License-Identifier: GPL-2.0-only
"""Each pair of kernels and each NFS version, in short."""

import pytest
from expectations import MEBIBYTE, mounted, our_rdma_resources

from lab import Pair

EIGHT_MEBIBYTES = 8 * MEBIBYTE
SMALL_FILES = 200


@pytest.mark.every_cell
def test_a_large_file_travels_each_way(pair: Pair, version: str) -> None:
    """8 MiB written by the client are what the server has, and the other way round."""
    exported = "/srv/nfs/tmpfs"
    with mounted(pair, version) as mount:
        before = mount.stats()
        written = pair.client.output(
            f"head -c {EIGHT_MEBIBYTES} /dev/urandom >/tmp/up && cp /tmp/up /mnt/up && "
            "sync /mnt/up && sha256sum </tmp/up", timeout=120)
        assert pair.server.output(f"sha256sum <{exported}/up") == written

        offered = pair.server.output(
            f"head -c {EIGHT_MEBIBYTES} /dev/urandom >{exported}/down && "
            f"sha256sum <{exported}/down")
        assert pair.client.output("sha256sum </mnt/down", timeout=120) == offered

        after = mount.stats()
        pair.client.run("rm /mnt/up /mnt/down")
        assert pair.server.output(f"ls {exported}") == ""
    # The data went in chunks: read by the server, written by the server.
    assert after.total("read_chunks") > before.total("read_chunks")
    assert after.total("write_chunks") > before.total("write_chunks")
    assert after.total("total_reply_bytes") >= EIGHT_MEBIBYTES
    assert after.total("bad_replies") == 0


@pytest.mark.every_cell
def test_small_files_are_written_renamed_and_removed(pair: Pair, version: str) -> None:
    """200 files, as the client writes them and as both sides see them."""
    exported = "/srv/nfs/tmpfs"
    with mounted(pair, version) as mount:
        pair.client.run(f"mkdir /mnt/d && cd /mnt/d && for i in $(seq {SMALL_FILES}); do "
                        "printf 'file %d\\n' $i >f$i || exit 1; done", timeout=300)
        expected = "".join(f"file {number}\n" for number in range(1, SMALL_FILES + 1))
        assert pair.server.output(
            f"cd {exported}/d && cat $(seq -f f%g {SMALL_FILES})") == expected
        mount.renew()
        assert pair.client.output(
            f"cd /mnt/d && cat $(seq -f f%g {SMALL_FILES})", timeout=120) == expected

        pair.client.run("mv /mnt/d/f1 /mnt/d/first && mv /mnt/d /mnt/e")
        assert pair.server.output(f"cat {exported}/e/first") == "file 1\n"
        assert pair.client.output("ls /mnt/e | wc -l").strip() == str(SMALL_FILES)

        pair.client.run("rm -r /mnt/e", timeout=300)
        assert pair.server.output(f"ls {exported}") == ""


@pytest.mark.every_cell
@pytest.mark.once_per_pair
@pytest.mark.last
def test_the_module_leaves_nothing_behind(pair: Pair) -> None:
    """The module can be unloaded after use, and nothing is left of it."""
    with mounted(pair, "4.2") as mount:
        pair.client.run("echo held >/mnt/file && rm /mnt/file")
        assert our_rdma_resources(pair), "nothing to be seen while it is in use"
        assert mount.stats().total("connect_count") == 1
    # Counters of live objects are checked by the module itself: it says "leaked" when one is not
    # zero, and that fails this test.
    pair.unload_client_transport()
    assert our_rdma_resources(pair) == []
    pair.load_client_transport()
