# SPDX-License-Identifier: GPL-2.0-only
"""What travels, read by somebody else: Wireshark's dissector, against what the module says.

Both sides are ours, so that whatever both misread alike would go unnoticed in all other tests.
"""

import base64
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import pytest
from capture import (RDMA_MSG, RDMA_NOMSG, Message, events_in, malformed_frames,
                     messages_in, messages_traced)
from expectations import mounted
from workloads import TRACE, small_device, sysctl, traced

from lab import Guest, Pair

pytestmark = pytest.mark.about("both together")

CAPTURE = "/run/capture.pcapng"
# Nobody listens there: for a packet that nothing comes behind.
DISCARD, LAST_PACKET = 9, "last-packet-of-the-capture"
# Of a message without chunks, in each version of the protocol.
REVERSE_HEADER = {1: 28, 2: 32}
# What a registration covers, in bytes: the larger of these takes several segments, and padding.
REGISTRATION = 128 * 1024
ONE_SEGMENT, LARGE = 20_000, 300_001
# A Call is soon too long for this. In version 2 the threshold is never below 4096 bytes.
SMALL_THRESHOLD = 1024
# And a Reply for this.
REPLY_THRESHOLD = 4096
LONG = {1: 2000, 2: 6000}


@contextmanager
def captured(guest: Guest, other_end: str, to: Path) -> Iterator[None]:
    """Writes what passes the guest's interface in this block to a file on this machine."""
    # Promiscuous mode is of no use here, and would be a line in the kernel's log.
    dumpcap = guest.spawn(f"dumpcap -p -i eth0 -f 'udp port 4791 or udp dst port {DISCARD}' -B 64 -w {CAPTURE}")
    dumpcap.expect("File: ", timeout=60)
    yield
    # It ends without the packets that the kernel has not handed over yet, and does not say so.
    guest.run(f"echo {LAST_PACKET} >/dev/udp/{other_end}/{DISCARD}; "
              f"timeout 60 sh -c 'until grep -q {LAST_PACKET} {CAPTURE}; do sleep 0.1; done'", timeout=90)
    dumpcap.kill(signal.SIGINT)
    said = dumpcap.wait(60).stdout
    assert re.search(r"received/dropped on interface 'eth0': \d+/0 ", said), said
    to.write_bytes(base64.b64decode(guest.output(f"base64 {CAPTURE}", timeout=300)))
    guest.run(f"rm {CAPTURE}")


def use_every_transfer(pair: Pair, nfs: str, long: int) -> None:
    """Has Calls and Replies travel in all the ways that there are."""
    client, exported = pair.client, "/srv/nfs/xfs"
    pair.server.run(f"mkdir {exported}/d && cd {exported}/d && touch $(seq -f name-%g 200)")
    with mounted(pair, nfs, export="xfs"):
        # Inline, and Read chunks and Write chunks of one segment and of several.
        client.run("echo small >/mnt/small && sync /mnt/small && cd /tmp && "
                   f"head -c {LARGE} /dev/urandom >up && for size in {ONE_SEGMENT} {LARGE}; do "
                   "dd if=up of=/mnt/large bs=$size count=1 oflag=direct && "
                   "dd if=/mnt/large of=down bs=$size iflag=direct || exit 1; done && "
                   "cmp up down && dd if=/mnt/small bs=512 iflag=direct")
        # A Reply chunk, used and not used.
        assert len(client.output("ls /mnt/d").split()) == 200
        client.run("ls /mnt")
        # A Position Zero Read chunk.
        if nfs == "3":
            users = ",".join(f"user:{user}:rw-" for user in range(2000, 2200))
            client.run(f"setfacl -m {users} /mnt/small")
        else:
            client.run(f"setfattr -n user.long -v $(printf '%0{long}d' 0) /mnt/small")
            # The reverse direction: what the client read is taken back from it.
            client.run("cat /mnt/small")
            pair.server.run(f"echo more >>{exported}/small")
        client.run("rm -r /mnt/*")


