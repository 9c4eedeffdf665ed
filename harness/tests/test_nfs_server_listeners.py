# SPDX-License-Identifier: GPL-2.0-only
"""The ways in which nfsd is told to listen."""

import re
from itertools import pairwise

import pytest
from expectations import MEBIBYTE, eventually, mounted, rdma_resources, wait_for_resources
from workloads import TRACE, fio_command, guest_python, slow_function, traced, verified_io, wait_for_round

from lab import Pair

pytestmark = pytest.mark.about("server")

BOTH_FAMILIES = ("rdma", "0.0.0.0", 20049, "rdma", "::", 20049)
# Wildcards have the connection manager listen on each device that comes; for one address the listener has to.
ONE_ADDRESS = ("rdma", Pair.SERVER_ADDRESS, 20049)
LISTENER_EVENTS = "rpcordma/rpcordma_listener"
LISTENS_AGAIN = r"(\d+\.\d+): rpcordma_listener: .*'listens again'"


def listening(pair: Pair) -> list[str]:
    """The addresses at which the server's RDMA device is listened on."""
    shown = pair.server.output("rdma resource show cm_id")
    return sorted(line.split("src-addr ")[1].split()[0] for line in shown.splitlines()
                  if " state LISTEN " in line)


def listen(pair: Pair, *listeners: str | int, threads: int | str = 8) -> list[str]:
    """Starts nfsd anew by netlink, and says where it listens."""
    pair.server.script("nfs-server", "stop")
    shown = pair.server.output(guest_python("nfsd.py", threads, *listeners), timeout=120)
    return sorted(shown.splitlines())


def listen_as_before(pair: Pair) -> None:
    """Starts nfsd anew as the other tests find it: on TCP as well."""
    pair.server.script("nfs-server", "stop")
    pair.server.script("nfs-server", "serve")
    assert listening(pair) == ["0.0.0.0:20049", ":::20049"]


def remove_the_device(pair: Pair, attempts: int) -> None:
    """Takes the server's device away, and returns when the listener has tried so often to listen again, in vain."""
    pair.server.run(f"echo >{TRACE}")
    pair.server.script("network", "remove")
    eventually(pair.server, f"test $(grep -c \"'listens again' status=-19\" {TRACE}) -ge {attempts}", 60)


def assert_ever_later(times: list[float]) -> None:
    """A second after the first attempt comes the next, and two seconds later another, and so on."""
    for number, (time, following) in enumerate(pairwise(times)):
        # The first tick of a timer's is not a whole one.
        assert following - time > 0.98 * 2 ** number


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


@pytest.mark.servers("6.12", "7.3")
def test_netlink_asks_for_the_listener(pair: Pair, version: str) -> None:
    """NFSD_CMD_LISTENER_SET, which Linux 6.1 does not have: RDMA alone, on both families."""
    assert listen(pair, *BOTH_FAMILIES) == ["rdma 0.0.0.0 20049", "rdma :: 20049"]
    with mounted(pair, version):
        assert_a_file_gets_there(pair, "/mnt")
    listen_as_before(pair)


@pytest.mark.servers("7.3")
@pytest.mark.versions("4.2")
def test_threads_are_started_for_one_connection(pair: Pair, version: str) -> None:
    """One thread runs, and there may be eight: the Calls of one client have more started."""
    def running() -> int:
        return int(pair.server.output("pgrep -xc nfsd"))

    listen(pair, *BOTH_FAMILIES, threads="1-8")
    assert running() == 1
    with mounted(pair, version), slow_function(pair.server, "nfsd4_proc_compound"):
        command = fio_command("--directory=/mnt", "--direct=1", "--iodepth=16", "--rw=randrw", "--bs=4k", "--size=4M",
                              jobs={"job": ""})
        work = pair.client.spawn(command)
        eventually(pair.server, "test $(pgrep -xc nfsd) -ge 7", 60)
        assert running() <= 8
        assert work.wait(300).status == 0
    # The least number outlives the service.
    listen(pair, *BOTH_FAMILIES, threads="0-8")
    listen_as_before(pair)


@pytest.mark.servers("6.12", "7.3")
def test_one_address_is_listened_on_again_when_its_device_is_back(pair: Pair, version: str) -> None:
    """Its identifier goes with the device; the listener asks for another until it gets one, each time."""
    assert listen(pair, *ONE_ADDRESS) == [f"rdma {pair.SERVER_ADDRESS} 20049"]
    assert listening(pair) == [f"{pair.SERVER_ADDRESS}:20049"]
    idle = rdma_resources(pair.server)
    with (traced(pair.server, events=LISTENER_EVENTS), mounted(pair, version, export="ext4"),
          verified_io(pair.client) as processes):
        for _ in range(2):
            remove_the_device(pair, attempts=3)
            pair.server.script("network", "add")
            eventually(pair.server, f"grep -q \"'listens again' status=0\" {TRACE}", 60)
            assert_ever_later(list(map(float, re.findall(LISTENS_AGAIN, pair.server.read(TRACE)))))
            assert listening(pair) == [f"{pair.SERVER_ADDRESS}:20049"]
            wait_for_round(processes)
    wait_for_resources(pair.server, idle, timeout=60)
    listen_as_before(pair)


@pytest.mark.servers("6.12", "7.3")
def test_nfsd_is_stopped_while_its_one_address_has_no_device(pair: Pair, version: str) -> None:
    """The listener that waits to listen again goes at once, the module after it, and neither does anything more."""
    assert listen(pair, *ONE_ADDRESS) == [f"rdma {pair.SERVER_ADDRESS} 20049"]
    with mounted(pair, version, export="ext4"), verified_io(pair.client) as processes:
        with traced(pair.server, events=LISTENER_EVENTS):
            remove_the_device(pair, attempts=1)
        pair.unload_server_transport()
        pair.server.script("network", "add")
        assert not rdma_resources(pair.server)
        pair.load_server_transport()
        assert listening(pair) == ["0.0.0.0:20049", ":::20049"]
        wait_for_round(processes)
