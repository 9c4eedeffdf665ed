# SPDX-License-Identifier: GPL-2.0-only
"""Data in every shape, written, read back and compared, and how it travels."""

from itertools import product

import pytest
from conftest import FULL
from expectations import mounted
from workloads import fio, guest_python, sysctl

from lab import Mount, Pair

pytestmark = pytest.mark.about("client", "server")


def test_a_tree_of_small_files_is_written_listed_read_and_removed(
        pair: Pair, version: str, full: bool) -> None:
    """10,000 files, each with contents of its own, seen alike by client and server."""
    count = 10_000 if full else 1_000
    with mounted(pair, version, export="ext4") as mount:
        pair.client.run(guest_python("tree.py", "write", "/mnt/tree", count), timeout=1800)
        pair.server.run(guest_python("tree.py", "check", "/srv/nfs/ext4/tree", count), timeout=600)
        mount.renew()
        pair.client.run(guest_python("tree.py", "check", "/mnt/tree", count), timeout=1800)
        pair.client.run(guest_python("tree.py", "remove", "/mnt/tree", count), timeout=1800)
        assert pair.server.output("ls /srv/nfs/ext4") == ""


def test_a_large_directory_is_listed(pair: Pair, version: str, full: bool) -> None:
    """20,000 names, made by the server, all seen by the client, with and without attributes."""
    count = 20_000 if full else 2_000
    exported = "/srv/nfs/tmpfs/large"
    expected = "".join(f"a-rather-long-name-in-a-large-directory-{number:05}\n"
                       for number in range(count))
    pair.server.run(f"mkdir {exported} && cd {exported} && "
                    f"seq -f 'a-rather-long-name-in-a-large-directory-%05.0f' 0 {count - 1} | "
                    "xargs touch", timeout=300)
    with mounted(pair, version):
        assert pair.client.output("ls /mnt/large", timeout=600) == expected
        assert pair.client.output("ls -l /mnt/large | tail -n +2 | wc -l",
                                  timeout=600).strip() == str(count)
    pair.server.run(f"rm -r {exported}", timeout=300)


@pytest.mark.about("both together")
@pytest.mark.versions("4.2")
def test_a_small_read_and_write_take_no_chunk_by_default(pair: Pair, version: str) -> None:
    """Of 4 and 8 KiB, between ends that nobody has set."""
    with mounted(pair, version) as mount:
        before = mount.stats()
        for kibibytes in (4, 8):
            pair.client.run(f"dd if=/dev/zero of=/mnt/small bs={kibibytes}K count=1 oflag=direct && "
                            f"dd if=/mnt/small of=/dev/null bs={kibibytes}K count=1 iflag=direct")
        after = mount.stats()
        assert [after.operations[name][0] - before.operations[name][0] for name in ("READ", "WRITE")] == [2, 2]
        for column in ("read_chunks", "write_chunks"):
            assert after.total(column) == before.total(column)


# The client's, and the server's.
THRESHOLDS = (tuple(product((1024, 4096, 65536), (4096, 16384, 65536))) if FULL else
              ((1024, 16384), (65536, 4096), (65536, 65536)))


@pytest.mark.each_side
@pytest.mark.parametrize(("client_inline", "server_inline"), THRESHOLDS)
def test_the_smaller_inline_threshold_decides_about_chunks(
        pair: Pair, version: str, client_inline: int, server_inline: int) -> None:
    """Data that fits into a message goes in it, in both directions; longer data needs chunks."""
    threshold = min(server_inline, client_inline)
    with (sysctl(pair.server, svc_rdma__max_req_size=server_inline),
          sysctl(pair.client, rdma_max_inline_read=client_inline,
                 rdma_max_inline_write=client_inline),
          mounted(pair, version) as mount):
        for length in (threshold // 2, threshold * 2):
            fits = length < threshold
            pair.client.run("touch /mnt/file")
            written = chunks_used(mount, f"head -c {length * 4} /dev/urandom >/tmp/file && "
                                  f"dd if=/tmp/file of=/mnt/file bs={length} oflag=direct")
            read = chunks_used(mount, f"dd if=/mnt/file of=/tmp/back bs={length} iflag=direct")
            assert (written["read_chunks"] == 0) == fits, (length, written)
            assert (read["write_chunks"] == 0) == fits, (length, read)
            pair.client.run("cmp /tmp/file /tmp/back && rm /mnt/file")
        fio(pair.client, "--bsrange=512-1m", "--size=8m", "--direct=1", "--iodepth=16",
            "--rw=randwrite", "--directory=/mnt")
        pair.client.run("rm /mnt/job*")


def chunks_used(mount: Mount, command: str) -> dict[str, int]:
    """How many chunk segments a command in the client took."""
    columns = ("read_chunks", "write_chunks", "reply_chunks")
    before = mount.stats()
    mount.client.run(command)
    after = mount.stats()
    return {column: after.total(column) - before.total(column) for column in columns}
