# SPDX-License-Identifier: GPL-2.0-only
"""Delegations and callbacks: what a server asks of its clients, on the clients' connections."""

import itertools
import signal
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
from expectations import TRANSPORTS, eventually, mounted
from workloads import connection_faults, guest_python, sysctl

from lab import Guest, Mount, Pair, Process
from lab.delegations import CallbackRecord, Delegation, callbacks_recorded, delegations
from lab.nfs import Server, mount

pytestmark = [pytest.mark.about("client", "server"), pytest.mark.versions("4.1", "4.2")]

EXPORTED = "/srv/nfs/tmpfs"
# Whoever is in conflict with a delegation gets through in this time: without the callback, not before the lease of ten
# seconds is over,
SOON = 8.0
# who is told that a lock is free has it in this time, and who is not asks again after 30 s,
TOLD = 20.0
# and where the callback has been lost, when the server may revoke the delegation.
AT_LAST = 120
# Now and then nfsd takes a file for one that it has recalled a delegation of, and gives none.
ATTEMPTS = 20
# An answer to CB_GETATTR that takes nfsd no longer is in time, by some milliseconds.
IN_TIME = 0.025
IDLE_SECONDS = 2
CALLS_TO_LOSE = "/sys/module/connection_faults/parameters/reverse_calls_to_lose"
# nfsd has 30 slots for a session of Linux's, so that there are no more RPCs at a time.
FULL_DEPTH = 28

numbers = itertools.count()


@contextmanager
def observed(pair: Pair, version: str) -> Iterator[tuple[Mount, CallbackRecord]]:
    """A mount, and a record of the callbacks to it."""
    with mounted(pair, version) as there, callbacks_recorded(pair) as record:
        yield there, record
    # Without its client, no delegation stands in the way.
    pair.server.run(f"rm -f {EXPORTED}/delegated*")


@contextmanager
def second_client(pair: Pair, version: str) -> Iterator[str]:
    """Where the server's machine has mounted, over its transport, what it exports."""
    pair.server.script("nfs-client")
    other = mount(pair.server, Server(pair.SERVER_ADDRESS), version, path="/other")
    yield other.path
    other.unmount()


@dataclass(frozen=True)
class Held:
    """A file that the client has open and holds a delegation of."""

    pair: Pair
    name: str
    holder: Process

    def close(self) -> None:
        """The client has it open no more; what becomes of the delegation is the client's choice."""
        self.holder.kill()
        self.holder.wait(60)

    def is_delegated(self) -> bool:
        """Whether the client holds a delegation now."""
        return any(held.client == self.pair.CLIENT_ADDRESS and held.file == self.name
                   for held in delegations(self.pair.server))


def hold(pair: Pair, access: str, text: str) -> Held:
    """Opens a new file in the client, which may bring it a delegation."""
    name = f"delegated{next(numbers)}"
    words = ["rw", text] if access == "w" else ["r"]
    if access == "r":
        pair.server.run(f"printf %s '{text}' >{EXPORTED}/{name}")
    holder = pair.client.spawn(guest_python("delegation.py", "hold", f"/mnt/{name}", *words))
    holder.expect("open", timeout=60)
    return Held(pair, name, holder)


@contextmanager
def delegated(pair: Pair, access: str = "r", text: str = "held") -> Iterator[Held]:
    """A file of which the client holds a delegation: to read it, or to write it and has written."""
    for _ in range(ATTEMPTS):
        held = hold(pair, access, text)
        if Delegation(pair.CLIENT_ADDRESS, access, held.name) in delegations(pair.server):
            break
        held.close()
    else:
        pytest.fail(f"nfsd gives no delegation: it has no callback channel, or {ATTEMPTS} times "
                    "took a new file for one that was recalled")
    yield held
    held.close()


def open_against(pair: Pair, path: str, access: str, *text: str) -> float:
    """Opens a file in the server's machine that the client has a delegation of: the seconds."""
    return float(pair.server.output(guest_python("delegation.py", "conflict", path, access, *text),
                                    timeout=AT_LAST))


