# SPDX-License-Identifier: GPL-2.0-only
"""The ways in which nfsd is told to listen."""

import pytest
from expectations import MEBIBYTE, mounted
from workloads import guest_python

from lab import Pair

pytestmark = pytest.mark.about("server")

BOTH_FAMILIES = ("rdma", "0.0.0.0", 20049, "rdma", "::", 20049)


def listening(pair: Pair) -> list[str]:
    """The addresses at which the server's RDMA device is listened on."""
    shown = pair.server.output("rdma resource show cm_id")
    return sorted(line.split("src-addr ")[1].strip() for line in shown.splitlines()
                  if " state LISTEN " in line)


def assert_a_file_gets_there(pair: Pair, path: str) -> None:
    """A file under that path of the client is the server's, too."""
    checksum = pair.client.output(f"head -c {MEBIBYTE} /dev/urandom | tee {path}/file | sha256sum; "
                                  f"sync {path}/file")
    assert pair.server.output("sha256sum </srv/nfs/tmpfs/file; rm /srv/nfs/tmpfs/file") == checksum


def test_both_families_are_listened_on_at_one_port(pair: Pair, version: str) -> None:
    """0.0.0.0 and ::, and clients of both at once."""
    assert listening(pair) == ["0.0.0.0:20049", ":::20049"]
    with (mounted(pair, version, path="/mnt"),
          mounted(pair, version, path="/mnt6", server=pair.SERVER_ADDRESS_6, protocol="rdma6")):
        assert_a_file_gets_there(pair, "/mnt")
        assert_a_file_gets_there(pair, "/mnt6")


def test_rpc_nfsd_asks_for_the_listener(pair: Pair, version: str) -> None:
    """rpc.nfsd --rdma=20049: Debian has no name for the port, so that it must be said."""
    pair.server.script("nfs-server", "stop")
    assert listening(pair) == []
    pair.server.run("rpc.nfsd --rdma=20049 8")
    assert pair.server.read("/proc/fs/nfsd/portlist").count("rdma 20049\n") == 2
    with mounted(pair, version):
        assert_a_file_gets_there(pair, "/mnt")


@pytest.mark.servers("6.12")
def test_netlink_asks_for_the_listener(pair: Pair, version: str) -> None:
    """NFSD_CMD_LISTENER_SET, which Linux 6.1 does not have: RDMA alone, on both families."""
    pair.server.script("nfs-server", "stop")
    listeners = pair.server.output(guest_python("nfsd.py", 8, *BOTH_FAMILIES), timeout=120)
    assert sorted(listeners.splitlines()) == ["rdma 0.0.0.0 20049", "rdma :: 20049"]
    with mounted(pair, version):
        assert_a_file_gets_there(pair, "/mnt")
    # As it was, on TCP as well.
    pair.server.script("nfs-server", "stop")
    pair.server.script("nfs-server", "serve")
    assert listening(pair) == ["0.0.0.0:20049", ":::20049"]
