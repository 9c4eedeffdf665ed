# SPDX-License-Identifier: GPL-2.0-only
"""Each pair of kernels with each transport and each NFS version, in short."""

import re
from dataclasses import dataclass

import pytest
from conftest import Cell
from expectations import MEBIBYTE, mounted, rdma_resources
from workloads import TRACE, TRACING

from lab import Pair
from lab.nfs import OURS, STOCK

EXPORTED = "/srv/nfs/tmpfs"
# So many at once write and read the small files, beside the large one.
WRITERS = 4


@dataclass(frozen=True)
class Amount:
    """How much a smoke test moves."""

    large: int
    small_files: int


ALL = Amount(8 * MEBIBYTE, 200)
# The kernel's own client, and both sides ours, where our client meets the kernel's server as well.
SHORT = Amount(2 * MEBIBYTE, 40)


@pytest.mark.every_cell
@pytest.mark.abroad
def test_files_large_and_small_travel_each_way(pair: Pair, cell: Cell, full: bool) -> None:
    """What the client writes is what the server has, and the other way round."""
    amount = ALL if full or (cell.client_transport, cell.server_transport) == (OURS, STOCK) \
        else SHORT
    small = "".join(f"file {number}\n" for first in range(1, WRITERS + 1)
                    for number in range(first, amount.small_files + 1, WRITERS))
    # MD5 is the cheapest checksum: emulated machines run this in every cell.
    make_large = f"head -c {amount.large} /dev/urandom | tee"
    each = f"for first in $(seq {WRITERS}); do names=$(seq -f d/f%g $first {WRITERS} " \
           f"{amount.small_files});"
    with mounted(pair, cell.version) as mount:
        written = pair.client.output(
            f"cd /mnt; mkdir d; {make_large} up | md5sum & {each} "
            "for name in $names; do echo file ${name#d/f} >$name || exit 1; done & done; wait; "
            "sync up", timeout=300)
        received = pair.server.output(
            f"cd {EXPORTED}; md5sum <up; {each} cat $names; done; {make_large} down | md5sum")
        assert received.startswith(written + small)
        offered = received.removeprefix(written + small)

        written_stats = mount.stats()
        mount.renew()
        assert pair.client.output(
            f"cd /mnt; parts=$(mktemp -d); md5sum <down & {each} cat $names >$parts/$first & done; wait; "
            "cat $parts/*; rm -r $parts; ls d | wc -l; mv d/f1 d/first && mv d e",
            timeout=120) == f"{offered}{small}{amount.small_files}\n"
        read_stats = mount.stats()
        assert pair.server.output(f"cat {EXPORTED}/e/first") == "file 1\n"
        pair.client.run("rm -r /mnt/*", timeout=300)
        assert pair.server.output(f"ls {EXPORTED}") == ""
    # The data went in chunks, each of them for one WRITE or READ: read and written by the server.
    assert written_stats.total("read_chunks") >= 2
    assert read_stats.total("write_chunks") >= 2
    assert read_stats.total("total_reply_bytes") >= amount.large
    assert written_stats.total("bad_replies") == read_stats.total("bad_replies") == 0


@pytest.mark.about("both together")
@pytest.mark.every_cell
@pytest.mark.once_per_pair
def test_functions_of_the_module_can_be_traced(pair: Pair) -> None:
    """Those of C++ and of C, by the kernel's function tracer, while an RPC passes through them."""
    pair.client.run(f"cd {TRACING} && echo ':mod:rpcordma' >set_ftrace_filter && echo function >current_tracer")
    try:
        with mounted(pair, "4.2"):
            pair.client.run("ls /mnt")
        traced = pair.client.output(f"cat {TRACE}", timeout=120)
    finally:
        pair.client.run(f"cd {TRACING}; echo nop >current_tracer; echo >set_ftrace_filter; echo >trace")
    assert re.search(r": _ZN8rpcordma6client\w+ <-", traced), traced
    assert re.search(r": rpcordma_\w+ <-", traced), traced


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