def assert_recalled(pair: Pair, record: CallbackRecord, access: str = "r",
                    directory: str = EXPORTED) -> None:
    """A conflict in the server's machine is over soon, because the delegation was recalled."""
    before = record.count("CB_RECALL")
    with delegated(pair, access) as held:
        path = f"{directory}/{held.name}"
        if access == "r":
            seconds = open_against(pair, path, "w", "new!")
            assert pair.client.read(f"/mnt/{held.name}") == "new!"
        else:
            seconds = open_against(pair, path, "r")
            # Linux's client gives a delegation back before it has written all that it has.
            pair.client.run(f"sync /mnt/{held.name}")
            assert pair.server.read(f"{EXPORTED}/{held.name}") == "held"
        assert not held.is_delegated()
    assert seconds < SOON
    record.wait_for(before + 1, "CB_RECALL")


@pytest.mark.each_side
def test_a_read_delegation_is_recalled_for_another_client(pair: Pair, version: str) -> None:
    """The other client writes, and the first reads that."""
    with observed(pair, version) as (_, record), second_client(pair, version) as other:
        assert_recalled(pair, record, "r", other)


@pytest.mark.each_side
@pytest.mark.servers("6.12", "7.3")
def test_a_write_delegation_is_recalled_for_another_client(pair: Pair, version: str) -> None:
    """The other client opens to read what the first is writing."""
    with observed(pair, version) as (_, record), second_client(pair, version) as other:
        assert_recalled(pair, record, "w", other)


@pytest.mark.servers("6.12", "7.3")
def test_who_holds_a_write_delegation_is_asked_for_the_size(pair: Pair, version: str) -> None:
    """CB_GETATTR: another client sees how much has been written.

    nfsd recalls the delegation where the answer takes more than 30 ms, as it may on a busy machine, and then shows
    the size that it knows itself. Each CB_GETATTR has to be answered all the same.
    """
    answers: list[float] = []
    with observed(pair, version) as (_, record), second_client(pair, version) as other:
        for _ in range(ATTEMPTS):
            before = record.count("CB_GETATTR")
            with delegated(pair, "w", "x" * 12345) as held:
                shown = pair.server.run(f"stat -c %s {other}/{held.name}")
                is_kept = held.is_delegated()
            record.wait_for(before + 1, "CB_GETATTR")
            # nfsd may ask once more while it recalls.
            answers.append(record.seconds("CB_GETATTR")[before])
            if is_kept:
                assert shown.stdout == "12345\n"
                assert shown.seconds < SOON
                break
    if not is_kept:
        # Some milliseconds may go by before the Call is sent, and behind the Reply: a single answer proves nothing.
        assert statistics.median(answers) > IN_TIME, f"nfsd was answered in {answers} s, and has recalled all"
        pytest.skip(f"too slow: nfsd was answered in {answers} s")


def test_a_server_short_of_memory_asks_for_what_is_not_used(pair: Pair, version: str) -> None:
    """CB_RECALL_ANY: the client gives back a delegation of a file that it has closed."""
    with observed(pair, version) as (_, record), delegated(pair) as held:
        held.close()
        assert held.is_delegated()
        # Every shrinker is asked, as when memory is short; nfsd's then asks its clients.
        pair.server.run("echo 2 >/proc/sys/vm/drop_caches")
        record.wait_for(1, "CB_RECALL_ANY")
        eventually(pair.server, f"! grep -qs 'type: deleg.*{held.name}' "
                                "/proc/fs/nfsd/clients/*/states", timeout=60)


@pytest.mark.servers("6.1")
def test_who_waits_for_a_lock_is_told_when_it_is_free(pair: Pair, version: str) -> None:
    """CB_NOTIFY_LOCK: the client need not ask again and again.

    A server of Linux 6.12 does not send it for any of Debian's file systems.
    """
    path = f"{EXPORTED}/lock"
    with observed(pair, version) as (_, record):
        pair.server.run(f"touch {path}")
        holder = pair.server.spawn(guest_python("lock.py", "hold", path))
        holder.expect("locked", timeout=60)
        waiter = pair.client.spawn(guest_python("lock.py", "hold", "/mnt/lock"))
        eventually(pair.server, "grep -q -e '-> POSIX' /proc/locks", timeout=60)
        holder.kill()
        record.wait_for(1, "CB_NOTIFY_LOCK")
        waiter.expect("locked", TOLD)
        waiter.kill()
        waiter.wait(60)
        pair.client.run("rm /mnt/lock")


