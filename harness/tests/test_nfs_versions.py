# SPDX-License-Identifier: GPL-2.0-only
"""Versions of RPC-over-RDMA: which one client and server speak, and how they come to it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from expectations import mounted
from workloads import TRACE, sysctl, traced, verified_io

from lab import Guest, Mount, Pair

VERSION_EVENT = "rpcordma/rpcordma_version"
EXPORTED = "/srv/nfs/tmpfs"
FALLBACK_SECONDS = 6


def versions_spoken(guest: Guest) -> list[int]:
    """The versions that connections of a guest's were settled on since its trace was begun."""
    return [int(found) for found in re.findall(r"rpcordma_version: .* version=(\d+)", guest.read(TRACE))]


@contextmanager
def mounted_in(pair: Pair, version: str, highest: int, **how: str) -> Iterator[Mount]:
    """A mount whose client offers versions up to that, and knows nothing of the server."""
    with (sysctl(pair.client, rdma_highest_version=highest), traced(pair.client, events=VERSION_EVENT),
          mounted(pair, version, **how) as mount):
        yield mount


@pytest.mark.about("both together")
@pytest.mark.every_cell
@pytest.mark.clients("6.12", "7.3")
@pytest.mark.servers("6.12", "7.3")
def test_ours_speak_version_two_with_each_other(pair: Pair, version: str) -> None:
    """Verified data in every size goes over one connection, which has never been lost."""
    with traced(pair.server, events=VERSION_EVENT), mounted_in(pair, version, 2) as mount:
        with verified_io(pair.client):
            pass
        pair.client.run("mkdir /mnt/d && for n in $(seq 100); do echo $n >/mnt/d/$n; done && "
                        "test $(ls /mnt/d | wc -l) = 100 && rm -r /mnt/d")
        assert set(versions_spoken(pair.client)) == {2}
        assert set(versions_spoken(pair.server)) == {2}
        assert mount.stats().total("connect_count") == 1


@pytest.mark.about("both together")
@pytest.mark.every_cell
@pytest.mark.clients("6.12")
@pytest.mark.servers("6.12")
def test_ours_speak_version_one_where_the_client_offers_no_more(pair: Pair, version: str) -> None:
    """A large file and small ones are what they were, there and back, on connections that version 2 never was on."""
    small = "".join(f"file {number}\n" for number in range(1, 41))
    with traced(pair.server, events=VERSION_EVENT), mounted_in(pair, version, 1) as mount:
        written = pair.client.output(
            "cd /mnt; mkdir d; head -c 2M /dev/urandom | tee up | md5sum; "
            "for n in $(seq 40); do echo file $n >d/$n || exit; done; sync up")
        assert pair.server.output(f"cd {EXPORTED}; md5sum <up; cd d; cat $(seq 40)") == written + small
        written_stats = mount.stats()
        mount.renew()
        assert pair.client.output("cd /mnt; md5sum <up; cd d; cat $(seq 40)") == written + small
        read_stats = mount.stats()
        pair.client.run("rm -r /mnt/up /mnt/d")
        assert set(versions_spoken(pair.client)) == {1}
        # A server says so only where a Call has another version than the one before, and begins with 1.
        assert not versions_spoken(pair.server)
    assert written_stats.total("read_chunks") >= 2
    assert read_stats.total("write_chunks") >= 2
    assert written_stats.total("bad_replies") == read_stats.total("bad_replies") == 0
    assert written_stats.total("connect_count") == read_stats.total("connect_count") == 1


@pytest.mark.about("both together")
@pytest.mark.versions("4.2")
def test_the_server_takes_no_more_than_it_is_told_to(pair: Pair, version: str) -> None:
    """One that takes version 1 alone refuses the first Call, which is sent again on the same connection."""
    with sysctl(pair.server, svc_rdma__highest_version=1), mounted_in(pair, version, 2) as mount:
        expect_version_one(pair, mount)


@pytest.mark.about("client")
@pytest.mark.versions("4.2")
def test_the_kernels_own_server_is_spoken_to_in_version_one(pair: Pair, version: str) -> None:
    """On the same connection; the second mount knows it from the start."""
    with mounted_in(pair, version, 2) as mount:
        expect_version_one(pair, mount)
    with traced(pair.client), mounted(pair, version):
        assert versions_spoken(pair.client) == [1]
        assert "ERR_VERS" not in pair.client.read(TRACE)


def expect_version_one(pair: Pair, mount: Mount) -> None:
    """Nobody above the transport has noticed anything."""
    pair.client.run("echo word >/mnt/file && sync /mnt/file && rm /mnt/file")
    assert versions_spoken(pair.client) == [1]
    stats = mount.stats()
    assert stats.total("connect_count") == 1
    assert stats.total("bad_replies") == 0
    assert stats.total("sends") == stats.total("receives")
