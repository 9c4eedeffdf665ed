# SPDX-License-Identifier: GPL-2.0-only
"""Many connections, and hostile clients with a machine of their own, beside honest ones."""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from bench.memory import used
from conftest import LOG_DIRECTORY, Cell, PairKeeper
from expectations import connections, rdma_resources, wait_for_resources
from workloads import Times, guest_python, jams, sysctl

from lab import Kernel, Mount
from lab.crowd import Crowd
from lab.run import SIDE_BY_SIDE

pytestmark = [pytest.mark.about("client", "server"), pytest.mark.versions("3")]

HONEST_CLIENTS = 8
FILES = 60
HOSTILE_CONNECTIONS = 100
# The honest clients' latency beside a hostile one over that without.
MOST_SLOWER = 2
# BTH opcodes of the first, middle, last and only packet of a response to an RDMA Read (IBTA 9.2.1).
READ_RESPONSES = (0x0d, 0x0e, 0x0f, 0x10)
OPCODE_AT = 28
# What the NFS client makes for a mount, at most.
CONNECTIONS_EACH = 16
THOUSAND = 63
ROUNDS = 625
WARMING_ROUNDS = 10
# In KiB: less than one for each connection.
MOST_GROWN = 8 << 10
# Of each connection that has just been made, by Documentation/benchmark.rst, and a tenth more.
MOST_KIBIBYTES = {"client": 728, "server": 865}


@pytest.fixture(name="pair")
def _crowd(cell: Cell, keeper: PairKeeper, full: bool) -> Iterator[Crowd]:
    """The machines of this file; it is named so for what looks at each test's kernels."""
    if not full:
        pytest.skip("minutes for each: with FULL=1")
    keeper.stop()
    with Crowd(Kernel.find(cell.server), Kernel.find(cell.client), LOG_DIRECTORY / f"crowd-{cell}",
               cell.client_transport, cell.server_transport) as crowd:
        yield crowd


@contextmanager
def mounts(crowd: Crowd, version: str, count: int, **how: str) -> Iterator[list[Mount]]:
    """So many, each with an address of the server's own, and so with connections of its own."""
    addresses = [f"10.9.0.{100 + number}" for number in range(count)]
    with_prefix = [f"{address}/24" for address in addresses]
    crowd.server.script("network", "address", "add", *with_prefix)
    made = [crowd.mount(version, server=address, path=f"/mnt{number}", **how)
            for number, address in enumerate(addresses)]
    yield made
    for mount in made:
        mount.unmount()
    crowd.server.script("network", "address", "del", *with_prefix)


# One hostile client beside honest ones

@contextmanager
def hostile(crowd: Crowd, kind: str) -> Iterator[None]:
    """The stranger takes what is others', and its responses to RDMA Reads are lost."""
    drops = " && ".join("tc filter add dev eth0 ingress protocol ip u32 "
                        f"match ip src {crowd.STRANGER_ADDRESS}/32 match u8 {opcode:#x} 0xff at {OPCODE_AT} action drop"
                        for opcode in READ_RESPONSES)
    crowd.server.run(f"tc qdisc add dev eth0 clsact && {drops}")
    with jams(crowd, crowd.stranger, kind, HOSTILE_CONNECTIONS):
        yield
    crowd.server.run("tc qdisc del dev eth0 clsact")


def times(crowd: Crowd, honest: list[Mount]) -> Times:
    """Of all clients, which work side by side."""
    working = [crowd.client.spawn(f"mkdir -p {directory} && exec {guest_python('files.py', directory, FILES)}")
               for directory in (f"{mount.path}/{number}" for number, mount in enumerate(honest))]
    shown = [process.wait(600) for process in working]
    assert all(result.status == 0 for result in shown), shown
    each = [Times.parse(result.stdout) for result in shown]
    return Times(statistics.median(one.median for one in each), max(one.longest for one in each))


@pytest.mark.skipif(bool(SIDE_BY_SIDE), reason="how fast one is says nothing beside other machines")
@pytest.mark.parametrize("kind", ["replies", "one-reply", "reads", "connections"])
def test_a_hostile_client_takes_no_more_than_half_of_the_speed(pair: Crowd, version: str, kind: str) -> None:
    """A hundred connections of it: takes no Reply, or only the first, answers no RDMA Read, or comes without end."""
    with mounts(pair, version, HONEST_CLIENTS, export="ext4") as honest:
        times(pair, honest)
        before = times(pair, honest)
        with hostile(pair, kind):
            beside = times(pair, honest)
        after = times(pair, honest)
    print(f"{kind}: {before} before, {beside} beside, {after} after")
    assert beside.median < MOST_SLOWER * max(before.median, after.median)


# Many connections

def test_a_thousand_connections_at_once(pair: Crowd, version: str) -> None:
    """Each carries data and takes no more memory than one of sixteen does, and nothing of them is left."""
    idle = {guest: rdma_resources(guest) for guest in pair.guests}
    ends = {"client": pair.client, "server": pair.server}
    before = {name: used(guest) for name, guest in ends.items()}
    pair.server.run("head -c 1M /dev/urandom >/srv/nfs/tmpfs/file")
    with (sysctl(pair.server, svc_rdma__max_connects=0),
          mounts(pair, version, THOUSAND, options=f"nconnect={CONNECTIONS_EACH}") as many):
        digests = {pair.client.output(f"dd if={mount.path}/file bs=4K iflag=direct status=none | cksum")
                   for mount in many}
        assert digests == {pair.server.output("cksum </srv/nfs/tmpfs/file")}
        assert connections(pair.server) == connections(pair.client) == THOUSAND * CONNECTIONS_EACH
        each = {name: (used(guest) - before[name]) / 1024 / THOUSAND / CONNECTIONS_EACH for name, guest in ends.items()}
        print(f"{THOUSAND * CONNECTIONS_EACH} connections, KiB each: {each}")
        assert all(each[name] < most for name, most in MOST_KIBIBYTES.items())
    for guest in ends.values():
        wait_for_resources(guest, idle[guest], timeout=120)


def test_ten_thousand_connections_made_and_ended(pair: Crowd, version: str) -> None:
    """Sixteen at a time; both machines have as much memory afterwards as they had before."""
    ends = (pair.client, pair.server)
    pair.server.run("head -c 1M /dev/urandom >/srv/nfs/tmpfs/file")
    with (sysctl(pair.server, svc_rdma__max_connects=0),
          mounts(pair, version, 1, options=f"nconnect={CONNECTIONS_EACH}") as (mount,)):
        def renew(times_over: int) -> None:
            for _ in range(times_over):
                mount.renew()
                pair.client.run(f"dd if={mount.path}/file of=/dev/null bs=4K iflag=direct status=none")
                assert connections(pair.server) >= CONNECTIONS_EACH

        renew(WARMING_ROUNDS)
        before = {guest: used(guest) for guest in ends}
        renew(ROUNDS)
        grown = {guest.name: (used(guest) - before[guest]) >> 10 for guest in ends}
    print(f"{ROUNDS * CONNECTIONS_EACH} connections made and ended, KiB that more are used: {grown}")
    assert all(kibibytes < MOST_GROWN for kibibytes in grown.values())