@pytest.mark.once_per_pair
@pytest.mark.parametrize("nfs", ("3", "4.2"))
@pytest.mark.parametrize("protocol", (1, 2))
def test_the_dissector_finds_the_chunks_that_trace_events_tell_of(
        pair: Pair, protocol: int, nfs: str, tmp_path: Path) -> None:
    """Each message that was captured is one that the module traced, and the other way round."""
    capture = tmp_path / "capture.pcapng"
    with (small_device(pair.client, max_fast_reg_page_list_len=REGISTRATION // pair.client.page_size),
          sysctl(pair.client, rdma_max_inline_write=SMALL_THRESHOLD, rdma_max_inline_read=REPLY_THRESHOLD,
                 rdma_highest_version=protocol),
          captured(pair.client, pair.SERVER_ADDRESS, capture), traced(*pair.guests)):
        use_every_transfer(pair, nfs, LONG[protocol])
    client_events, server_events = (events_in(guest.read(TRACE))
                                    for guest in pair.guests[::-1])

    assert malformed_frames(capture) == []
    messages = messages_in(capture)
    reverse = {event.xid: event.number("size") for event in server_events
               if event.name == "reverse_call_sent"}
    forward = [message for message in messages if message.xid not in reverse]
    traced_messages = list(messages_traced(pair.CLIENT_ADDRESS, client_events,
                                           pair.SERVER_ADDRESS, server_events, protocol))
    captured_once, traced_once = Counter(forward), Counter(traced_messages)
    differences = [sorted(only_one_has.elements(), key=attrgetter("xid"))
                   for only_one_has in (captured_once - traced_once, traced_once - captured_once)]
    assert differences == [[], []], f"what only the capture has, and only the trace: captured in {capture}"
    # NFS 3 has no Call without reducible data that is too long for version 2: larger ACLs are refused.
    assert_every_transfer_was_used(pair, forward, long_calls=protocol == 1 or nfs != "3")
    if nfs != "3":
        assert_reverse_direction(pair, reverse, messages, REVERSE_HEADER[protocol])
    assert {message.version for message in messages} == {protocol}


def assert_every_transfer_was_used(pair: Pair, messages: list[Message], long_calls: bool) -> None:
    """The comparison was about all that there is."""
    calls = [message for message in messages if message.sender == pair.CLIENT_ADDRESS]
    replies = [message for message in messages if message.sender == pair.SERVER_ADDRESS]
    assert len(calls) == len(replies)
    assert any(not call.reads and not call.writes and call.reply is None for call in calls)
    assert any(call.kind == RDMA_MSG and len(call.reads) > 1
               and sum(segment.length for _, segment in call.reads) == LARGE for call in calls)
    assert long_calls == any(call.kind == RDMA_NOMSG and {position for position, _ in call.reads} == {0}
                             for call in calls)
    assert any(len(chunk) > 1 and sum(segment.length for segment in chunk) == LARGE
               for reply in replies for chunk in reply.writes)
    used = [sum(segment.length for segment in reply.reply) for reply in replies
            if reply.reply is not None]
    assert 0 in used, "no Reply chunk was returned unused"
    assert all((reply.kind == RDMA_NOMSG) == bool(reply.reply and reply.reply[0].length)
               for reply in replies)
    assert any(reply.kind == RDMA_NOMSG for reply in replies)
    assert any(reply.invalidates for reply in replies)


def assert_reverse_direction(pair: Pair, traced_sizes: dict[int, int],
                             messages: list[Message], header: int) -> None:
    """Callbacks and their Replies travel inline."""
    reverse = [message for message in messages if message.xid in traced_sizes]
    assert reverse, "the server has called nobody back"
    assert all((message.kind, message.reads, message.writes, message.reply)
               == (RDMA_MSG, (), (), None) for message in reverse)
    sizes = {message.xid: message.size - header for message in reverse
             if message.sender == pair.SERVER_ADDRESS}
    assert sizes == traced_sizes
    answered = [message.xid for message in reverse if message.sender == pair.CLIENT_ADDRESS]
    assert sorted(answered) == sorted(traced_sizes)