@pytest.mark.about("both together")
def test_callbacks_travel_by_chunks_where_the_server_may_offer_some(pair: Pair,
                                                                    version: str) -> None:
    """Each Call in a Read chunk that our client reads, with a Reply chunk that it gives back."""
    with (sysctl(pair.server, svc_rdma__reverse_chunks=2),
          observed(pair, version) as (_, record)):
        assert_recalled(pair, record)
        assert record.ways() == {("Position Zero Read chunk", "Reply chunk")}


@pytest.mark.each_side
def test_callbacks_work_after_disconnects_with_callbacks_in_flight(
        pair: Pair, version: str, full: bool) -> None:
    """50 times the connection breaks between a recall's arrival and its Reply."""
    count = 50 if full else 3
    with (connection_faults(pair.client), observed(pair, version) as (there, record)):
        before = there.stats().total("connect_count")
        for number in range(1, count + 1):
            with delegated(pair) as held:
                pair.client.run(f"echo 1 >{CALLS_TO_LOSE}")
                open_against(pair, f"{EXPORTED}/{held.name}", "w", "new!")
                assert pair.client.read(CALLS_TO_LOSE) == "0\n"
            in_flight = [callback for callback in record.callbacks() if not callback.answered]
            assert len(in_flight) == number
            # nfsd gives a Call without a Reply and the next one the same sequence ID, so that the
            # client takes this one for that again, and does nothing but reply.
            with delegated(pair) as held:
                pair.server.run(guest_python("delegation.py", "recall", f"{EXPORTED}/{held.name}"))
                record.wait_for(number)
        assert there.stats().total("connect_count") >= before + count
        assert_recalled(pair, record)


@pytest.mark.about("client")
def test_an_idle_connection_stays_while_callbacks_may_come(pair: Pair, version: str) -> None:
    """RFC 8167, 5.4: where there is a session, a client does not close an idle connection."""
    with (connection_faults(pair.client, idle_seconds=IDLE_SECONDS),
          observed(pair, version) as (there, record)):
        # It counts no seconds while there is no connection.
        eventually(pair.client, "awk '$1 == \"xprt:\" && $2 == \"rdma\" { idle = $7 } "
                                f"END {{ exit idle < {2 * IDLE_SECONDS} }}' /proc/self/mountstats",
                   timeout=60)
        assert_recalled(pair, record)
        assert there.stats().total("connect_count") == 1


@pytest.mark.about("client")
@pytest.mark.versions("4.0", "3")
def test_an_idle_connection_is_closed_where_no_callbacks_come(pair: Pair, version: str) -> None:
    """Without a session there is nothing to keep it for; the next RPC brings a new one."""
    with (connection_faults(pair.client, idle_seconds=IDLE_SECONDS),
          mounted(pair, version) as there):
        before = there.stats().total("connect_count")
        eventually(pair.client, "! rdma resource show qp | grep -q 'type RC state RTS'", timeout=60)
        pair.client.run("echo x >/mnt/idle && sync /mnt/idle && rm /mnt/idle")
        assert there.stats().total("connect_count") > before


@contextmanager
def full_depth(client: Guest) -> Iterator[None]:
    """Verified writes, more of them at a time than there are slots in the session."""
    fio = client.spawn("fio --name=depth --directory=/mnt --rw=randwrite --bs=4k --size=2m "
                       "--iodepth=64 --ioengine=libaio --direct=1 --time_based --runtime=3600 "
                       "--verify=crc32c --verify_fatal=1 --verify_state_save=0")
    yield
    fio.kill(signal.SIGINT)
    said = fio.wait(60).stdout
    assert "err= 0" in said and "verify:" not in said, said
    client.run("rm /mnt/depth*")


@pytest.mark.each_side
def test_callbacks_work_beside_forward_traffic_at_full_depth(
        pair: Pair, version: str, full: bool) -> None:
    """What the client has to send for a recall finds a place among its writes."""
    count = 20 if full else 3
    with observed(pair, version) as (_, record), ExitStack() as files:
        held = [files.enter_context(delegated(pair)) for _ in range(count)]
        with full_depth(pair.client):
            for file in held:
                eventually(pair.client, "awk -F= '$1 == \"pending_q_len\" && $2 >= "
                                        f"{FULL_DEPTH} {{ full = 1 }} END {{ exit !full }}' "
                                        f"{TRANSPORTS}/xprt_info",
                           timeout=60)
                assert open_against(pair, f"{EXPORTED}/{file.name}", "w") < SOON
                assert not file.is_delegated()
        record.wait_for(count, "CB_RECALL")
