# SPDX-License-Identifier: GPL-2.0-only
"""Data in every size and shape, written, read back and compared."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import Cell
from expectations import MEBIBYTE, mounted
from workloads import fio, guest_python

from lab import Guest, Mount, Pair

pytestmark = pytest.mark.about("client")

KIBIBYTE = 1 << 10
BLOCK_SIZES = (512, 2048, 4096, 16384, 65536, 262144, MEBIBYTE, 4 * MEBIBYTE)
DEPTHS = (1, 16, 64)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
@pytest.mark.parametrize("way", ("direct", "buffered"))
def test_fio_verifies(pair: Pair, version: str, full: bool, block_size: int, way: str) -> None:
    """Writes, reads, and both mixed, at depths 1 to 64: what is read is what was written."""
    blocks, most = (2000, 40 * MEBIBYTE) if full else (200, 4 * MEBIBYTE)
    size = max(4 * block_size, min(blocks * block_size, most))
    common = [f"--bs={block_size}", f"--size={size}", f"--direct={int(way == 'direct')}",
              "--directory=/mnt", "--end_fsync=1"]

    def pass_over(mount: Mount, kind: str, *options: str) -> None:
        patterns = (kind, f"rand{kind}", f"rand{kind}")
        jobs = {f"depth{depth}": f"--rw={'randrw' if kind == 'rw' else pattern} --iodepth={depth} "
                                 f"--filename=depth{depth}"
                for depth, pattern in zip(DEPTHS, patterns)}
        fio(pair.client, *common, *options, jobs=jobs, timeout=1800)
        if way == "buffered" and kind != "read":
            mount.renew()

    with mounted(pair, version) as mount:
        for kind in ("write", "rw"):
            pass_over(mount, kind, "--do_verify=0")
            pass_over(mount, "read")
        pair.client.run("rm /mnt/depth*")


@pytest.mark.about("client", "server")
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


@pytest.mark.about("client", "server")
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


@pytest.mark.versions("3", "4.2")
def test_nconnect_spreads_over_four_connections(pair: Pair, version: str, cell: Cell) -> None:
    """With nconnect=4 there are four connections, all in use. NFS 4 on Linux 6.1 has but one."""
    expected = 1 if cell.client == "6.1" and version != "3" else 4
    with mounted(pair, version, options="nconnect=4") as mount:
        fio(pair.client, "--bs=64k", "--size=4m", "--direct=1", "--iodepth=16", "--rw=randwrite",
            "--directory=/mnt", "--numjobs=4")
        transports = mount.stats().transports
        assert len(transports) == expected
        assert all(transport["sends"] > 10 for transport in transports)
        pair.client.run("rm /mnt/job*")


@contextmanager
def sysctl(guest: Guest, **settings: int) -> Iterator[None]:
    """Sets sunrpc's sysctls for the length of a block; the names have _ for the last dot."""
    paths = {name: f"/proc/sys/sunrpc/{name.replace('__', '/')}" for name in settings}
    before = {name: guest.read(path).strip() for name, path in paths.items()}
    for name, value in settings.items():
        guest.run(f"echo {value} >{paths[name]}")
        assert guest.read(paths[name]).strip() == str(value)
    try:
        yield
    finally:
        for name, value in before.items():
            guest.run(f"echo {value} >{paths[name]}")


@pytest.mark.about("client", "server")
@pytest.mark.parametrize("client_inline", (1024, 4096, 65536))
@pytest.mark.parametrize("server_inline", (4096, 65536))
def test_the_smaller_inline_threshold_decides_about_chunks(
        pair: Pair, version: str, server_inline: int, client_inline: int) -> None:
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


def test_mountstats_counts_bytes_as_the_in_tree_client_does(pair: Pair, version: str) -> None:
    """"Request bytes" are the room that is offered for replies; Read chunks count in no bytes."""
    with mounted(pair, version) as mount:
        pair.client.run("dd if=/dev/zero of=/mnt/file bs=1M count=4 oflag=direct")
        written = mount.stats()
        assert written.total("total_request_bytes") < MEBIBYTE
        assert written.total("total_reply_bytes") < MEBIBYTE
        pair.client.run("dd if=/mnt/file of=/dev/null bs=1M count=4 iflag=direct")
        read = mount.stats()
        offered = read.total("total_request_bytes") - written.total("total_request_bytes")
        assert 4 * MEBIBYTE <= offered < 5 * MEBIBYTE
        answered = read.total("total_reply_bytes") - written.total("total_reply_bytes")
        assert 4 * MEBIBYTE <= answered < 5 * MEBIBYTE
        pair.client.run("rm /mnt/file")


def chunks_used(mount: Mount, command: str) -> dict[str, int]:
    """How many chunk segments a command in the client took."""
    columns = ("read_chunks", "write_chunks", "reply_chunks")
    before = mount.stats()
    mount.client.run(command)
    after = mount.stats()
    return {column: after.total(column) - before.total(column) for column in columns}
