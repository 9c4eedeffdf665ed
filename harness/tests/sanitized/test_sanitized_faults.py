# SPDX-License-Identifier: GPL-2.0-only
"""Memory that cannot be had, and connections that end: an error that the user sees, or a recovery.

Never a hang, a leak or wrong data. What was injected is counted: too little of it proves nothing.
"""

import time

import pytest
from work import EXPORTED, PATIENCE, disconnect, mounted, move_files, verified_io, wait_for_round

from lab.delegations import LOOK_EVERY, delegations
from lab.errors import CommandFailed
from lab.fault_injection import failing_allocations, failing_connections, failing_function
from lab.nfs import script
from lab.solo import Solo

# So many faults there have to be in each test, and so often each may try to meet them.
AT_LEAST = 10
ATTEMPTS = 30

# Queues::agree(): the last of a new connection that takes memory. Its Receives are at the device then.
LAST_STEP = "_ZN8rpcordma5verbs6Queues5agreeEjj"

each_allocator = pytest.mark.parametrize("kind", ["failslab", "fail_page_alloc"])


def assert_all_is_well(solo: Solo) -> None:
    """Without faults everything works."""
    with mounted(solo) as mount:
        move_files(mount)


@each_allocator
def test_a_mount_without_memory_fails_or_works(solo: Solo, kind: str) -> None:
    """Whoever mounts is told, and may try again."""
    with failing_allocations(solo.guest, kind) as faults:
        for _ in faults.again_until(AT_LEAST, ATTEMPTS):
            try:
                with faults.burst():
                    solo.mount("4.2", options="retry=0").unmount()
            except CommandFailed as failed:
                assert "mount.nfs: " in str(failed)
    assert_all_is_well(solo)


def test_a_connection_that_fails_behind_its_receives_leaves_nothing(solo: Solo) -> None:
    """A device that flushes them while the queue pair goes has nobody look at the connection later."""
    with failing_function(solo.guest, LAST_STEP, result=0) as failed:
        try:
            solo.mount("4.2", options="retry=0").unmount()
        except CommandFailed as failure:
            assert "mount.nfs: " in str(failure)
        assert failed() == 1
    assert_all_is_well(solo)


@each_allocator
def test_io_without_memory_goes_on(solo: Solo, kind: str) -> None:
    """What could not be sent, or served, is sent again: on a new mount, where what I/O needs is not there yet."""
    with failing_allocations(solo.guest, kind) as faults:
        for _ in faults.again_until(AT_LEAST, ATTEMPTS):
            with mounted(solo), faults.burst(), verified_io(solo.guest):
                pass
    assert_all_is_well(solo)


@each_allocator
def test_reconnecting_without_memory_succeeds_at_last(solo: Solo, kind: str) -> None:
    """Attempts fail; one does not, and all RPCs go on there."""
    with mounted(solo) as mount:
        before = mount.stats()
        with verified_io(solo.guest) as process:
            with failing_allocations(solo.guest, kind) as faults:
                for _ in faults.again_until(AT_LEAST, ATTEMPTS):
                    with faults.burst():
                        disconnect(solo, 1)
            wait_for_round(process)
        assert mount.stats().total("connect_count") > before.total("connect_count")
    assert_all_is_well(solo)


@each_allocator
def test_a_server_without_memory_listens_or_does_not_and_the_module_goes(solo: Solo, kind: str) -> None:
    """Whoever starts it is told; to let go of everything takes no memory that cannot be missed."""
    with failing_allocations(solo.guest, kind) as faults:
        for _ in faults.again_until(AT_LEAST, ATTEMPTS):
            with faults.burst():
                solo.guest.run(script("nfs-server", "stop"), PATIENCE)
                started = solo.guest.run(script("nfs-server", "serve"), PATIENCE, check=False)
                listens = "rdma 20049" in solo.guest.read("/proc/fs/nfsd/portlist")
                assert listens == (started.status == 0), started.stdout
                assert listens or "error" in started.stdout, "nobody was told"
                if listens:
                    solo.guest.run("mount -t nfs -o vers=4.2,proto=rdma,port=20049,retry=0 "
                                   f"{solo.ADDRESS}:/tmpfs /mnt && umount /mnt", PATIENCE, check=False)
        with faults.burst():
            solo.unload_transport()
    solo.load_transport()
    assert_all_is_well(solo)


@pytest.mark.parametrize("side", ["client", "server"])
def test_connections_that_sunrpc_ends_come_again(solo: Solo, side: str) -> None:
    """Each RPC is carried out, however often its connection goes away."""
    with mounted(solo) as mount:
        before = mount.stats()
        with verified_io(solo.guest) as process:
            with failing_connections(solo.guest, side, percent=1) as faults:
                for _ in faults.again_until(AT_LEAST, ATTEMPTS):
                    with faults.burst():
                        wait_for_round(process)
            wait_for_round(process)
        after = mount.stats()
    assert after.total("connect_count") > before.total("connect_count")
    assert_all_is_well(solo)


def test_callbacks_whose_connection_sunrpc_ends_are_sent_again(solo: Solo) -> None:
    """A server that calls back is a client to sunrpc, and its connection ends by the same fault."""
    with mounted(solo), failing_connections(solo.guest, "client", percent=100) as faults:
        for _ in faults.again_until(AT_LEAST, ATTEMPTS):
            name = delegated_file(solo)
            with faults.burst():
                solo.guest.run(f"echo after >>{EXPORTED}/{name}", PATIENCE)
            assert delegations(solo.guest) == []
            assert solo.guest.output(f"cat /mnt/{name}", PATIENCE) == "before\nafter\n"
        solo.guest.run("rm /mnt/*", PATIENCE)
    assert_all_is_well(solo)


def delegated_file(solo: Solo) -> str:
    """Makes files until the client may read one without asking; the server need not allow that."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        name = solo.guest.output(f"cd {EXPORTED} && mktemp delegated.XXXXXX").strip()
        solo.guest.run(f"echo before >{EXPORTED}/{name} && chmod a+r {EXPORTED}/{name} && cat /mnt/{name}", PATIENCE)
        if delegations(solo.guest):
            return name
        time.sleep(LOOK_EVERY)
    raise AssertionError("no file is delegated")
