# SPDX-License-Identifier: GPL-2.0-only
"""What a device says of a queue pair, and of no work request."""

import pytest
from expectations import eventually, mounted
from workloads import COMMUNICATION_ESTABLISHED, QUEUE_PAIR_FATAL, TRACE, queue_pair_events, traced

from lab import Guest, Pair


@pytest.mark.about("client")
@pytest.mark.versions("4.2")
def test_an_error_of_the_clients_queue_pair_ends_its_connection(pair: Pair, version: str) -> None:
    """Nothing is completed; the client has to hear of it all the same."""
    expect_another_connection(pair, pair.client, version)


@pytest.mark.about("server")
@pytest.mark.versions("4.2")
def test_an_error_of_the_servers_queue_pair_ends_its_connection(pair: Pair, version: str) -> None:
    """Nothing is completed; the server has to hear of it all the same."""
    expect_another_connection(pair, pair.server, version)


def expect_another_connection(pair: Pair, side: Guest, version: str) -> None:
    """Good news of its queue pair changes nothing for a connection; bad news ends it, and another is made."""
    with (queue_pair_events(side) as tell, traced(side, events="rpcordma/rpcordma_disconnect"),
          mounted(pair, version) as mount):
        pair.client.run("echo before >/mnt/file && sync /mnt/file")
        connects = mount.stats().total("connect_count")
        tell(COMMUNICATION_ESTABLISHED)
        pair.client.run("echo still >/mnt/file && sync /mnt/file")
        assert mount.stats().total("connect_count") == connects
        tell(QUEUE_PAIR_FATAL)
        eventually(side, f"grep -q \"reason='queue pair'\" {TRACE}", 30)
        pair.client.run("echo after >/mnt/file && sync /mnt/file")
        assert pair.server.read("/srv/nfs/tmpfs/file") == "after\n"
        assert mount.stats().total("connect_count") > connects
        pair.client.run("rm /mnt/file")
