# SPDX-License-Identifier: GPL-2.0-only
"""Data in every size, written, read back and compared, and what the client counts."""

from itertools import product

import pytest
from conftest import FULL, Cell
from expectations import MEBIBYTE, mounted
from workloads import fio

from lab import Mount, Pair
from lab.nfs import STOCK

pytestmark = pytest.mark.about("client")

EXPORTED = "/srv/nfs/tmpfs"
LONG = "x" * 3500
# Those that what travels decides about, and nothing else.
COMPARABLE = ("sends", "receives", "read_chunks", "write_chunks", "reply_chunks", "total_request_bytes",
              "total_reply_bytes", "local_invalidations")
BLOCK_SIZES = (512, 2048, 4096, 16384, 65536, 262144, MEBIBYTE, 4 * MEBIBYTE)
# Together they need one start of fio where there are few blocks of each.
GROUPS = {str(size): (size,) for size in BLOCK_SIZES} if FULL else {"all": BLOCK_SIZES}
DEPTHS = (1, 16, 64)


@pytest.mark.parametrize("block_sizes", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("way", ("direct", "buffered"))
def test_fio_verifies(pair: Pair, version: str, full: bool, block_sizes: tuple[int, ...],
                      way: str) -> None:
    """Writes, reads, and both mixed, at depths 1 to 64: what is read is what was written."""
    blocks, most = (2000, 40 * MEBIBYTE) if full else (200, 4 * MEBIBYTE)
    common = [f"--direct={int(way == 'direct')}", "--directory=/mnt", "--end_fsync=1"]

    def pass_over(mount: Mount, kind: str, *options: str) -> None:
        patterns = (kind, f"rand{kind}", f"rand{kind}")
        jobs = {}
        for block_size, (depth, pattern) in product(block_sizes, zip(DEPTHS, patterns)):
            size = min(blocks * block_size, max(most, 2 * block_size))
            jobs[f"depth{depth}-{block_size}"] = (
                f"--rw={'randrw' if kind == 'rw' else pattern} --iodepth={depth} "
                f"--bs={block_size} --size={size} --filename=depth{depth}-{block_size}")
        fio(pair.client, *common, *options, jobs=jobs, timeout=1800)
        if way == "buffered" and kind != "read":
            mount.renew()

    with mounted(pair, version) as mount:
        for kind in ("write", "rw"):
            pass_over(mount, kind, "--do_verify=0")
            pass_over(mount, "read")
        pair.client.run("rm /mnt/depth*")


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


@pytest.mark.versions("3", "4.2")
def test_mountstats_counts_as_the_in_tree_client_does(pair: Pair, version: str) -> None:
    """Tools that know its columns are right about ours: each does the same work, and counts nearly the same."""
    ours = counted(pair, version)
    pair.use(STOCK, pair.server_transport)
    theirs = counted(pair, version)
    for column in COMPARABLE:
        assert theirs[column] != 0
        assert ours[column] == pytest.approx(theirs[column], rel=0.1), (column, ours, theirs)


def counted(pair: Pair, version: str) -> dict[str, int]:
    """What the client counts where 2 MiB and a long symbolic link went each way, and a list of many names came."""
    pair.server.run(f"cd {EXPORTED} && ln -s {LONG} long && mkdir large && cd large && touch $(seq 1000)")
    with mounted(pair, version) as mount:
        pair.client.run("dd if=/dev/zero of=/mnt/file bs=64k count=32 oflag=direct && "
                        "dd if=/mnt/file of=/dev/null bs=64k iflag=direct && "
                        f"ls /mnt/large && readlink /mnt/long && ln -s {LONG} /mnt/longer")
        counts = mount.stats().transports[0]
        pair.client.run("rm -r /mnt/*")
    return counts
