# SPDX-License-Identifier: GPL-2.0-only
"""What a connection takes for a burst comes back when there is little to do, and is there for the next burst."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from expectations import LIVE_OBJECTS, eventually, live_objects, mounted
from workloads import fio

from lab import Guest, Pair

DEPTH = 64
# A look comes every ten seconds: what was used since the one before stays until the one after. A grant is halved with
# each look.
GIVEN_BACK_SECONDS = 180
# What a connection has at hand that carries an RPC now and then: what is in use, and a batch beyond it.
AT_HAND = {"client": {"receive_buffers": 24, "send_buffers": 10, "requests": 4},
           "server": {"receive_buffers": 32, "send_buffers": 10, "calls": 4, "pushes": 4, "transfers": 4, "pulls": 0,
                      "kept_pages": 0}}
# What soft-RoCE's queues of one connection take, with a page between them: it rounds each up to a power of two.
QUEUE_KIB = {"client": 300, "server": 200}


def queue_kib(guest: Guest) -> int:
    """What soft-RoCE's queues take, those of its own included."""
    return int(guest.run("awk '/ rxe_queue_init/ {size += $2} END {print size / 1024}' /proc/vmallocinfo").stdout)


@pytest.mark.about("both together")
@pytest.mark.versions("3")
def test_the_queues_of_a_connection_are_small(pair: Pair, version: str) -> None:
    """They are most of what an idle connection takes, and a work request too many doubles them."""
    guests = {"client": pair.client, "server": pair.server}
    for guest in guests.values():
        eventually(guest, f"grep -qx 'endpoints 0' {LIVE_OBJECTS}", 60)
    before = {end: queue_kib(guest) for end, guest in guests.items()}
    with mounted(pair, version):
        assert live_objects(pair.client)["endpoints"] == live_objects(pair.server)["endpoints"] == 1
        taken = {end: queue_kib(guest) - before[end] for end, guest in guests.items()}
    assert 0 < taken["client"] <= QUEUE_KIB["client"] and 0 < taken["server"] <= QUEUE_KIB["server"], taken


def burst(client: Guest) -> None:
    """Many RPCs outstanding at a time, with chunks and without; verified."""
    for size in ("4k", "64k"):
        fio(client, "--directory=/mnt", "--rw=write", f"--bs={size}", "--size=8m", "--direct=1", f"--iodepth={DEPTH}",
            "--numjobs=2", "--group_reporting")


@contextmanager
def trickle(client: Guest) -> Iterator[None]:
    """An RPC now and then: a Receive that is posted for a credit goes with the Call that uses it."""
    process = client.spawn("head -c 4k /dev/zero >/mnt/trickle && "
                           "while sleep 0.1; do dd if=/mnt/trickle of=/dev/null bs=4k iflag=direct; done")
    yield
    process.kill()
    process.wait(60)


@pytest.mark.about("both together")
@pytest.mark.versions("4.2")
def test_what_a_burst_took_comes_back(pair: Pair, version: str) -> None:
    """At both ends, and the next burst finds what it needs."""
    guests = {"client": pair.client, "server": pair.server}
    with mounted(pair, version):
        burst(pair.client)
        taken = {end: live_objects(guest) for end, guest in guests.items()}
        assert all(taken[end]["receive_buffers"] > AT_HAND[end]["receive_buffers"] for end in guests), taken
        assert taken["server"]["kept_pages"] > 0
        with trickle(pair.client):
            for end, guest in guests.items():
                few = " && ".join(f"test $(sed -n 's/^{kind} //p' {LIVE_OBJECTS}) -le {most}"
                                  for kind, most in AT_HAND[end].items())
                eventually(guest, few, GIVEN_BACK_SECONDS)
        burst(pair.client)
