# SPDX-License-Identifier: GPL-2.0-only
"""What a machine with the test kernel, which is slow, is given to do. All of it is verified."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from lab.guest import Guest, Process
from lab.mountstats import MountStats
from lab.nfs import Mount, script
from lab.paths import GUEST_SCRIPTS
from lab.solo import Solo

EXPORTED = "/srv/nfs/tmpfs"
STOP = "/run/verified-io.stop"
OBSERVED = "/run/observed.stop"
BYTES = 2 << 20
FILES = 50
# Nothing that goes wrong may keep a user waiting for longer than that.
PATIENCE = 300


@contextmanager
def mounted(solo: Solo, version: str = "4.2") -> Iterator[Mount]:
    """A mount for the length of a block."""
    mount = solo.mount(version)
    assert mount.options()["proto"] == "rdma"
    yield mount
    mount.unmount()


def move_files(mount: Mount) -> MountStats:
    """A large file each way and small ones: each end has what the other has."""
    guest = mount.client
    small = "".join(f"file {number}\n" for number in range(FILES))
    sent, there = guest.output(
        f"head -c {BYTES} /dev/urandom | tee /mnt/up | md5sum; sync /mnt/up; md5sum <{EXPORTED}/up",
        PATIENCE).splitlines()
    assert sent == there
    guest.run(f"mkdir /mnt/d; for n in $(seq 0 {FILES - 1}); do echo file $n >/mnt/d/$n; done",
              PATIENCE)
    assert guest.output(f"cd {EXPORTED}/d && ls | sort -n | xargs cat", PATIENCE) == small
    mount.renew()
    back, names = guest.output("md5sum </mnt/up; ls /mnt/d | wc -l", PATIENCE).splitlines()
    assert (back, names) == (sent, str(FILES))
    stats = mount.stats()
    guest.run("rm -r /mnt/*", PATIENCE)
    return stats


@contextmanager
def verified_io(guest: Guest, size: str = "1M") -> Iterator[Process]:
    """Verified writes and reads that go on for the length of a block, and must all be right."""
    guest.run(f"rm -f {STOP}")
    process = guest.spawn(f"{script('verified-io', '/mnt/io', size, STOP)}")
    wait_for_round(process)
    yield process
    guest.run(f"touch {STOP}")
    result = process.wait(PATIENCE)
    assert result.status == 0, f"fio found an error:\n{result.stdout}"
    guest.run("rm /mnt/io", PATIENCE)


@contextmanager
def observed(guest: Guest) -> Iterator[None]:
    """Somebody dumps connections over and over for the length of a block, in parts, and finds some each time."""
    guest.run(f"rm -f {OBSERVED}")
    process = guest.spawn(f"nice /usr/bin/python3 {GUEST_SCRIPTS}/observe.py --until {OBSERVED}")
    process.expect("dumping", PATIENCE)
    yield
    guest.run(f"touch {OBSERVED}")
    result = process.wait(PATIENCE)
    assert result.status == 0, result.stdout
    done = json.loads(result.stdout.splitlines()[-1])
    assert done["dumps"] > 1 and done["connections"] >= 2, done


def disconnect(solo: Solo, times: int) -> None:
    """Breaks the one mount's connection, each time with RPCs in flight."""
    solo.guest.run(f"/usr/bin/python3 {GUEST_SCRIPTS}/disconnect.py {times}", PATIENCE * 2)


def replace_device(solo: Solo) -> None:
    """Takes the device from both ends at once, and gives it back."""
    solo.guest.run(solo.device.remove, PATIENCE)
    assert solo.guest.output("rdma link") == ""
    solo.guest.run(solo.device.add, PATIENCE)


def restart_nfsd(solo: Solo) -> None:
    """The server's end goes, and comes again."""
    solo.guest.run(script("nfs-server", "stop"), PATIENCE)
    solo.guest.run(f"{script('nfs-server', 'serve')}; echo Y >/proc/fs/nfsd/v4_end_grace; true", PATIENCE)


def wait_for_round(process: Process) -> None:
    """Waits until a whole round of it has been done from now on."""
    done = process.output.count("round ")
    process.expect(rf"round {done + 2}\b", PATIENCE)
