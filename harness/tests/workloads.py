# SPDX-License-Identifier: GPL-2.0-only
"""Work that the tests give a client, all of it verified."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from lab import Guest, Process
from lab.paths import GUEST_SCRIPTS

STOP = "/run/verified-io.stop"
ROUND_SECONDS = 300


def fio(client: Guest, *options: str, jobs: dict[str, str] | None = None,
        timeout: float = 600) -> str:
    """Runs fio in a client. Each job has its own options; an error in any is an error."""
    words = ["fio", "--ioengine=libaio", "--verify=crc32c", "--verify_fatal=1",
             "--verify_state_save=0", *options]
    for name, own in (jobs or {"job": ""}).items():
        words += [f"--name={name}", *shlex.split(own)]
    return client.output(f"cd /tmp && {shlex.join(words)}", timeout=timeout)


@contextmanager
def verified_io(client: Guest, directory: str = "/mnt", jobs: int = 2) -> Iterator[list[Process]]:
    """Verified reads and writes that go on for the length of a block, and must all be right."""
    client.run(f"rm -f {STOP}")
    processes = [client.spawn(f"{GUEST_SCRIPTS}/verified-io {directory}/io{number} {STOP}")
                 for number in range(jobs)]
    wait_for_round(processes)
    yield processes
    wait_for_round(processes)
    client.run(f"touch {STOP}")
    for process in processes:
        result = process.wait(ROUND_SECONDS)
        assert result.status == 0, f"fio found an error:\n{result.stdout}"
    client.run(f"rm {directory}/io*")


def wait_for_round(processes: list[Process]) -> None:
    """Waits until each has completed one more round than it has now."""
    for process in processes:
        done = process.output.count("round ")
        process.expect(rf"round {done + 1}\b", timeout=ROUND_SECONDS)


def guest_python(program: str, *arguments: object) -> str:
    """The command that runs one of the Python programs in harness/guest."""
    return shlex.join(["/usr/bin/python3", str(GUEST_SCRIPTS / program), *map(str, arguments)])
